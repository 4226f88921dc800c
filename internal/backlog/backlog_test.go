package backlog

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// frame returns the text of a message, of some more than size bytes.
func frame(n, size int) string {
	return `{"type":"note","n":` + strconv.Itoa(n) + `,"pad":"` + strings.Repeat("x", size) + `"}`
}

// note returns a message that was read from a frame.
func note(n, size int) wire.Message { return wire.Decode([]byte(frame(n, size))) }

// notes returns messages that are numbered from first on.
func notes(first, count, size int) []wire.Message {
	msgs := make([]wire.Message, count)
	for i := range msgs {
		msgs[i] = note(first+i, size)
	}
	return msgs
}

// labels returns a label for each message. A message and its copy from disk have the same label.
func labels(msgs []wire.Message) []string {
	var all []string
	for _, msg := range msgs {
		frame, err := wire.Append(nil, msg)
		if err != nil {
			frame = fmt.Appendf(nil, "%T at %p", msg, msg)
		}
		if len(frame) > 200 { // or else the differences take long
			frame = fmt.Appendf(frame[:100:100], "... %d bytes, sum %x", len(frame), crc32.ChecksumIEEE(frame))
		}
		all = append(all, string(frame))
	}
	return all
}

// takeAll takes messages until the end.
func takeAll(t *testing.T, b *Backlog) []wire.Message {
	t.Helper()
	var all []wire.Message
	for {
		msgs, err := b.Take(t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(msgs) == 0 {
			t.Fatal("Take returned nothing and no error")
		}
		all = append(all, msgs...)
	}
}

func checkMessages(t *testing.T, want, got []wire.Message) {
	t.Helper()
	if diff := cmp.Diff(labels(want), labels(got)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func checkBytes(t *testing.T, b *Backlog, wantMemory, wantDisk int64) {
	t.Helper()
	if memory, disk := b.Bytes(); memory != wantMemory || disk != wantDisk {
		t.Errorf("%d bytes in memory and %d on disk, want %d and %d", memory, disk, wantMemory, wantDisk)
	}
}

func TestTakeGivesBatchesAway(t *testing.T) {
	t.Parallel()
	b := New(Options{Dir: t.TempDir()})
	for i := range 3 {
		pushed := notes(2*i, 2, 10)
		b.Push(pushed)
		checkBytes(t, b, 2*cost(pushed[0]), 0)
		got, err := b.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkMessages(t, pushed, got)
		if &got[0] != &pushed[0] {
			t.Error("Take has copied the batch")
		}
		checkBytes(t, b, 0, 0)
	}
}

func TestPushOfNothing(t *testing.T) {
	t.Parallel()
	b := New(Options{Dir: t.TempDir()})
	b.Push(nil)
	b.Push([]wire.Message{})
	b.End()
	checkMessages(t, nil, takeAll(t, b))
}

func TestTakeBlocks(t *testing.T) {
	t.Parallel()
	failure := errors.New("cancelled for a reason")
	tests := []struct {
		name string
		end  func(b *Backlog, cancel context.CancelCauseFunc)
		want error
	}{
		{"until something is pushed", func(b *Backlog, _ context.CancelCauseFunc) { b.Push(notes(0, 1, 0)) }, nil},
		{"until something is returned", func(b *Backlog, _ context.CancelCauseFunc) { b.Return(notes(0, 1, 0)) }, nil},
		{"until the end", func(b *Backlog, _ context.CancelCauseFunc) { b.End() }, io.EOF},
		{"until it is closed", func(b *Backlog, _ context.CancelCauseFunc) { b.Close() }, io.EOF},
		{"until its context ends", func(_ *Backlog, cancel context.CancelCauseFunc) { cancel(failure) }, context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := New(Options{Dir: t.TempDir()})
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var err error
				returned := false
				go func() {
					_, err = b.Take(ctx)
					returned = true
				}()
				synctest.Wait()
				if returned {
					t.Fatal("Take returned before there was something")
				}
				tt.end(b, cancel)
				synctest.Wait()
				if !returned || !errors.Is(err, tt.want) {
					t.Errorf("Take returned: %v, with the error %v; want %v", returned, err, tt.want)
				}
			})
		})
	}
}

