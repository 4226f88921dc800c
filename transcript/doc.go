// Package transcript reads back what an agent did: it turns the lines of a transcript into chunks,
// which are what a person sees as one thing.
//
//	t, err := transcript.Read(file, nil)
//	if err != nil {
//		return err
//	}
//	for _, chunk := range t.Chunks {
//		fmt.Println(chunk.Type, transcript.Truncate(chunk.Text, 80))
//	}
//
// Use [Stream] for files of any length, and a [Builder] for a transcript that still grows, such as
// a file that is followed or a running session. Package sessions finds the files, package usage
// adds up tokens and cost, and package tooluse has types for the inputs and results of tools.
//
// # How Read works
//
// Read writes the file into a [Builder]. Each line takes the same way:
//
//	bytes -> LineSplitter -> Entry -> classified message -> tree of the conversation -> Chunk
//
// The [LineSplitter] cuts the bytes into lines. The builder decodes each line into an [Entry], as
// [DecodeEntry] does. An entry that is not part of a conversation updates [Info] or is counted in
// [Transcript.Noise]; an entry of a subagent in the same file goes to a transcript in
// [Transcript.Sidechains]. Every other entry is classified, as [Classify] does, and joins the tree
// that the entries form by naming their parents. The tree decides which entries are the
// conversation and which are branches that the user has left by a rewind. The entries of the
// conversation go to the chunker, which joins the entries of an answer, matches results to calls,
// and appends to [Transcript.Chunks].
//
// When a line continues the conversation, it costs time in proportion to its length. When it
// changes which entries are the conversation, as a rewind does, the chunks are built again from the
// tree.
//
// [DecodeEntry], [Classify] and [BuildChunks] are the stages as functions, for callers that need
// only one of them.
//
// # Texts
//
// All texts are as the agent, the model, a tool or a user wrote them, including escape sequences
// for terminals. This is also true of the names of models and tools. [Truncate] returns a single
// line that is safe to print.
//
// The package does no I/O: it takes bytes and readers and returns values.
package transcript
