package sessions

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/wire"
)

// readPieces cuts data into segments of a size and returns what is read of each, one line of text
// for each line.
func readPieces(data string, size, maxLine int) []string {
	var got []string
	r := segmentReader{large: new(sync.Mutex), max: maxLine}
	for start := 0; start < len(data); start += size {
		r.reset(strings.NewReader(data), int64(start), int64(min(start+size, len(data))))
		for r.next() {
			switch {
			case r.long:
				got = append(got, fmt.Sprintf("%d long", r.offset))
			case !r.blank():
				got = append(got, fmt.Sprintf("%d %s %v", r.offset, r.text, r.ended))
			}
		}
		r.release()
	}
	return got
}

func TestPartReaderReadsEachLineOnce(t *testing.T) {
	t.Parallel()
	nuls := strings.Repeat("\x00", 40)
	tests := []struct {
		name, data string
		want       []string
	}{
		{"lines", "one\ntwo\n\nthree\n", []string{"0 one true", "4 two true", "9 three true"}},
		{"no end", "one\ntwo", []string{"0 one true", "4 two false"}},
		{"one line", "one", []string{"0 one false"}},
		{"NUL bytes in front", nuls + "one\n" + nuls + "\ntwo\n" + nuls, []string{"0 one true", "85 two true"}},
		{"a mark in front", "\ufeffone\n\ufefftwo\n", []string{"0 one true", "7 \ufefftwo true"}},
		{"too long", "one\n" + strings.Repeat("x", 33) + "\ntwo\n", []string{"0 one true", "4 long", "38 two true"}},
		{"as long as can be", strings.Repeat("x", 32) + "\n", []string{"0 " + strings.Repeat("x", 32) + " true"}},
		{"too long and no end", "one\n" + strings.Repeat("x", 99), []string{"0 one true", "4 long"}},
	}
	for _, tt := range tests {
		for size := 1; size <= len(tt.data)+1; size++ {
			if diff := cmp.Diff(tt.want, readPieces(tt.data, size, 32)); diff != "" {
				t.Fatalf("%s in parts of %d (-want +got)\n%s", tt.name, size, diff)
			}
		}
	}
}

func TestPartReaderGivesMemoryBack(t *testing.T) {
	t.Parallel()
	long := append(bytes.Repeat([]byte("x"), 3*largeLine), "\nshort\n"...)
	data := append(bytes.Repeat([]byte{0}, 3*largeLine), long...)
	var large sync.Mutex
	r := segmentReader{large: &large, max: maxEntry}
	r.reset(bytes.NewReader(data), 0, int64(len(data)))
	if !r.next() || len(bytes.TrimLeft(r.text, "\x00")) != 3*largeLine || large.TryLock() {
		t.Fatalf("a line of %d bytes, or others may read a large one as well", len(r.text))
	}
	if !r.next() || string(r.text) != "short" || len(r.buf) != readSize || !large.TryLock() {
		t.Errorf("%q, a buffer of %d bytes, or others may not read a large line", r.text, len(r.buf))
	}
}

// A line is counted without being in memory if its strings are long, and skipped without being in
// memory if it is too long.
func TestPartReaderHoldsNoLongLine(t *testing.T) {
	t.Parallel()
	entry := []byte(`{"text":"` + strings.Repeat("x", 3*largeLine) + `","n":1}`)
	list := []byte("[" + strings.Repeat("1,", maxShortened/2+largeLine) + "1]")
	for name, tt := range map[string]struct {
		line []byte
		max  int
		long bool
	}{
		"long string": {entry, maxEntry, false}, "too long": {entry, 2 * largeLine, true}, "long list": {list, maxEntry, true},
	} {
		data := append(slices.Clone(tt.line), "\nshort"...)
		r := segmentReader{large: new(sync.Mutex), max: tt.max}
		r.reset(bytes.NewReader(data), 0, int64(len(data)))
		if !r.next() || r.long != tt.long || len(r.text) > entrylex.MaxString+100 || len(r.buf) > 2*largeLine || r.line != 1 || !r.ended {
			t.Errorf("%s: %v, %d bytes in a buffer of %d, line %d", name, r.long, len(r.text), len(r.buf), r.line)
		}
		if !r.next() || string(r.text) != "short" || r.line != 2 || r.offset != int64(len(tt.line)+1) {
			t.Errorf("%s: then %q in line %d at %d", name, r.text, r.line, r.offset)
		}
	}
}

func TestPartReaderPassesNULsInLittleMemory(t *testing.T) {
	t.Parallel()
	data := append(bytes.Repeat([]byte{0}, 3*largeLine), "one\n"...)
	r := segmentReader{large: new(sync.Mutex), max: maxEntry}
	r.reset(bytes.NewReader(data), 0, int64(len(data)))
	if !r.next() || string(r.text) != "one" || len(r.buf) != readSize {
		t.Errorf("%.20q, a buffer of %d bytes", r.text, len(r.buf))
	}
}

// countingReader counts the bytes that are read.
type countingReader struct {
	*strings.Reader
	read int64
}

func (c *countingReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(b, at)
	c.read += int64(n)
	return n, err
}

// Segments in the middle of a long line, or of a run of NUL bytes, don't read all of it.
func TestPartReaderReadsNoMoreThanItsPart(t *testing.T) {
	t.Parallel()
	const size, parts = 4 * readSize, 5
	for _, data := range []string{
		strings.Repeat("x", parts*size), strings.Repeat("\x00", parts*size), strings.Repeat("x", parts*size-1) + "\n",
	} {
		file := &countingReader{Reader: strings.NewReader(data)}
		r := segmentReader{large: new(sync.Mutex), max: maxEntry}
		for start := int64(0); start < int64(len(data)); start += size {
			r.reset(file, start, start+size)
			for r.next() {
				r.release()
			}
		}
		r.release()
		if most := int64(3 * len(data)); file.read > most {
			t.Errorf("%d bytes of a file of %d were read", file.read, len(data))
		}
	}
}

// A very long file keeps its index, although it has too many UUIDs, and although other files are
// read.
func TestTalliesKeepTheLast(t *testing.T) {
	t.Parallel()
	file, err := os.Stat(".")
	if err != nil {
		t.Fatal(err)
	}
	ts := uuidIndexes{max: 100}
	long, short := wire.SessionKey{SessionID: "long"}, wire.SessionKey{SessionID: "short"}
	grow := func(key wire.SessionKey, uuids uint64) {
		tally := ts.acquire(key)
		tally.file, tally.uuids = file, map[uuidHash]bool{}
		for i := range uuids {
			tally.uuids[uuidHash{i}] = true
		}
		ts.release(key, tally)
	}
	grow(short, 1)
	grow(long, 101)
	if ts.byKey[long] == nil || ts.byKey[short] != nil {
		t.Errorf("after a long file: got %v", ts.byKey)
	}
	ts.release(short, ts.acquire(short)) // as a load does
	if ts.byKey[long] == nil || len(ts.byKey) != 1 {
		t.Errorf("after a load: got %v", ts.byKey)
	}
	grow(short, 1)
	if ts.byKey[short] == nil || ts.byKey[long] != nil || ts.total != 2 {
		t.Errorf("after another file: got %v, %d in all", ts.byKey, ts.total)
	}
}
