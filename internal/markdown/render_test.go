package markdown

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files again")

// readable returns lines with visible escapes.
func readable(lines []string) string {
	return strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b", "␛") + "\n"
}

func TestRenderAnswer(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 200} {
		for _, color := range []bool{false, true} {
			name := fmt.Sprintf("answer-%d.txt", width)
			if color {
				name = fmt.Sprintf("answer-%d-color.txt", width)
			}
			path := filepath.Join("testdata", name)
			got := readable(Render(answer(t), Options{Width: width, Color: color, Links: color}))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		opts       Options
		want       string
	}{
		{"nothing", "", Options{}, ""},
		{"no width", strings.Repeat("word ", 100), Options{}, strings.TrimSpace(strings.Repeat("word ", 100))},
		{"words", "one two three", Options{Width: 8}, "one two\nthree"},
		{"long word", "a abcdefgh b", Options{Width: 4}, "a\nabcd\nefgh\nb"},
		{"soft and hard breaks", "a\nb  \nc\\\nd", Options{Width: 80}, "a b\nc\nd"},
		{"wide letters", "ab日本語、漢字", Options{Width: 6}, "ab日本\n語、漢\n字"},
		{"wide letters in one column", "日本", Options{Width: 1}, "…\n…"},
		{"joined emoji", "aaaa 👩‍👩‍👧", Options{Width: 6}, "aaaa\n👩‍👩‍👧"},
		{"entities are text", "&#27;[31m &lt;b&gt; &amp;amp; \\&amp; &nope; &", Options{}, `\x1b[31m <b> &amp; &amp; &nope; &`},
		{"escapes", "a\x1b[31mb\x07", Options{Color: true}, `a\x1b[31mb\a`},
		{"code keeps spaces", "`a  b`  c", Options{}, "`a  b` c"},
		{"code with a quote", "``a`b``", Options{}, "``a`b``"},
		{"colors", "**a *b*** ~~c~~ `d`", Options{Color: true}, "␛[1ma ␛[0m␛[1;3mb␛[0m ␛[9mc␛[0m ␛[36md␛[0m"},
		{"struck without colors", "a ~~b **c** d~~ e", Options{}, "a ~~b c d~~ e"},
		{"headings", "# A\n## B\n### C `d`", Options{}, "# A\n\n## B\n\n### C `d`"},
		{"colored headings", "# A\n## B\n#### C", Options{Color: true}, "␛[1;4mA␛[0m\n\n␛[1mB␛[0m\n\n␛[1;3mC␛[0m"},
		{"hanging indent", "- one two three\n  - four five six", Options{Width: 16}, "- one two three\n  - four five\n    six"},
		{"numbers", "8. a\n9. b\n10. c", Options{}, " 8. a\n 9. b\n10. c"},
		{"loose list", "- a\n\n- b\n\n  c", Options{}, "- a\n\n- b\n\n  c"},
		{"empty items", "-\n- a\n-", Options{}, "-\n- a\n-"},
		{"tasks", "- [x] a\n- [ ] b", Options{}, "- [x] a\n- [ ] b"},
		{"narrow list", "- one two\n  1. three", Options{Width: 7}, "- one\ntwo\n1.\nthree"},
		{"quote", "> a\n>\n> b", Options{}, "│ a\n│\n│ b"},
		{"rule", "***", Options{Width: 5}, "─────"},
		{"code is not wrapped", "```\none two three\n\n\tfour  \n```", Options{Width: 4}, "  one two three\n\n      four  "},
		{"indented code", "    a b c\n      d", Options{Width: 3}, "  a b c\n    d"},
		{"fence without an end", "```go\nx := 1", Options{Color: true}, "  x := ␛[33m1␛[0m"},
		{"a comment over several lines", "```c\n/* a\n\nb */ int\n```", Options{Color: true}, "  ␛[2m/* a␛[0m\n\n  ␛[2mb */␛[0m ␛[35mint␛[0m"},
		{"a diff", "```diff\n@@ 1\n-a\n+b\n```", Options{Color: true}, "  ␛[2m@@ 1␛[0m\n  ␛[31m-a␛[0m\n  ␛[32m+b␛[0m"},
		{"HTML", "<div>\n*a*\n</div>\n\n<!-- b\n\nc -->", Options{}, "<div>\n*a*\n</div>\n\n<!-- b\n\nc -->"},
		{"tags", "a<br>b <b>c</b>", Options{}, "a\nb <b>c</b>"},
		{"definitions are text", "[a][b]\n\n[b]: https://c.example\n[d]: https://e.example", Options{},
			"[a][b]\n\n[b]: https://c.example\n[d]: https://e.example"},
		{"picture", "![a](b.png) ![](c.png)", Options{}, "picture: a (b.png) picture: c.png (c.png)"},
		{"carriage returns", "# a\r\n\r\n```\r\nb\r\n```\r\n", Options{}, "# a\n\n  b"},
		{"too complex", strings.Repeat("> ", 50) + "a b", Options{Width: 40}, strings.Repeat("> ", 19) + ">\n" + strings.Repeat("> ", 19) +
			">\n" + strings.Repeat("> ", 10) + "a b"},
	} {
		got := strings.TrimSuffix(readable(Render(test.text, test.opts)), "\n")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestRenderTable(t *testing.T) {
	t.Parallel()
	table := "| name | what it does | n |\n|---|:-:|--:|\n| `a` | one two three | 1 |\n| b | | 22 |\n"
	for width, want := range map[int]string{
		0: `
┌──────┬───────────────┬────┐
│ name │ what it does  │  n │
├──────┼───────────────┼────┤
│ ` + "`a`" + `  │ one two three │  1 │
│ b    │               │ 22 │
└──────┴───────────────┴────┘`,
		23: `
┌──────┬─────────┬────┐
│ name │ what it │  n │
│      │  does   │    │
├──────┼─────────┼────┤
│ ` + "`a`" + `  │ one two │  1 │
│      │  three  │    │
├──────┼─────────┼────┤
│ b    │         │ 22 │
└──────┴─────────┴────┘`,
		18: `
- name: ` + "`a`" + `
  what it does:
  one two three
  n: 1
- name: b
  n: 22`,
	} {
		got := strings.TrimSuffix(readable(Render(table, Options{Width: width})), "\n")
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
}

// Targets are shown where the terminal can't open them, and where a text could hide them.
func TestRenderLink(t *testing.T) {
	t.Parallel()
	opened := func(text, target string) string { return "␛]8;;" + target + "␛\\" + text + "␛]8;;␛\\" }
	for _, test := range []struct{ text, want, withLinks string }{
		{"[a](https://b.example/c)", "a (https://b.example/c)", opened("a", "https://b.example/c")},
		{"[a *b*](http://c.example)", "a b (http://c.example)", opened("a b", "http://c.example")},
		{"<https://b.example>", "https://b.example", opened("https://b.example", "https://b.example")},
		{"www.b.example", "www.b.example", opened("www.b.example", "http://www.b.example")},
		{"x@b.example", "x@b.example", "x@b.example"},
		{"[a](b/c.md)", "a (b/c.md)", "a (b/c.md)"},
		{"[a](javascript:b)", "a (javascript:b)", "a (javascript:b)"},
		{"[a](file:///etc/passwd)", "a (file:///etc/passwd)", "a (file:///etc/passwd)"},
		{"[a](https://good.example@bad.example)", "a (https://good.example@bad.example)", "a (https://good.example@bad.example)"},
		{
			"[https://good.example](https://bad.example)", "https://good.example (https://bad.example)",
			opened("https://good.example", "https://bad.example") + " (https://bad.example)",
		},
		{"[a](https://b.example/ü)", "a (https://b.example/ü)", opened("a", "https://b.example/%C3%BC")},
		{"[a](https://b.example/&#27;]8;;c)", `a (https://b.example/\x1b]8;;c)`, `a (https://b.example/\x1b]8;;c)`},
		{"[](https://b.example)", "https://b.example", opened("https://b.example", "https://b.example")},
		{"[a]()", "a", "a"},
	} {
		got := strings.TrimSuffix(readable(Render(test.text, Options{})), "\n")
		withLinks := strings.TrimSuffix(readable(Render(test.text, Options{Links: true})), "\n")
		if got != test.want || withLinks != test.withLinks {
			t.Errorf("%s:\n got %s\nwant %s\n got %s\nwant %s", test.text, got, test.want, withLinks, test.withLinks)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	text := answer(b) // of 2.4 KB
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Render(text, Options{Width: 80, Color: true, Links: true})
	}
}
