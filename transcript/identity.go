package transcript

import (
	"encoding/hex"
	"hash/fnv"
)

// An identity stands for the UUID of an entry in 16 bytes, so that a long transcript can be held in memory.
type identity [16]byte

// identify returns the identity of a UUID. A text of another form gets one from its hash.
func identify(uuid string) identity {
	var id identity
	if len(uuid) == 36 && uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-' {
		var digits [32]byte
		at := copy(digits[:], uuid[:8])
		at += copy(digits[at:], uuid[9:13])
		at += copy(digits[at:], uuid[14:18])
		at += copy(digits[at:], uuid[19:23])
		copy(digits[at:], uuid[24:])
		if _, err := hex.Decode(id[:], digits[:]); err == nil {
			return id
		}
	}
	h := fnv.New128a()
	_, _ = h.Write([]byte(uuid))
	h.Sum(id[:0])
	return id
}
