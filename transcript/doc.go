// Package transcript reads back what an agent did: from the lines of a transcript to entries, to classified messages, to
// the chunks that a person looks at, with what it used and what that cost.
//
//	t, err := transcript.Read(file, nil)
//	if err != nil {
//		return err
//	}
//	for _, chunk := range t.Chunks {
//		fmt.Println(chunk.Type, chunk.Text)
//	}
//
// The stages are pure functions, for callers that want one of them alone:
//
//	bytes -> DecodeEntry -> Classify -> BuildChunks -> []Chunk
//
// The package does no I/O of its own: it takes bytes and readers and returns values. Package sessions finds the files.
package transcript
