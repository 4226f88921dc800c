package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/cmd/clew/internal/pty"
	"github.com/clewdev/clew/cmd/clew/internal/termtest"
	"github.com/clewdev/clew/internal/tty"
)

// A frame is the content of the screen from a time on.
type frame struct {
	at    time.Duration
	lines [][]termtest.Cell
}

const (
	quantum  = 120 * time.Millisecond // at most one frame is taken in this time
	longest  = 3 * time.Second        // a longer pause is shortened to this
	lastHold = 5 * time.Second        // how long the last frame is shown
)

// framesOf returns the frames of a recording, from the first command on the screen on.
func framesOf(pieces []piece) ([]frame, error) {
	pieces = withoutPauses(pieces)
	t := termtest.New(columns, rows)
	var frames []frame
	for i, p := range pieces {
		_, _ = t.WriteString(p.text) // it does not fail
		if unknown := t.Unknown(); len(unknown) > 0 {
			return nil, fmt.Errorf("unknown escape sequences: %q", unknown)
		}
		if i+1 < len(pieces) && pieces[i+1].at/quantum == p.at/quantum {
			continue
		}
		frames = append(frames, frame{p.at, t.Cells()})
	}
	frames = frames[max(firstWith(frames, "$ "), 0):]
	first := frames[0].at
	for i := range frames {
		frames[i].at -= first
	}
	return frames, nil
}

// withoutPauses shortens the pauses that are too long.
func withoutPauses(pieces []piece) []piece {
	pieces = slices.Clone(pieces)
	var cut, before time.Duration
	for i := range pieces {
		at := pieces[i].at
		cut += max(at-before-longest, 0)
		pieces[i].at, before = at-cut, at
	}
	return pieces
}

// firstWith returns the index of the first frame that has a line with this beginning, or -1.
func firstWith(frames []frame, beginning string) int {
	return slices.IndexFunc(frames, func(f frame) bool {
		return slices.ContainsFunc(f.lines, func(line []termtest.Cell) bool { return strings.HasPrefix(text(line), beginning) })
	})
}

// text returns a line without its styles.
func text(line []termtest.Cell) string {
	var b strings.Builder
	for _, c := range line {
		b.WriteString(c.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

// poster returns the index of the frame to show without animation: the one with the question, or
// the last.
func poster(frames []frame) int {
	if i := firstWith(frames, "Allow it?"); i >= 0 {
		return i
	}
	return len(frames) - 1
}

// Sizes of the picture, in pixels.
const (
	charWidth  = 8.4
	lineHeight = 18
	margin     = 16
	headHeight = 34
	fontSize   = 14
	width      = columns*charWidth + 2*margin
	height     = rows*lineHeight + headHeight + margin
)

// styleSheet defines the styles, by class.
const styleSheet = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;` +
	`fill:#d6deeb;white-space:pre}.b{font-weight:700}.d{opacity:.6}.i{font-style:italic}.u{text-decoration:underline}.r{font-weight:700;text-decoration:underline}` +
	`.c31,.c91{fill:#ff6b6b}.c32,.c92{fill:#7bd88f}.c33,.c93{fill:#ffd866}.c34,.c94{fill:#82aaff}` +
	`.c35,.c95{fill:#c792ea}.c36,.c96{fill:#5fd7d7}.c30,.c90{fill:#7f8c98}` +
	`.s{opacity:0}.p{opacity:1}` +
	`@media (prefers-reduced-motion:reduce){.s{animation:none!important}}`

// A span is the time in which lines are visible: from one frame up to, but not including, another.
type span struct{ from, to int }

// drawFrames returns the frames as an animated SVG picture. Lines that are visible at the same time
// are one group, which an animation shows and hides. Viewers without animations show the poster.
func drawFrames(frames []frame) string {
	groups := map[span]string{}
	for row := range rows {
		begin := 0
		for i := 1; i <= len(frames); i++ {
			if i < len(frames) && slices.Equal(frames[i].lines[row], frames[begin].lines[row]) {
				continue
			}
			groups[span{begin, i}] += drawLine(frames[begin].lines[row], row)
			begin = i
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %d" width="%g" height="%d" role="img">`+
		"\n<title>clew demo</title>\n<style>%s", width, height, width, height, styleSheet)
	spans := sortedSpans(groups)
	total := frames[len(frames)-1].at + lastHold
	percent := func(i int) float64 { return 100 * frames[i].at.Seconds() / total.Seconds() }
	for n, s := range spans {
		fmt.Fprintf(&b, "\n#g%d{animation:k%d %.1fs step-end infinite}@keyframes k%d{", n, n, total.Seconds(), n)
		if s.from > 0 {
			fmt.Fprintf(&b, "0%%{opacity:0}")
		}
		fmt.Fprintf(&b, "%.2f%%{opacity:1}", percent(s.from))
		if s.to < len(frames) {
			fmt.Fprintf(&b, "%.2f%%{opacity:0}", percent(s.to))
		}
		b.WriteString("}")
	}
	fmt.Fprintf(&b, "</style>\n"+`<rect width="%g" height="%d" rx="10" fill="#011627"/>`+"\n", width, height)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="18" r="6" fill="%s"/>`, 20+20*i, color)
	}
	seen := poster(frames)
	for n, s := range spans {
		class := "s"
		if s.from <= seen && seen < s.to {
			class = "s p"
		}
		fmt.Fprintf(&b, "\n"+`<g id="g%d" class="%s">%s</g>`, n, class, groups[s])
	}
	b.WriteString("\n</svg>\n")
	return b.String()
}

// sortedSpans returns the spans that have visible lines, in the order of time.
func sortedSpans(groups map[span]string) []span {
	var spans []span
	for s, drawn := range groups {
		if drawn != "" {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
	return spans
}

// drawLine returns a line as SVG, with one element for each run of characters of the same style. It
// returns "" for a blank line.
func drawLine(line []termtest.Cell, row int) string {
	length := tty.Width(text(line))
	if length == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%.1f" xml:space="preserve">`,
		margin, headHeight+fontSize+row*lineHeight, float64(length)*charWidth)
	for begin := 0; begin < length; {
		end := begin + 1
		for end < length && line[end].Style == line[begin].Style {
			end++
		}
		b.WriteString(drawPiece(line[begin:end]))
		begin = end
	}
	return b.String() + "</text>"
}

func drawPiece(cells []termtest.Cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.Text)
	}
	shown := html.EscapeString(b.String())
	style := cells[0].Style
	var classes []string
	for _, c := range []struct {
		on   bool
		name string
	}{
		{style.Bold, "b"}, {style.Dim, "d"}, {style.Italic, "i"}, {style.Inverse, "r"}, {style.Underline, "u"},
		{style.Foreground != "", "c" + style.Foreground},
	} {
		if c.on {
			classes = append(classes, c.name)
		}
	}
	if len(classes) == 0 {
		return shown
	}
	return `<tspan class="` + strings.Join(classes, " ") + `">` + shown + "</tspan>"
}

// The terminal that the demo is recorded on.
const (
	columns, rows = 100, 30
	terminalBytes = 300_000
)

// A piece is output of the program, with the time when it was written.
type piece struct {
	at   time.Duration
	text string
}

// drawTerminal records the demo and makes a picture of it.
func drawTerminal(ctx context.Context, clew, tour string) error {
	pieces, err := recordDemo(ctx, clew, tour)
	if err != nil {
		return err
	}
	frames, err := framesOf(pieces)
	if err != nil {
		return err
	}
	if firstWith(frames, " Fix the flaky upload test ·") < 0 {
		return errors.New("the film does not show a session in the viewer")
	}
	return save(terminalFile, []byte(drawFrames(frames)), terminalBytes)
}

// recordDemo runs the demo on a terminal and answers its question as a user would.
func recordDemo(ctx context.Context, clew, tour string) ([]piece, error) {
	master, slave, err := pty.Open(columns, rows)
	if err != nil {
		return nil, fmt.Errorf("a recording needs a pseudo-terminal: %w", err)
	}
	defer func() { _ = master.Close() }() // everything has been read
	cmd := exec.CommandContext(ctx, clew, "demo", "--dir", tour)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "TZ=UTC", "LC_ALL=C.UTF-8")
	began := time.Now()
	err = cmd.Start()
	if closeErr := slave.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	pieces := watch(master, tour, began)
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("clew demo: %w", err)
	}
	if len(pieces) == 0 {
		return nil, errors.New("clew demo wrote nothing")
	}
	return pieces, nil
}

