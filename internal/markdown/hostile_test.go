package markdown

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
)

// ownEscapes are the only escapes that the terminal may get.
var ownEscapes = regexp.MustCompile("\x1b\\[[0-9;]+m|\x1b\\]8;;[!-~]*\x1b\\\\")

// codeMark marks the lines of code in these tests.
const codeMark = "\x00\x00"

// checkLines checks what the terminal gets of a text: lines that fit, and no escapes but ours.
func checkLines(t *testing.T, text string, opts Options) {
	t.Helper()
	s := NewStream(opts)
	s.layout.codeIndent = codeMark
	for _, line := range append(s.Add(text), s.End()...) {
		shown := ownEscapes.ReplaceAllString(line, "")
		isCode := strings.Contains(shown, codeMark)
		shown = strings.Replace(shown, codeMark, "  ", 1)
		if width := tty.Width(shown); opts.Width > 0 && width > opts.Width && !isCode {
			t.Fatalf("%+v: %q of %.300q has %d columns", opts, line, text, width)
		}
		if strings.ContainsFunc(shown, func(r rune) bool { return !tty.IsVisible(r) && r != '\u200d' && r != '\ufe0f' }) {
			t.Fatalf("%+v: %q of %.300q is not clean", opts, line, text)
		}
		if !opts.Color && strings.Contains(line, "\x1b[") || !opts.Links && strings.Contains(line, "\x1b]") {
			t.Fatalf("%+v: %q of %.300q has escapes", opts, line, text)
		}
	}
}

// hostileTexts try to reach the terminal, to overflow its lines or to take forever.
func hostileTexts(t testing.TB) []string {
	t.Helper()
	staircase := ""
	for i := range 18 {
		staircase += strings.Repeat("  ", i) + "- step\n"
	}
	return append(slices.Clone(wholeBlocks),
		answer(t), staircase,
		"\x1b[2J\x1b]0;owned\x07 \x9b31m \u202eowned\u202c \u200bzero\u2060width\ufeff \xff\xfe\x00 \r\rback",
		"&#27;[31m&#x9b;31m&#x202e;&#0;&#8203; `&#27;` [&#27;](https://a.example/&#27;) <https://a.example/\x1b>",
		"[a](https://a.example/\x1b]8;;b) [\x1b]8;;https://b.example\x07](c) ![\x9b](\u202e)",
		"```\x1b[31m\n\x1b[31m code \u202e\t\r x\n\x9b\n```", "    \x1b[31m code\n\tcode\u200b",
		"| \x1b[31m | "+strings.Repeat("long words ", 9)+"|\n|---|---|\n| \u202e | `x\x1by` |\n| 日本語日本語 | 👩‍👩‍👧‍👦👩‍👩‍👧‍👦 |",
		"|a|b|c|d|e|f|g|h|i|j|\n|-|-|-|-|-|-|-|-|-|-|\n|1|2|3|4|5|6|7|8|9|10|\n|", "||\n|-|\n||", "|a|\n|-|",
		strings.Repeat("> ", 38)+"deep quote of words", strings.Repeat("> ", 300)+"deeper", strings.Repeat("- ", 38)+"deep list of words",
		strings.Repeat("1. ", 20)+"```\ncode", "999999999. nine\n999999998. digits", "> - > - > 1. a b c d e f g h",
		"e"+strings.Repeat("\u0301", 200)+" \u0301 👩"+strings.Repeat("\u200d👩", 20)+" 👍🏽👍🏽👍🏽 🇩🇪🇫🇷 1\ufe0f\u20e3 ❤\ufe0f",
		"<div \x1b[31m>\n\u202e long line of HTML "+strings.Repeat("日本", 60)+"\n</div>", "<!-- \x1b[31m\n\n-->",
		strings.Repeat("[", 3000), strings.Repeat("*a **b ", 500), strings.Repeat("`", 500)+" "+strings.Repeat("`` ", 100),
		"# "+strings.Repeat("heading ", 40)+"\x1b[31m", "# 日本語", strings.Repeat("w", 500), "`"+strings.Repeat(" a", 100)+"`",
	)
}

// Lines fit at any width, and have no escapes but ours. One in four texts is laid out at each width.
func TestRenderHostile(t *testing.T) {
	t.Parallel()
	for i, text := range hostileTexts(t) {
		for _, width := range soak.Widths(1) {
			if (i+width)%soak.Size(4, 1) != 0 {
				continue
			}
			checkLines(t, text, Options{Width: width, Color: width%8 < 4, Links: (i+width)%3 == 0})
		}
		checkLines(t, text, Options{})
	}
}

// Long texts are laid out, whatever they are.
func TestRenderLong(t *testing.T) {
	t.Parallel()
	size := soak.Size(MaxText+4<<10, 1<<19)
	for _, part := range []string{"word ", "x", "日", "> ", "- ", "`", "*a ", "[a](", "<!-- ", "|", "\n", "a\n\n", "- a\n", "> a\n", "```\n", "\x1b["} {
		text := strings.Repeat(part, size/len(part))
		for _, width := range []int{0, 80} {
			checkLines(t, text, Options{Width: width, Color: true})
		}
	}
}

func FuzzRender(f *testing.F) {
	for i, text := range hostileTexts(f) {
		f.Add(text, uint8(i*5), i%2 == 0, i%3 == 0) //nolint:gosec // it may overflow
	}
	f.Fuzz(func(t *testing.T, text string, width uint8, color, links bool) {
		checkLines(t, text, Options{Width: int(width), Color: color, Links: links})
	})
}
