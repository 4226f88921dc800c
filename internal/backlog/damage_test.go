package backlog

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew/wire"
)

func TestReadError(t *testing.T) {
	t.Parallel()
	damage := func(change func(f *fakeFile)) func(d *fakeDisk) {
		return func(d *fakeDisk) { change(d.files[0]) }
	}
	tests := []struct {
		name  string
		spoil func(d *fakeDisk)
		want  error
	}{
		{"disk that fails", func(d *fakeDisk) { d.set(false, true) }, errUnreadable},
		{"file cut short", damage(func(f *fakeFile) { f.data = f.data[:5] }), io.ErrUnexpectedEOF},
		{"file emptied", damage(func(f *fakeFile) { f.data = nil }), io.ErrUnexpectedEOF},
		{"length too large", damage(func(f *fakeFile) { copy(f.data, "\xff\xff\xff\xff\x7f") }), errDamaged},
		{"length without end", damage(func(f *fakeFile) { copy(f.data, strings.Repeat("\xff", 20)) }), errDamaged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testReadError(t, tt.spoil, tt.want) })
		})
	}
}

func testReadError(t *testing.T, spoil func(*fakeDisk), want error) {
	disk := &fakeDisk{}
	b := New(Options{MemoryBytes: 1})
	b.queue.spool.create = disk.create
	line := &wire.TextLine{Text: "is in memory"}
	b.Push([]wire.Message{note(0, 10), note(1, 10), note(2, 10), line, note(3, 10)})
	takeOnly(t, b, note(0, 10))

	spoil(disk)
	_, err := b.Take(t.Context())
	if !errors.Is(err, want) || errors.Is(err, io.EOF) || !strings.HasPrefix(err.Error(), "backlog: ") {
		t.Errorf("the error is %v, want one of the package for %v", err, want)
	}
	if len(disk.files) > 0 {
		t.Errorf("%d files left", len(disk.files))
	}

	disk.set(false, false)
	takeOnly(t, b, line)
	checkBytes(t, b, 0, 0)
	b.Push(notes(4, 1, 10))
	takeOnly(t, b, note(4, 10))
	b.End()
	checkMessages(t, nil, takeAll(t, b))
}

// takeOnly takes one message, and checks that it is the one that should come.
func takeOnly(t *testing.T, b *Backlog, want wire.Message) {
	t.Helper()
	got, err := b.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkMessages(t, []wire.Message{want}, got)
}
