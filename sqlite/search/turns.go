package search

import (
	"context"
	"encoding/binary"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A turnCounter counts the turns of transcripts in which the turn of a line is known only from
// all lines, as after a rewind. It reads each transcript once. The zero value is ready.
type turnCounter struct {
	turns map[string]map[int]int // by path and line
}

// maxCounted is the size of the largest transcript that is read for its turns.
const maxCounted = 1 << 30

// of returns the turns of a transcript's lines. Lines that are not part of the conversation have
// none, and neither has a transcript that can't be read.
func (t *turnCounter) of(ctx context.Context, f *sessions.File, s *state) map[int]int {
	turns, ok := t.turns[f.Path]
	if ok {
		return turns
	}
	if t.turns == nil {
		t.turns = map[string]map[int]int{}
	}
	if turns, ok = decodeTurns(s.Runs); !ok {
		turns = readTurns(ctx, f)
	}
	t.turns[f.Path] = turns
	return turns
}

// readTurns reads a transcript for the turns of its lines.
func readTurns(ctx context.Context, f *sessions.File) map[int]int {
	turns := map[int]int{}
	if f.Info.Size() > maxCounted || ctx.Err() != nil {
		return turns
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return turns
	}
	defer file.Close()
	read, err := transcript.Read(&contextReader{ctx, file}, nil)
	if err != nil {
		return turns
	}
	for i := range read.Chunks {
		for _, line := range read.Chunks[i].Lines {
			turns[line] = read.Chunks[i].Turn
		}
	}
	return turns
}

// encodeTurns encodes the turns of lines for the index, since reading a long transcript takes longer
// than a search. For each run of lines with the same turn, it has the number of lines before it, the
// number of its lines, and the turn.
func encodeTurns(turns map[int]int) []byte {
	lines := slices.Sorted(maps.Keys(turns))
	var data []byte
	for at, end := 0, 0; at < len(lines); {
		first, turn := lines[at], turns[lines[at]]
		n := 1
		for at+n < len(lines) && lines[at+n] == first+n && turns[lines[at+n]] == turn {
			n++
		}
		for _, number := range []int{first - end, n, turn} {
			data = binary.AppendVarint(data, int64(number))
		}
		at, end = at+n, first+n
	}
	return data
}

// decodeTurns returns false if the turns are not known.
func decodeTurns(data []byte) (map[int]int, bool) {
	turns := map[int]int{}
	r := locationReader{data: data}
	for line := 0; r.more(); {
		line += int(r.number())
		n, turn := int(r.number()), int(r.number())
		if r.bad || n < 0 || n > maxCounted {
			return nil, false
		}
		for ; n > 0; n, line = n-1, line+1 {
			turns[line] = turn
		}
	}
	return turns, len(turns) > 0
}

// A contextReader reads until its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
