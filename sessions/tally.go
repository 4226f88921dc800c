package sessions

import (
	"bytes"
	"context"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/clewdev/clew/wire"
)

// maxTallied is how many UUIDs a [Folder] remembers, besides those of the file that was appended to last.
const maxTallied = 1 << 20

// endLength is how much of the end of a file is compared, to notice that it was written anew.
const endLength = 64

// A tally is what a [Folder] knows of a file: which UUIDs it has. It is locked while somebody appends.
type tally struct {
	mu    sync.Mutex
	file  fs.FileInfo // nil if nothing is known
	size  int64       // how much of the file was read
	end   []byte      // the last bytes of that
	uuids map[uuidHash]bool

	users   int // guarded by the lock of the tallies, as is counted
	counted int
}

// A uuidHash stands for a UUID in less memory.
type uuidHash [2]uint64

var uuidSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func hashUUID(uuid string) uuidHash {
	return uuidHash{maphash.String(uuidSeeds[0], uuid), maphash.String(uuidSeeds[1], uuid)}
}

// tallies are the tallies of a [Folder].
type tallies struct {
	mu    sync.Mutex
	byKey map[wire.SessionKey]*tally
	total int // UUIDs
}

// take returns the tally of a transcript, locked.
func (ts *tallies) take(key wire.SessionKey) *tally {
	ts.mu.Lock()
	if ts.byKey == nil {
		ts.byKey = map[wire.SessionKey]*tally{}
	}
	t := ts.byKey[key]
	if t == nil {
		t = new(tally)
		ts.byKey[key] = t
	}
	t.users++
	ts.mu.Unlock()
	t.mu.Lock()
	return t
}

// release unlocks a tally. When it has grown and there are too many UUIDs, all others that nobody uses are forgotten. To
// forget this one, too, would mean that each append to a very long file reads all of it.
func (ts *tallies) release(key wire.SessionKey, t *tally) {
	known, count := t.file != nil, len(t.uuids)+1
	t.mu.Unlock()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	grown := known && count > t.counted
	ts.total += count - t.counted
	t.counted = count
	t.users--
	if t.users == 0 && !known {
		ts.forget(key, t)
	}
	if !grown || ts.total <= maxTallied {
		return
	}
	for otherKey, other := range ts.byKey {
		if other != t && other.users == 0 {
			ts.forget(otherKey, other)
		}
	}
}

// forgetSession forgets the transcripts of a session that nobody uses.
func (ts *tallies) forgetSession(session wire.SessionKey) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for key, t := range ts.byKey {
		if key.Project == session.Project && key.SessionID == session.SessionID && t.users == 0 {
			ts.forget(key, t)
		}
	}
}

func (ts *tallies) forget(key wire.SessionKey, t *tally) {
	ts.total -= t.counted
	delete(ts.byKey, key)
}

// catchUp reads what was added to a file since the last time, or all of it if it is another one. It returns the file's
// size, and whether its last line has an end. When the context ends, it goes on from there the next time.
func (t *tally) catchUp(ctx context.Context, file *os.File) (size int64, ended bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, false, err
	}
	if !t.knows(file, info) {
		t.size, t.uuids = 0, map[uuidHash]bool{}
	}
	t.file, ended = nil, true
	read := info.Size()
	for l, err := range readLines(io.NewSectionReader(file, t.size, info.Size()-t.size)) {
		if err != nil {
			return 0, false, err
		}
		if ctx.Err() != nil {
			read = t.size + l.offset
			break
		}
		if uuid, err := l.entry(); err == nil {
			t.add(uuid)
		}
		if ended = l.ended; !ended {
			read = t.size + l.offset
		}
	}
	t.end = make([]byte, min(read, endLength))
	if _, err := file.ReadAt(t.end, read-int64(len(t.end))); err != nil && len(t.end) > 0 {
		return 0, false, err
	}
	t.file, t.size = info, read
	return info.Size(), ended, ctx.Err()
}

// wrote takes note of what was written behind the size that catchUp has returned.
func (t *tally) wrote(size int64, text []byte) {
	if len(text) > 0 {
		t.size = size + int64(len(text))
		t.end = bytes.Clone(text[max(0, len(text)-endLength):])
	}
}

func (t *tally) has(uuid string) bool { return t.uuids[hashUUID(uuid)] }

func (t *tally) add(uuid string) {
	if uuid != "" {
		t.uuids[hashUUID(uuid)] = true
	}
}

// knows reports whether the part of the file that was read is still as it was.
func (t *tally) knows(file *os.File, info fs.FileInfo) bool {
	if t.file == nil || !os.SameFile(t.file, info) || info.Size() < t.size {
		return false
	}
	end := make([]byte, len(t.end))
	_, err := file.ReadAt(end, t.size-int64(len(end)))
	return err == nil && bytes.Equal(end, t.end)
}
