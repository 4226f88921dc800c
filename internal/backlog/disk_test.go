package backlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/wire"
)

func TestUnreadMessages(t *testing.T) {
	for _, batch := range []int{250, 50_000} {
		t.Run(fmt.Sprintf("by %d", batch), func(t *testing.T) { testUnreadMessages(t, batch) })
	}
}

func testUnreadMessages(t *testing.T, batch int) {
	count := soak.Size(50_000, 200_000)
	b := New(Options{Dir: t.TempDir()})
	defer b.Close()
	before := heap()
	for i := 0; i < count; i += batch {
		b.Push(notes(i, batch, 200))
	}
	b.End()
	memory, disk := b.Bytes()
	if memory > 4<<20 || disk < 150*int64(count) {
		t.Errorf("%d bytes in memory and %d on disk", memory, disk)
	}
	if grown := heap() - before; grown > 10<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	got := takeAll(t, b)
	if len(got) != count {
		t.Errorf("took %d messages", len(got))
	}
	for i, msg := range got {
		if msg.Raw() != frame(i, 200) {
			t.Fatalf("message %d is %s", i, msg.Raw())
		}
	}
	checkBytes(t, b, 0, 0)
}

// heap returns the size of the memory in use.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestFilesAreRemoved(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(t *testing.T, b *Backlog)
	}{
		{"when all was taken", func(t *testing.T, b *Backlog) { b.End(); takeAll(t, b) }},
		{"by Close", func(_ *testing.T, b *Backlog) { b.Close() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := New(Options{MemoryBytes: 1, DiskBytes: 4000, Dir: dir})
			for i := range 10 {
				b.Push(notes(i, 1, 200))
			}
			if _, disk := b.Bytes(); disk < 9*200 {
				t.Errorf("%d bytes on disk", disk)
			}
			if files := entries(t, dir); runtime.GOOS != "windows" && len(files) > 0 {
				t.Errorf("files that a dead process leaves behind: %v", files)
			}
			tt.end(t, b)
			if files := entries(t, dir); len(files) > 0 {
				t.Errorf("files left behind: %v", files)
			}
		})
	}
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	f, err := createTemp(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.(*tempFile).Stat()
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
		t.Errorf("the mode is %v", mode)
	}
}

func TestNamedFileIsRemovedByClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.CreateTemp(dir, "*")
	if err != nil {
		t.Fatal(err)
	}
	remove(&tempFile{File: f, named: true})
	if files := entries(t, dir); len(files) > 0 {
		t.Errorf("files left behind: %v", files)
	}
}

// A consumer that always lags, and never takes everything, must not let the files grow.
func TestFilesDoNotGrow(t *testing.T) {
	t.Parallel()
	const bound = 256 << 10
	b := New(Options{MemoryBytes: 1, DiskBytes: bound, Dir: t.TempDir()})
	defer b.Close()
	var pushed, got int
	for pushed < 8000 {
		b.Push(notes(pushed, 20, 100))
		pushed += 20
		for pushed-got > 1000 {
			msgs, err := b.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			checkMessages(t, notes(got, len(msgs), 100), msgs)
			got += len(msgs)
		}
		if _, disk := b.Bytes(); disk == 0 || disk > bound {
			t.Fatalf("%d bytes on disk after %d messages", disk, pushed)
		}
	}
}

func TestNoDisk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts Options
	}{
		{"folder does not exist", Options{Dir: filepath.Join(t.TempDir(), "missing")}},
		{"files are not wanted", Options{DiskBytes: -1, Dir: t.TempDir()}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testNoDisk(t, tt.opts) })
		})
	}
}

func testNoDisk(t *testing.T, opts Options) {
	opts.MemoryBytes = 10_000
	b := New(opts)
	all := notes(0, 1000, 1000)
	go func() {
		b.Push(slices.Clone(all))
		b.End()
	}()
	time.Sleep(2 * takeTimeout)
	if memory, disk := b.Bytes(); memory > 2*opts.MemoryBytes+2*pieceBytes || disk > 0 {
		t.Errorf("%d bytes in memory and %d on disk", memory, disk)
	}
	checkMessages(t, all, takeAll(t, b))
}

