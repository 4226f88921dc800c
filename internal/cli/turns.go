package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/clewdev/clew/transcript"
)

// A turnRange is a flag for some of the turns of a session, such as 3, 3..5, 3..
// or ..5. The zero value is all of them.
type turnRange struct {
	text        string
	first, last int // last is 0 for no end
}

// Type is what the help calls the value.
func (t *turnRange) Type() string { return "turns" }

func (t *turnRange) String() string { return t.text }

// Set reads a range.
func (t *turnRange) Set(text string) error {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	first, err1 := turnNumber(from, isRange)
	last, err2 := turnNumber(to, isRange)
	if err1 != nil || err2 != nil || last > 0 && last < first || text == ".." {
		return errors.New("it is the number of a turn, or a range such as 3..5, 3.. or ..5")
	}
	*t = turnRange{text: text, first: first, last: last}
	return nil
}

func turnNumber(text string, mayBeEmpty bool) (int, error) {
	if text == "" && mayBeEmpty {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	return n, err
}

func (t *turnRange) has(turn int) bool {
	return turn >= t.first && (t.last == 0 || turn <= t.last)
}

// of returns the chunks of those turns, and the number of the first turn. What
// stands before the first prompt is turn 0.
func (t *turnRange) of(chunks []transcript.Chunk) ([]transcript.Chunk, int) {
	turn, from, end, first := 0, len(chunks), len(chunks), 0
	for i := range chunks {
		if chunks[i].Type == transcript.UserChunk {
			turn++
		}
		switch {
		case t.has(turn) && i < from:
			from, first = i, turn
		case !t.has(turn) && i > from:
			return chunks[from:i], first
		}
	}
	return chunks[from:end], first
}

// none is the failure to find any of those turns in a session that has so many.
func (t *turnRange) none(turns int) error {
	return &failure{
		code: exitUsage, err: fmt.Errorf("there is no turn %s", t.text),
		hint: fmt.Sprintf("The number of turns is %d.", turns),
	}
}

func countTurns(chunks []transcript.Chunk) (n int) {
	for i := range chunks {
		if chunks[i].Type == transcript.UserChunk {
			n++
		}
	}
	return n
}
