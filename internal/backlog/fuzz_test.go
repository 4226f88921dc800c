package backlog

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/wire"
)

// FuzzBacklog compares a backlog with a slice. Each byte of ops is one thing that happens to both,
// see [player.step].
func FuzzBacklog(f *testing.F) {
	f.Add("")
	f.Add("1tat1t")
	f.Add("LLLwwttrtwaaatrtt")
	f.Add("aaaaaaaawaaaaaaaaxowoowaaaaaaaawttttttt")
	f.Add("uaaaaaaaadaaaaaaaawttttuaaaaaaaadoaaaaaaaatrtrtr")
	f.Fuzz(func(t *testing.T, ops string) {
		ops = ops[:min(len(ops), 300)]
		opts := Options{MemoryBytes: 2000, DiskBytes: 4000}
		synctest.Test(t, func(t *testing.T) { play(t, opts, &fakeDisk{}, ops) })
	})
}

// TestRandomOperations does the same with real files.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	const choice = "111aaaaaaLotttrwxu"
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	for range soak.Size(8, 200) {
		ops := make([]byte, 200)
		for i := range ops {
			ops[i] = choice[random.IntN(len(choice))]
		}
		opts := Options{MemoryBytes: 1 + random.Int64N(4000), DiskBytes: 1 + random.Int64N(20_000), Dir: dir}
		synctest.Test(t, func(t *testing.T) { play(t, opts, nil, string(ops)) })
		if t.Failed() {
			t.Fatalf("bounds %d and %d, operations %q", opts.MemoryBytes, opts.DiskBytes, ops)
		}
	}
	if files := entries(t, dir); len(files) > 0 {
		t.Errorf("files left behind: %v", files)
	}
}

// A player applies operations to a backlog, and tracks the expected content.
type player struct {
	*Backlog
	disk   *fakeDisk
	full   bool
	urgent atomic.Bool
	pushes chan []wire.Message // for the goroutine that pushes
	pushed []wire.Message
	taken  []wire.Message
	last   int // how many messages were taken last
}

// play runs in a bubble. A nil disk stands for real files.
func play(t *testing.T, opts Options, disk *fakeDisk, ops string) {
	p := &player{disk: disk, pushes: make(chan []wire.Message, len(ops))}
	opts.Urgent = p.urgent.Load
	p.Backlog = New(opts)
	if disk != nil {
		p.queue.spool.create = disk.create
	}
	go func() {
		for msgs := range p.pushes {
			p.Push(msgs)
		}
		p.End()
	}()
	for _, op := range []byte(ops) {
		p.step(t, op)
	}
	close(p.pushes)
	checkMessages(t, p.pushed, append(p.taken, takeAll(t, p.Backlog)...))
	checkBytes(t, p.Backlog, 0, 0)
	if disk != nil && len(disk.files) > 0 {
		t.Errorf("%d files left", len(disk.files))
	}
}

func (p *player) step(t *testing.T, op byte) {
	switch op {
	case '1':
		p.push(note(len(p.pushed), 100))
	case 'a':
		p.push(notes(len(p.pushed), 5, 300)...)
	case 'L':
		p.push(note(len(p.pushed), pieceBytes+1))
	case 'o':
		p.push(note(len(p.pushed), 1), &wire.TextLine{}, &wire.SystemMessage{Subtype: "by_hand"}, &wire.TextLine{})
	case 't':
		p.take(t)
	case 'r':
		p.giveBack()
	case 'w':
		time.Sleep(2 * takeTimeout)
	case 'x':
		synctest.Wait()
	case 'u':
		p.urgent.Store(!p.urgent.Load())
		p.Wake()
	case 'd':
		if p.full = !p.full; p.disk != nil {
			p.disk.set(p.full, false)
		}
	}
}

func (p *player) push(msgs ...wire.Message) {
	p.pushed = append(p.pushed, msgs...)
	p.pushes <- msgs
}

// take takes messages if there are any, or come soon.
func (p *player) take(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), takeTimeout/2)
	defer cancel()
	msgs, err := p.Take(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	p.taken = append(p.taken, msgs...)
	p.last = len(msgs)
}

// giveBack returns the later half of the last taken messages.
func (p *player) giveBack() {
	from := len(p.taken) - (p.last+1)/2
	p.Return(p.taken[from:])
	p.taken, p.last = p.taken[:from], p.last/2
}
