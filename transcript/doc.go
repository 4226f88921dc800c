// Package transcript reads back what an agent did: from the lines of a transcript to entries, to classified messages, to
// the chunks that a person looks at, with what it used and what that cost.
//
//	t, err := transcript.Read(file, nil)
//	if err != nil {
//		return err
//	}
//	for _, chunk := range t.Chunks {
//		fmt.Println(chunk.Type, transcript.Truncate(chunk.Text, 80))
//	}
//
// [Stream] is for files of any length, and a [Builder] for what still grows: a file that is followed, or a running session.
//
// The stages are pure functions, for callers that want one of them alone:
//
//	bytes -> DecodeEntry -> Classify -> BuildChunks -> []Chunk
//
// All texts are as somebody else wrote them, escape sequences of terminals included, down to the names of models and
// tools: [Truncate] makes a line of one that can be shown.
//
// The package does no I/O of its own: it takes bytes and readers and returns values. Package sessions finds the files.
package transcript
