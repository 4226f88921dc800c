package transcript

import (
	"hash/fnv"
	"slices"

	"github.com/clewdev/clew/wire"
)

// A sentPrompt is one that the agent may repeat.
type sentPrompt struct {
	uuid string
	sum  uint64
}

const maxSent = 32

// repeated reports whether msg repeats a prompt that has been here already.
func (s *liveState) repeated(msg *wire.UserMessage, sum uint64) bool {
	i := slices.IndexFunc(s.sent, func(p sentPrompt) bool {
		return p.uuid != "" && p.uuid == msg.UUID || p.uuid == "" && p.sum == sum
	})
	if i < 0 {
		return false
	}
	s.sent = slices.Delete(s.sent, i, i+1)
	return true
}

func (s *liveState) remember(msg *wire.UserMessage, sum uint64) {
	if len(s.sent) == maxSent {
		s.sent = slices.Delete(s.sent, 0, 1)
	}
	s.sent = append(s.sent, sentPrompt{msg.UUID, sum})
}

// contentSum returns a number that tells contents apart.
func contentSum(content wire.Content) uint64 {
	h := fnv.New64a()
	for _, block := range content {
		text := block.BlockType()
		if b, ok := block.(*wire.TextBlock); ok {
			text = b.Text
		}
		h.Write([]byte(text))
	}
	return h.Sum64()
}
