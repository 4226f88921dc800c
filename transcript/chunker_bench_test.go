package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/wire"
)

// toolRounds returns n rounds of a prompt and an answer with ten calls and their results, and how many bytes of text
// there are in them.
func toolRounds(n int) (msgs []ClassifiedMsg, size int64) {
	input := `{"command":"go test ./...","description":"Run the tests"}`
	printed := strings.Repeat("ok  \tgithub.com/clewdev/clew/wire\t0.5s\n", 50)
	for i := range n {
		msgs = append(msgs, user(int64(i), "Run the tests"))
		for j := range 10 {
			message, id := fmt.Sprintf("m%d.%d", i, j), fmt.Sprintf("t%d.%d", i, j)
			msgs = append(msgs,
				ai(int64(i), message, thinking("")),
				ai(int64(i), message, text("Let me run the tests again, with more patience.")),
				ai(int64(i), message, toolUse(id, "Bash", input)),
				meta(int64(i), result(id, printed)))
			size += int64(len(input) + len(printed) + 50)
		}
	}
	return msgs, size
}

func BenchmarkBuildChunks(b *testing.B) {
	msgs, size := toolRounds(100)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if got := len(BuildChunks(msgs)); got != 200 {
			b.Fatalf("%d chunks, want 200", got)
		}
	}
}

// BenchmarkChunker takes the messages of one long turn as they come. The cost of a message must not grow with the turn.
func BenchmarkChunker(b *testing.B) {
	for _, rounds := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("messages=%d", rounds*40), func(b *testing.B) {
			var digests []*digest
			msgs, _ := toolRounds(rounds)
			for _, msg := range msgs {
				if _, ok := msg.(*AIMsg); ok {
					digests = append(digests, newDigest(msg, wire.Position{Line: 1}))
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				var c chunker
				for _, d := range digests {
					c.add(d)
					c.changed()
				}
				c.chunks()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(digests)), "ns/message")
		})
	}
}
