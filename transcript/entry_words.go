package transcript

import "encoding/binary"

// A wordTable shares strings that come again from line to line: the session, the folder, the version, the model. A
// newcomer takes the slot of its hash, so that the table stays small.
type wordTable struct {
	slots [wordSlots]string
}

const (
	wordSlots = 256
	maxWord   = 256
)

func (t *wordTable) get(b []byte) string {
	if len(b) == 0 || len(b) > maxWord {
		return string(b)
	}
	slot := &t.slots[wordHash(b)%wordSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// wordHash mixes the length and the first and last eight bytes.
func wordHash(b []byte) uint64 {
	h := uint64(len(b))
	if len(b) < 8 {
		for _, c := range b {
			h = h<<8 | uint64(c)
		}
	} else {
		h ^= binary.LittleEndian.Uint64(b)
		h = h*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(b[len(b)-8:])
	}
	h *= 0x9E3779B97F4A7C15
	return h >> 32
}
