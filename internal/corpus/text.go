package corpus

import (
	"encoding/base64"
	"fmt"
	"strings"
)

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

// gap is what stands between two words.
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

// log makes about n bytes of what a test run prints, colours included.
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
