// Package corpus makes the inputs of the benchmarks: streams of frames as CLI
// 2.1.325 writes them with partial messages on. The same seed and size always
// give the same bytes, so figures from two machines are about the same input.
// Nothing in it comes from a real conversation.
package corpus

import (
	"io"
	"math/rand/v2"
	"time"
)

// DefaultSize is the size in bytes of the stream behind the published figures.
const DefaultSize = 30 << 20

// Stream writes about size bytes of frames to w, one object per line. It ends
// with a whole turn, so it writes up to a few hundred kilobytes more than size.
// Nine in ten lines are stream events, and about 40 of 100 bytes belong to
// tool results.
func Stream(w io.Writer, seed uint64, size int) error {
	g := newGenerator(w, seed)
	for g.err == nil && g.written < size {
		g.startSession()
		for range g.between(1, 3) {
			if g.written >= size {
				break
			}
			g.turn()
		}
	}
	return g.err
}

// Huge writes one assistant frame of about size bytes on a single line. Nearly
// all of it is one text block of source code, rich in escapes.
func Huge(w io.Writer, seed uint64, size int) error {
	g := newGenerator(w, seed)
	g.identify()
	text := g.code(size * 100 / 113)
	g.put(g.assistant(object{"type", "text", "text", text}))
	return g.err
}

// HugeListing writes one assistant frame of about size bytes on a single line.
// Nearly all of it is a tool input holding a list of short strings: indenting
// the frame spreads it over about size/40 lines.
func HugeListing(w io.Writer, seed uint64, size int) error {
	g := newGenerator(w, seed)
	g.identify()
	var lines []string
	for total := 0; total < size; {
		line := g.codeLine()
		lines = append(lines, line)
		total += len(line) + 7
	}
	input := object{"file_path", g.path(), "lines", lines}
	g.put(g.assistant(object{"type", "tool_use", "id", g.id("toolu_01"), "name", "Write", "input", input}))
	return g.err
}

// A generator writes frames and keeps what they have in common. The first
// failed write stops it.
type generator struct {
	w       io.Writer
	rng     *rand.Rand
	line    []byte
	written int
	err     error

	session string
	cwd     string
	model   string
	message string // ID of the API message in progress
	now     time.Time
	results int   // results written in this session
	agent   agent // the subagent whose frames are being written, if any
}

func newGenerator(w io.Writer, seed uint64) *generator {
	return &generator{
		w:   w,
		rng: rand.New(rand.NewPCG(seed, 0x636c6577)),
		now: time.Date(2026, time.November, 1, 8, 0, 0, 0, time.UTC),
	}
}

func (g *generator) put(frame object) {
	if g.err != nil {
		return
	}
	g.line = append(frame.append(g.line[:0]), '\n')
	n, err := g.w.Write(g.line)
	g.written += n
	g.err = err
}

// identify gives the generator a new session.
func (g *generator) identify() {
	g.session = g.uuid()
	g.cwd = "/home/dev/" + g.word() + "-" + g.word()
	g.model = pick(g, models)
	g.message = g.id("msg_01")
	g.results = 0
}