// A cue has the keys that the user presses some time after a text has appeared.
type cue struct {
	text  string
	after time.Duration
	keys  string
}

// cues are the acts of the user in the film: answer the question, and look around in the viewer.
var cues = []cue{
	{"Allow it?", thinkingTime, "y\n"},
	{"\x1b[?1049h", thinkingTime, "j"},
	{"", 800 * time.Millisecond, "\r"},
	{"", thinkingTime, "g"},
	{"", 800 * time.Millisecond, "}"},
	{"", 800 * time.Millisecond, "\t"},
	{"", thinkingTime, "j"},
	{"", 400 * time.Millisecond, "j"},
	{"", 800 * time.Millisecond, "\t"},
	{"", thinkingTime, "\x03"},
}

// watch returns the output of the program until it ends, and follows the cues.
func watch(master io.ReadWriter, tour string, began time.Time) []piece {
	var pieces []piece
	var all, rest []byte // all output, and the last bytes that are not a whole character yet
	next := 0
	for buf := make([]byte, 64<<10); ; {
		n, err := master.Read(buf)
		if err != nil {
			return pieces // the program has ended
		}
		all, rest = append(all, buf[:n]...), append(rest, buf[:n]...)
		whole := wholeCharacters(rest)
		text := strings.ReplaceAll(string(rest[:whole]), tour, "/tmp/tour")
		pieces, rest = append(pieces, piece{time.Since(began), text}), rest[whole:]
		if next < len(cues) && bytes.Contains(all, []byte(cues[next].text)) {
			last := next + 1
			for last < len(cues) && cues[last].text == "" {
				last++
			}
			go act(master, cues[next:last])
			next = last
		}
	}
}

// act types what some cues say, one after the other.
func act(terminal io.Writer, list []cue) {
	for _, c := range list {
		time.Sleep(c.after)
		_, _ = io.WriteString(terminal, c.keys) // without it the program waits forever
	}
}

// wholeCharacters returns the length of text without a character that is incomplete at its end.
func wholeCharacters(text []byte) int {
	for i := len(text) - 1; i >= max(len(text)-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRune(text[i:]) {
				return len(text)
			}
			return i
		}
	}
	return len(text)
}

// thinkingTime is the time that a user thinks about a question.
const thinkingTime = 2500 * time.Millisecond
