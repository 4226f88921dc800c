package transcript

import "github.com/clewdev/clew/wire"

// BuildChunks groups messages into chunks, in their order. Answers that nothing interrupts make one chunk, with the
// results of its calls and with messages of teammates; what the user wrote, what a command printed and a compaction are
// chunks of their own. Chunks share the strings of the messages. Messages don't tell their lines, nor that the user
// stopped the agent: [Read] does.
func BuildChunks(msgs []ClassifiedMsg) []Chunk {
	var c chunker
	for _, msg := range msgs {
		if msg != nil {
			c.add(newDigest(msg, wire.Position{}))
		}
	}
	return c.chunks()
}
