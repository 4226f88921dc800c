// Package corpus makes the inputs of the benchmarks, streams of frames as CLI 2.1.325 writes them
// with partial messages on. The same seed and size always give the same bytes, so figures from two
// machines are about the same input. Nothing in it comes from a real conversation.
package corpus

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// DefaultSize is the size in bytes of the stream that the published figures were measured with.
const DefaultSize = 30 << 20

// Stream writes about size bytes of frames to w, one object per line. It ends with a whole turn, so
// it writes up to a few hundred kilobytes more than size. Nine in ten lines are stream events, and
// about 40 of 100 bytes belong to tool results.
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

// Huge writes one assistant frame of about size bytes on a single line. Nearly all of it is one
// text block of source code, rich in escapes.
func Huge(w io.Writer, seed uint64, size int) error {
	g := newGenerator(w, seed)
	g.identify()
	text := g.code(size * 100 / 113)
	g.put(g.assistant(object{"type", "text", "text", text}))
	return g.err
}

// HugeListing writes one assistant frame of about size bytes on a single line. Nearly all of it is
// a tool input holding a list of short strings: indenting the frame spreads it over about size/40
// lines.
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

// A generator writes frames and keeps what they have in common. The first failed write stops it.
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

// An object is a JSON object as alternating names and values, in the order in which they are
// written.
type object []any

// append writes o in the form of JSON.stringify: no spaces, names in order, only those characters
// escaped that must be.
func (o object) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i := 0; i < len(o); i += 2 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, o[i].(string))
		dst = append(dst, ':')
		dst = appendValue(dst, o[i+1])
	}
	return append(dst, '}')
}

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return appendString(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case float64:
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	case bool:
		return strconv.AppendBool(dst, v)
	case object:
		return v.append(dst)
	case []object:
		return appendList(dst, v)
	case []string:
		return appendList(dst, v)
	}
	panic(fmt.Sprintf("corpus: no JSON form for %T", v))
}

func appendList[T any](dst []byte, list []T) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendValue(dst, v)
	}
	return append(dst, ']')
}

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		dst = appendRune(dst, r)
	}
	return append(dst, '"')
}

func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, `\n`...)
	case '\t':
		return append(dst, `\t`...)
	case '\r':
		return append(dst, `\r`...)
	}
	if r < 0x20 {
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	return utf8.AppendRune(dst, r)
}

var vocabulary = strings.Fields(`
	account adapter after already append around array before branch build cache call cancel change check client
	close column commit compare config connect copy count create cursor deadline default delete detail drain each
	either encode entry every expect field final first flush folder handle header however index inside invoice item
	keep later layout ledger limit line list local lock match merge metric missing module never number offset only
	order output owner parse patch path pending plan point policy price probe process queue quota rather reader
	record refund release remove render replay report reset retry route schema search select sender shape since
	size slice sort source stage start state store stream table target tenant ticket token total trace under unit
	until update value vendor verify version watch where which while window worker write`)

var models = []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5"}

// foreign holds what is not ASCII in an English conversation.
var foreign = []string{"→", "—", "…", "✓", "é", "ü", "“so”", "日本語", "🚀", "≤"}

func pick[T any](g *generator, list []T) T { return list[g.rng.IntN(len(list))] }

func (g *generator) word() string { return pick(g, vocabulary) }

func (g *generator) between(low, high int) int { return low + g.rng.IntN(high-low+1) }

// oneIn is true once in n calls on average.
func (g *generator) oneIn(n int) bool { return g.rng.IntN(n) == 0 }

func (g *generator) uuid() string {
	a, b := g.rng.Uint64(), g.rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x",
		a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff)
}

const alphanumeric = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// id makes an API identifier: the prefix and 22 characters.
func (g *generator) id(prefix string) string {
	b := []byte(prefix)
	for range 22 {
		b = append(b, alphanumeric[g.rng.IntN(len(alphanumeric))])
	}
	return string(b)
}

