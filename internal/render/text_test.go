package render

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/transcript"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\nlines\r\nend": "plain\nlines\nend",
		"a\tb":                "a    b",
		"\x1b[2Jgone":         `\x1b[2Jgone`,
		"\u009b1A":            `\u009b1A`,
		"a\u202eb\u2066":      `a\u202eb\u2066`,
		"a\rb\bc\x00":         `a\rb\bc\x00`,
		"\xff\x05":            `\xff\x05`,
		"no\u00a0break":       "no break",
		"👩\u200d💻 e\u0301 你":  "👩\u200d💻 e\u0301 你",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{"": 0, "abc": 3, "你好": 4, "e\u0301": 1, "👍": 2, "é": 1, "ｆ": 2} {
		if got := Width(line); got != want {
			t.Errorf("Width(%q) = %d, want %d", line, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"你好吗", 6, "你好吗"},
		{"你好吗", 5, "你好…"},
		{"你好吗", 4, "你…"},
		{"abc", 1, "…"},
	} {
		if got := Fit(tt.line, tt.columns); got != tt.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", tt.line, tt.columns, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		columns int
		want    []string
	}{
		{"one two three", 0, []string{"one two three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"你好吗", 4, []string{"你好", "吗"}},
		{"你好", 1, []string{"你", "好"}},
		{"a\n\nb\n", 5, []string{"a", "", "b"}},
		{"    indented text", 12, []string{"    indented", "text"}},
	} {
		if diff := cmp.Diff(tt.want, Wrap(tt.text, tt.columns)); diff != "" {
			t.Errorf("Wrap(%q, %d) (-want +got):\n%s", tt.text, tt.columns, diff)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2J\u202e\xff\r\n\t", 5)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		columns = max(columns%200, 2)
		for _, line := range Wrap(Clean(text), columns) {
			for _, r := range line {
				if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
					t.Fatalf("%q has %U", line, r)
				}
			}
			if Width(line) > columns {
				t.Fatalf("%q is wider than %d", line, columns)
			}
		}
	})
}

// A text in pieces is wrapped like the complete text.
func TestFlow(t *testing.T) {
	t.Parallel()
	texts := []string{
		"One.", "One two three four five six seven.", "A line.\n\nAnother, after an empty one.\n", "\n\nLate.",
		"code:\n    indented and long enough to be broken\n  less", "averyverylongwordthatfitsonnolineatallatall and more",
		"短い文章ですが幅がありますので折り返します。 次の文です。", "a  b   c    d     e      f       g        h",
	}
	words := []string{"a", "bc", "def", "ghij", "klmnopqrs", " ", " ", "\n", "好", "averylongwordofeighteen"}
	seed := rand.New(rand.NewPCG(1, 2)) // the same texts each time
	for range 200 {
		var b strings.Builder
		for range 30 {
			b.WriteString(words[seed.IntN(len(words))] + " ")
		}
		texts = append(texts, "x"+strings.Join(strings.Fields(b.String()), " "))
	}
	for _, text := range texts {
		for _, width := range []int{0, 14, 30} {
			o := Options{Width: width}.in(2)
			want := o.block(plain, text)
			for _, size := range []int{1, 3, 1000} {
				f := &flow{Options: o}
				got := ""
				for runes := []rune(text); len(runes) > 0; {
					n := min(size, len(runes))
					got += f.add(string(runes[:n]))
					runes = runes[n:]
				}
				if got += f.end(); got != want {
					t.Fatalf("%q in %d columns, by %d:\n%q, want\n%q", text, width, size, got, want)
				}
			}
		}
	}
}

// Everything but the end of a piece is written at once.
func TestFlowAtOnce(t *testing.T) {
	t.Parallel()
	f := &flow{Options: Options{Width: 20}}
	if got := f.add("One two thr"); got != "One two" {
		t.Errorf("%q", got)
	}
	if got := f.add("ee. "); got != " three." {
		t.Errorf("%q", got)
	}
	f = &flow{}
	if got := f.add("One two thr"); got != "One two thr" {
		t.Errorf("without a limit: %q", got)
	}
}

func TestReportOfSubagent(t *testing.T) {
	t.Parallel()
	const result = "<tools-used-before-summary>Read</tools-used-before-summary>\n\n[Subagent hand-back]\n  Line 3.\nYes."
	item := transcript.DisplayItem{
		Type: transcript.ItemSubagent, ToolName: "Agent", HasResult: true, ToolResult: result,
		Agents: []*transcript.Agent{{ID: "a1"}},
	}
	chunk := &transcript.Chunk{Type: transcript.AIChunk, Items: []transcript.DisplayItem{item}}
	short := Options{Width: 80}.Chunk(chunk, 1)
	if strings.Contains(short, "hand-back") || !strings.Contains(short, "    Line 3.\n    Yes.\n") {
		t.Errorf("short:\n%s", short)
	}
	if whole := (Options{Width: 80, Expand: true}).Chunk(chunk, 1); !strings.Contains(whole, "[Subagent hand-back]") {
		t.Errorf("expanded:\n%s", whole)
	}
	chunk.Items[0].Agents = nil
	if other := (Options{Width: 80}).Chunk(chunk, 1); !strings.Contains(other, "[Subagent hand-back]") {
		t.Errorf("no subagent:\n%s", other)
	}
}
