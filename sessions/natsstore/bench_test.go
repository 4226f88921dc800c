package natsstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions/natsstore"
	"github.com/clewdev/clew/wire"
)

// kilobytes returns n entries of one kilobyte, none of which has been there before.
func kilobytes(append, n int) []wire.JSON {
	entries := make([]wire.JSON, n)
	for i := range entries {
		head := fmt.Sprintf(`{"type":"user","uuid":"u-%d-%d","text":"`, append, i)
		entries[i] = wire.JSON(head + strings.Repeat("x", 1<<10-len(head)-2) + `"}`)
	}
	return entries
}

func BenchmarkAppend(b *testing.B) {
	s := open(b, &natsstore.Options{Dir: b.TempDir()})
	b.SetBytes(500 << 10)
	for i := 0; b.Loop(); i++ {
		key := wire.SessionKey{Project: "p", SessionID: fmt.Sprint(i / 20)}
		if err := s.Append(b.Context(), key, kilobytes(i, 500)); err != nil {
			b.Fatal(err)
		}
	}
}

// Eager mirroring appends entries one by one.
func BenchmarkAppendOne(b *testing.B) {
	s := open(b, &natsstore.Options{Dir: b.TempDir()})
	b.SetBytes(1 << 10)
	for i := 0; b.Loop(); i++ {
		if err := s.Append(b.Context(), wire.SessionKey{Project: "p", SessionID: "s"}, kilobytes(i, 1)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for name, size := range map[string]int{"large appends": 500, "small appends": 1} {
		b.Run(name, func(b *testing.B) {
			const entries = 10_000
			key := wire.SessionKey{Project: "p", SessionID: "s"}
			s := open(b, &natsstore.Options{Dir: b.TempDir()})
			for i := range entries / size {
				if err := s.Append(b.Context(), key, kilobytes(i, size)); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(entries << 10)
			for b.Loop() {
				n := 0
				for _, err := range s.Load(b.Context(), key) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != entries {
					b.Fatalf("got %d entries", n)
				}
			}
		})
	}
}