func (g *generator) path() string {
	return g.cwd + "/internal/" + g.word() + "/" + g.word() + "_" + g.word() + ".go"
}

// base64 encodes n random bytes.
func (g *generator) base64(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.rng.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}

// prose makes Markdown of about n bytes.
func (g *generator) prose(n int) string {
	var b strings.Builder
	b.Grow(n + 16)
	for b.Len() < n {
		b.WriteString(g.word())
		b.WriteString(g.gap())
	}
	return b.String()
}

// gap returns the text between two words.
func (g *generator) gap() string {
	switch k := g.rng.IntN(96); {
	case k < 5:
		return ".\n\n"
	case k < 8:
		return ":\n- "
	case k < 12:
		return ", "
	case k < 15:
		return " `" + g.word() + "` "
	case k < 21:
		return ` "` + g.word() + `" `
	case k == 21:
		return " " + pick(g, foreign) + " "
	}
	return " "
}

// code makes source text of about n bytes, indented with tabs.
func (g *generator) code(n int) string {
	var b strings.Builder
	b.Grow(n + 80)
	for b.Len() < n {
		b.WriteString(g.codeLine())
		b.WriteByte('\n')
	}
	return b.String()
}

// numbered puts a line number before each line, as the Read tool does.
func numbered(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/4)
	n := 0
	for line := range strings.Lines(text) {
		n++
		fmt.Fprintf(&b, "%6d\t%s", n, line)
	}
	return b.String()
}

const indentation = "\t\t\t\t\t\t\t"

func (g *generator) codeLine() string {
	indent := indentation[:g.rng.IntN(len(indentation)+1)]
	a, b, c := g.word(), g.word(), g.word()
	switch g.rng.IntN(11) {
	case 0:
		return fmt.Sprintf("func (%s *%s) %s(ctx context.Context, %s string) error {", a[:1], title(a), title(b), c)
	case 1:
		return fmt.Sprintf("%sif %s.%s < %d && %s != nil {", indent, a, title(b), g.rng.IntN(4096), c)
	case 2:
		return fmt.Sprintf("%sreturn fmt.Errorf(\"%s %s: %%w\", err)", indent, a, b)
	case 3:
		return fmt.Sprintf("%s%s, err := %s.%s(ctx, %q)", indent, a, b, title(c), a)
	case 4:
		return fmt.Sprintf("%s// %s %s %s %s %s.", indent, title(a), b, c, g.word(), pick(g, foreign))
	case 5:
		return indent + "}"
	case 6:
		return fmt.Sprintf("%s{%q, %d, %q},", indent, a, g.rng.IntN(100), b)
	case 7:
		return fmt.Sprintf("%slog.Printf(\"%s=%%d\\t%%s\\n\", %s, %s)", indent, a, a, b)
	case 8:
		return fmt.Sprintf("\t%s %s `json:\"%s_%s\"`", title(a), "string", a, c)
	case 9:
		return fmt.Sprintf("%sfor i, %s := range %s[%d:] {", indent, a, b, g.rng.IntN(9))
	}
	return fmt.Sprintf("%s<li class=\"%s\">{%s}</li>", indent, a, b)
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// log makes about n bytes of test output, colours included.
func (g *generator) log(n int) string {
	var b strings.Builder
	for b.Len() < n {
		switch {
		case g.oneIn(8):
			fmt.Fprintf(&b, "\x1b[31m--- FAIL: Test%s/%s\x1b[0m (%.2fs)\n", title(g.word()), g.word(), g.rng.Float64())
		case g.oneIn(3):
			fmt.Fprintf(&b, "    %s_test.go:%d: got %q, want %q\n", g.word(), g.rng.IntN(900), g.word(), g.word())
		default:
			fmt.Fprintf(&b, "ok  \texample.com/%s/%s\t%.3fs\n", g.word(), g.word(), g.rng.Float64()*9)
		}
	}
	return b.String()
}
