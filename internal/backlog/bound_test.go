package backlog

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/wire"
)

// A pusher pushes until it blocks. It is for a bubble.
type pusher struct {
	*Backlog
	disk     fakeDisk
	urgent   atomic.Bool
	returned atomic.Bool
	pushed   []wire.Message
}

func newPusher() *pusher {
	p := &pusher{}
	p.Backlog = New(Options{MemoryBytes: 1000, DiskBytes: 2000, Urgent: p.urgent.Load})
	p.queue.spool.create = p.disk.create
	return p
}

// push pushes a message, and reports whether Push returns within a minute.
func (p *pusher) push() bool {
	msg := note(len(p.pushed), 100)
	p.pushed = append(p.pushed, msg)
	p.returned.Store(false)
	done := make(chan struct{})
	go func() {
		p.Push([]wire.Message{msg})
		p.returned.Store(true)
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(time.Minute): // of the bubble
		return false
	}
}

func (p *pusher) pushUntilBlocked(t *testing.T) {
	t.Helper()
	for p.push() {
		if len(p.pushed) == 1000 {
			t.Fatal("Push never blocks")
		}
	}
}

// inBubble runs a test with a pusher, and checks that in the end all messages come and no file is
// left.
func inBubble(t *testing.T, test func(t *testing.T, p *pusher)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPusher()
		test(t, p)
		var got []wire.Message
		p.disk.set(false, false)
		for len(got) < len(p.pushed) {
			msgs, err := p.Take(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, msgs...)
			synctest.Wait()
		}
		checkMessages(t, p.pushed, got)
		checkBytes(t, p.Backlog, 0, 0)
		if n := len(p.disk.files); n > 0 {
			t.Errorf("%d files left", n)
		}
	})
}

// takeOne takes what was pushed first.
func (p *pusher) takeOne(t *testing.T) {
	t.Helper()
	msgs, err := p.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(msgs) == 0 || labels(msgs)[0] != labels(p.pushed)[0] {
		t.Errorf("took %v, want what was pushed first", labels(msgs))
	}
	p.pushed = p.pushed[len(msgs):]
}

func TestPushBlocksAtTheBound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		unlock func(t *testing.T, p *pusher)
	}{
		{"until something is taken", func(t *testing.T, p *pusher) { p.takeOne(t) }},
		{"until it is urgent", func(_ *testing.T, p *pusher) { p.urgent.Store(true); p.Wake() }},
		{"until it is closed", func(_ *testing.T, p *pusher) { p.Close(); p.pushed = nil }},
	}
	for _, full := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, disk full: %v", tt.name, full), func(t *testing.T) {
				inBubble(t, func(t *testing.T, p *pusher) {
					p.disk.set(full, false)
					p.pushUntilBlocked(t)
					memory, disk := p.Bytes()
					if memory < 1000 || memory > 2500 || (disk > 2000) == full || (disk == 0) != full {
						t.Errorf("%d bytes in memory, %d on disk", memory, disk)
					}
					p.Wake()
					synctest.Wait()
					if p.returned.Load() {
						t.Error("Push returned for no reason")
					}
					tt.unlock(t, p)
					synctest.Wait()
					if !p.returned.Load() {
						t.Error("Push still blocks")
					}
				})
			})
		}
	}
}

func TestPushIsUrgent(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		t.Run(fmt.Sprintf("disk full: %v", full), func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *pusher) {
				p.disk.set(full, false)
				p.urgent.Store(true)
				for i := range 100 {
					start := time.Now()
					msg := note(i, 100)
					p.pushed = append(p.pushed, msg)
					p.Push([]wire.Message{msg})
					if took := time.Since(start); took > 0 {
						t.Errorf("push %d took %v", i, took)
					}
				}
			})
		})
	}
}

// A disk that fills up, and later has room again, changes neither the order nor the messages.
func TestDiskFillsUp(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pusher) {
		for i := range 40 {
			p.disk.set(i%3 == 1, false)
			p.urgent.Store(i%4 > 1)
			if !p.push() {
				p.urgent.Store(true)
				p.Wake()
				synctest.Wait()
			}
		}
	})
}

// BenchmarkHandOver passes batches of 300 messages from one goroutine to another. An operation is
// one message.
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

// Add does not wait for room, even while Push does, and its message is taken first.
func TestAddDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{MemoryBytes: 1, DiskBytes: -1, Dir: t.TempDir()})
		first, held, waiting, own := note(0, 10), note(1, 10), note(2, 10), note(3, 10)
		b.Push([]wire.Message{first})
		go func() {
			b.Push([]wire.Message{held})
			b.Push([]wire.Message{waiting})
			b.End()
		}()
		time.Sleep(time.Minute)
		b.Add(own)
		checkMessages(t, []wire.Message{first, held, own, waiting}, takeAll(t, b))
		b.Close()
		b.Add(own) // it is dropped
		checkBytes(t, b, 0, 0)
	})
}