func TestLargeMessages(t *testing.T) {
	t.Parallel()
	b := New(Options{MemoryBytes: 1000, Dir: t.TempDir()})
	var all []wire.Message
	for i, size := range []int{5000, 1, 3 * pieceBytes, pieceBytes, 1, 3 * pieceBytes} {
		all = append(all, note(i, size))
	}
	b.Push(slices.Clone(all))
	if memory, _ := b.Bytes(); memory != cost(all[0]) {
		t.Errorf("%d bytes in memory, want those of the first message", memory)
	}
	b.End()
	checkMessages(t, all, takeAll(t, b))
}

// oddMessages are messages whose raw text does not stand for them.
func oddMessages(t *testing.T) []wire.Message {
	feeder := wire.NewFeeder(nil)
	msgs := append(feeder.Feed([]byte("warning\n{\"type\":\"user\"}\n{\"type\":")), feeder.Drain()...)
	if len(msgs) != 3 {
		t.Fatalf("got %d messages", len(msgs))
	}
	return append(msgs,
		&wire.TextLine{Text: "made by hand"},
		&wire.InvalidFrame{Line: 7, Err: errors.New("made by hand")},
		&wire.SystemMessage{Subtype: "made_by_hand", UUID: "1"})
}

func TestOddMessagesKeepTheirPlace(t *testing.T) {
	t.Parallel()
	b := New(Options{MemoryBytes: 5000, DiskBytes: 5000, Dir: t.TempDir()})
	b.Push(notes(0, 20, 300))
	var odd []wire.Message
	for i, msg := range oddMessages(t) {
		odd = append(odd, msg, note(i, 10), note(i, 10))
	}
	b.Push(slices.Clone(odd))
	if memory, disk := b.Bytes(); memory <= 5000 || disk == 0 {
		t.Errorf("%d bytes in memory and %d on disk", memory, disk)
	}
	b.End()
	checkMessages(t, append(notes(0, 20, 300), odd...), takeAll(t, b))
	checkBytes(t, b, 0, 0)
}

func TestDecode(t *testing.T) {
	t.Parallel()
	var frames []string
	decode := func(frame []byte) wire.Message {
		frames = append(frames, string(frame))
		return wire.Decode(frame)
	}
	b := New(Options{MemoryBytes: 1, Dir: t.TempDir(), Decode: decode})
	all := notes(0, 3, 10)
	b.Push(slices.Clone(all))
	b.End()
	checkMessages(t, all, takeAll(t, b))
	if want := []string{all[1].Raw(), all[2].Raw()}; !slices.Equal(frames, want) {
		t.Errorf("decoded %q, want %q", frames, want)
	}
}

var (
	errDiskFull   = errors.New("the disk is full")
	errUnreadable = errors.New("the disk cannot be read")
)

// A fakeDisk holds files in memory, and fails on request.
type fakeDisk struct {
	mu         sync.Mutex
	full       bool
	unreadable bool
	files      []*fakeFile // the open files
}

func (d *fakeDisk) set(full, unreadable bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full, d.unreadable = full, unreadable
}

func (d *fakeDisk) create() (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &fakeFile{disk: d}
	d.files = append(d.files, f)
	return f, nil
}

type fakeFile struct {
	disk *fakeDisk
	data []byte
}

// WriteAt writes half on a disk that is full.
func (f *fakeFile) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	var err error
	if f.disk.full {
		p, err = p[:len(p)/2], errDiskFull
	}
	f.data = append(f.data[:off], p...)
	return len(p), err
}

func (f *fakeFile) ReadAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.unreadable {
		return 0, errUnreadable
	}
	n := copy(p, f.data[min(off, int64(len(f.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *fakeFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	for i, open := range f.disk.files {
		if open == f {
			f.disk.files = append(f.disk.files[:i], f.disk.files[i+1:]...)
			return nil
		}
	}
	return errors.New("closed twice")
}

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

// takeOnly takes one message, and checks it.
func takeOnly(t *testing.T, b *Backlog, want wire.Message) {
	t.Helper()
	got, err := b.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkMessages(t, []wire.Message{want}, got)
}
