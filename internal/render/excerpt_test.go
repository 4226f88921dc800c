package render

import "testing"

// An excerpt has no marks of Markdown, and all else: where it begins or a match ends, no line starts.
func TestExcerptOfMarkdown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, want string
		match      [2]int
		begins     bool
	}{
		{"C# is", "[C]# is", [2]int{0, 1}, true},
		{"use C# for it", "use [C]# for it", [2]int{4, 5}, true},
		{"# is a language", "…# [is] a language", [2]int{2, 4}, false},
		{"# Title and text", "[Title] and text", [2]int{2, 7}, true},
		{"text\n## Title **of** it", "text [Title of] it", [2]int{8, 20}, true},
		{"**bold** text", "…[bold] text", [2]int{2, 6}, false},
		{"text\n```go\nx := 1\n```\n", "text [go] x := 1 ", [2]int{8, 10}, true},
		{"text\n```go\nx := 1\n```\n", "text [x] := 1 ", [2]int{11, 12}, true},
	} {
		e := &Excerpt{Text: test.text, Matches: [][2]int{test.match}, Begins: test.begins, Ends: true, Markdown: true}
		plain := e.Plain()
		m := plain.Matches[0]
		got := (&Excerpt{Text: plain.Text[:m[0]] + "[" + plain.Text[m[0]:m[1]] + "]" + plain.Text[m[1]:], Begins: test.begins, Ends: true}).Line(80, false)
		if got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}
