// Package newid makes the identifiers of messages and sessions, and knows their form.
package newid

import (
	"crypto/rand"
	"fmt"
)

// UUID returns a random UUID, of version 4.
func UUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// IsUUID reports whether id has the form of a UUID, as all session IDs have.
func IsUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f'):
			return false
		}
	}
	return true
}
