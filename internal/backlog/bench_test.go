package backlog

import (
	"errors"
	"io"
	"testing"
)

// BenchmarkHandOver passes batches of 300 messages from one goroutine to another. An operation is one message.
func BenchmarkHandOver(b *testing.B) {
	messages := notes(0, 300, 200)
	q := New(Options{Dir: b.TempDir()})
	defer q.Close()
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		defer q.End()
		for left := b.N; left > 0; left -= len(messages) {
			q.Push(messages[:min(left, len(messages))])
		}
	}()
	taken := drainAll(b, q)
	b.ReportMetric(float64(taken)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
	if taken != b.N {
		b.Fatalf("took %d messages of %d", taken, b.N)
	}
}

// BenchmarkSpill passes messages over the disk.
func BenchmarkSpill(b *testing.B) {
	messages := notes(0, 300, 200)
	q := New(Options{MemoryBytes: 1, DiskBytes: 1 << 40, Dir: b.TempDir()})
	defer q.Close()
	b.SetBytes(int64(len(messages[0].Raw())))
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= len(messages) {
		q.Push(messages[:min(left, len(messages))])
	}
	q.End()
	if taken := drainAll(b, q); taken != b.N {
		b.Fatalf("took %d messages of %d", taken, b.N)
	}
}

// BenchmarkNew shows what a backlog costs that nothing is pushed to.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(Options{})
	}
}

// drainAll takes everything and returns how many messages that were.
func drainAll(b *testing.B, q *Backlog) int {
	taken := 0
	for {
		msgs, err := q.Take(b.Context())
		if errors.Is(err, io.EOF) {
			return taken
		}
		if err != nil {
			b.Fatal(err)
		}
		taken += len(msgs)
	}
}
