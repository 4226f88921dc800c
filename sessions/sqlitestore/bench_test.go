package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions/sqlitestore"
	"github.com/clewdev/clew/wire"
)

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 500} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "sessions.db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			batch := make([]wire.JSON, n)
			b.SetBytes(int64(n) << 10)
			for i := 0; b.Loop(); i++ {
				fill(batch, i*n)
				if err := s.Append(b.Context(), session, batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "sessions.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	batch := make([]wire.JSON, 5000)
	fill(batch, 0)
	if err := s.Append(b.Context(), session, batch); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(batch)) << 10)
	for b.Loop() {
		for _, err := range s.Load(b.Context(), session) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

var padding = strings.Repeat("lorem ipsum ", 1<<10/12-6)

// fill makes entries of about 1 KB, whose UUIDs are in no order.
func fill(batch []wire.JSON, first int) {
	for i := range batch {
		uuid := uint64(first+i) * 0x9e3779b97f4a7c15
		batch[i] = wire.JSON(fmt.Sprintf(`{"type":"user","uuid":"%016x-%016x","message":"%s"}`, uuid, uuid, padding))
	}
}