func TestTakeAfterItsContext(t *testing.T) {
	t.Parallel()
	b := New(Options{Dir: t.TempDir()})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pushed := notes(0, 2, 0)
	b.Push(pushed)
	got, err := b.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	checkMessages(t, pushed, got)
	if _, err := b.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	// The next consumer finds everything that was pushed in between.
	b.Push(pushed)
	b.End()
	checkMessages(t, pushed, takeAll(t, b))
}

func TestReturn(t *testing.T) {
	t.Parallel()
	b := New(Options{Dir: t.TempDir()})
	all := notes(0, 6, 0)
	b.Push(all[:3:3])
	b.Push(all[3:])
	got, err := b.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Return(got[2:])
	b.Return(got[1:2])
	b.Return(nil)
	clear(got) // Return has kept no reference.
	checkBytes(t, b, 5*cost(all[3]), 0)
	b.End()
	checkMessages(t, notes(1, 5, 0), takeAll(t, b))
	checkBytes(t, b, 0, 0)
}

func TestClose(t *testing.T) {
	t.Parallel()
	b := New(Options{MemoryBytes: 1, Dir: t.TempDir()})
	b.Push(notes(0, 10, 100))
	b.Close()
	checkBytes(t, b, 0, 0)
	b.Push(notes(0, 10, 100))
	b.Return(notes(0, 10, 100))
	b.Wake()
	b.End()
	b.Close()
	checkBytes(t, b, 0, 0)
	for range 2 {
		if _, err := b.Take(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("Take after Close: %v, want io.EOF", err)
		}
	}
}

// pushTime returns how long Push takes, by the clock of the bubble.
func pushTime(b *Backlog, msgs []wire.Message) time.Duration {
	start := time.Now()
	b.Push(msgs)
	return time.Since(start)
}

func TestMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{MemoryBytes: cost(note(0, 100)), Dir: t.TempDir()})
		for i, want := range []time.Duration{0, takeTimeout, 0, 0} {
			if took := pushTime(b, notes(i, 1, 100)); took != want {
				t.Errorf("push %d took %v, want %v", i, took, want)
			}
		}
		for range 2 { // once from memory, and once from disk
			if _, err := b.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		checkBytes(t, b, 0, 0)
		for i, want := range []time.Duration{0, takeTimeout, 0} {
			if took := pushTime(b, notes(i, 1, 100)); took != want {
				t.Errorf("push %d after all was taken took %v, want %v", i, took, want)
			}
		}
		b.Close()
	})
}

func TestMomentIsEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{MemoryBytes: cost(note(0, 100)), Dir: t.TempDir()})
		all := notes(0, 5, 100)
		go func() {
			b.Push(all) // each message waits for the one before it
			b.End()
		}()
		var got []wire.Message
		for range all {
			time.Sleep(takeTimeout - 1)
			synctest.Wait()
			if _, disk := b.Bytes(); disk > 0 {
				t.Error("a message went to disk")
			}
			msgs, err := b.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, msgs...)
			synctest.Wait()
		}
		checkMessages(t, all, got)
	})
}

func TestWakeDoesNotProlongTheMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{MemoryBytes: 1, Dir: t.TempDir()})
		defer b.Close()
		var waking sync.WaitGroup
		defer waking.Wait()
		waking.Go(func() {
			for range 20 {
				time.Sleep(takeTimeout / 8)
				b.Wake()
			}
		})
		if took := pushTime(b, notes(0, 2, 100)); took != takeTimeout {
			t.Errorf("Push took %v, want %v", took, takeTimeout)
		}
	})
}
