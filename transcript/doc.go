// Package transcript turns the lines of a transcript into chunks, each a unit that a person sees as
// one thing.
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
// adds up tokens and cost, and package tooluse has types for the inputs and tool results.
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
// conversation and which are branches that the user left by a rewind. The entries of the
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
// # Chunks and items
//
// A [Chunk] has a type: a prompt, an answer, the output of a command or a notice, or a compaction.
// An answer of the model is one chunk, however many requests it took: the model calls tools, gets
// their results and continues, until it has nothing more to do. The chunk has a [DisplayItem] for
// each step. The item of a call has the name of the tool, its input, its result, and its changes:
// see [DisplayItem.Input], [DisplayItem.Result] and [DisplayItem.Diff].
//
// The JSON of chunks, items and subagents is the format of package export.
//
// # Subagents
//
// A subagent has a separate transcript. The caller reads it, with the metadata file beside it, into
// an [Agent]. [Link] then finds the call that started each agent, and puts the agent into the item
// of that call. Subagents of older versions are in the transcript of the session: see
// [InlineAgents]. sessions.Read does all of this for the files of a session.
//
// [Teams] returns the teams of agents that a session led, with their tasks.
//
// # Reports
//
// [Transcript.Calls] returns the model calls, for package usage, and [Transcript.Turns]
// groups them by turn. [Transcript.All] visits every item, including items in branches and
// subagents, and [Transcript.Find] every place of a word or a regular expression.
// [Transcript.Context] shows how the model's context filled up, [Diffs] what was changed in each
// file, and [Transcript.Drift] which names in the transcript this package does not know.
//
// # Bad input
//
// The format is not documented and changes often, so nothing in a transcript is taken for granted.
// A line that is not a JSON object, or is too long, is in [Transcript.Invalid] and does not affect
// other lines. A member of an unexpected type counts as absent. An entry of an unknown type is
// counted in [Transcript.Noise], and an entry whose parent is missing follows the one before it.
// Memory is bounded for each line and for each list of problems, see [ReadOptions].
//
// # Concurrency
//
// Functions may be called from several goroutines, on different transcripts. A [Builder], a
// [LineSplitter], a [Drift] and a [Transcript] that a builder still changes are for one goroutine
// at a time. A transcript that [Read] returned may be read by several; [Link] changes it. So may a
// [Transcript.Snapshot] of a transcript that a builder changes.
//
// # Texts
//
// All texts are as the agent, the model, a tool or a user wrote them, including escape sequences
// for terminals. This is also true of the names of models and tools. [Truncate] returns a single
// line that is safe to print.
//
// The package does no I/O: it takes bytes and readers and returns values.
//
// # The tree
//
// The tree is a filter over the file. A parent counts only if it comes before its child, so cycles
// are impossible, and the order of the file is the order of display. The conversation is the path
// to the last prompt or answer, and the entries beside that path that belong to it: other entries
// of the same answers, the results of their calls, and the agent's remarks on them. All other
// entries with content are branches, which can have branches. An entry whose parent is missing
// follows the entry before it, so that a lost line costs only itself.
//
// The agent's own rule ends a conversation at its last compaction. Here it continues above that, by
// logicalParentUuid; sessions.Messages keeps to the agent's rule. A compaction is a node of the
// path, so that a rewind to before it removes it. A rewind leaves only a last-prompt line until the
// next prompt.
//
// # Memory
//
// A line is decoded once, in one pass that also records what is unknown. A message is kept as a
// digest: its texts, once, and no JSON except tool inputs and structured results of up to 8 KiB.
// Longer ones are read again by their offset in the file. So a session of 60 MB takes some 50 MB in
// memory, with all of its text. [Stream] keeps at most a few dozen chunks.
//
// Every line is accounted for: it is in one chunk, in one branch, in a subagent's conversation,
// counted as noise under a name, or invalid. Text that was injected for the model is in Injected,
// never in the answer. Invalid lines, and names from outside, are kept up to 1,000 and counted
// beyond that.
//
// A running session is turned into the lines that the agent would write, so that one classifier
// serves both. A snapshot shares everything that only grows or is replaced, and costs the changed
// chunks, their items, and the headers of the others.
package transcript
