package highlight

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// merged returns tokens without the cuts between tokens of one class.
func merged(tokens []Token) []Token {
	var all []Token
	for _, token := range tokens {
		if n := len(all); n > 0 && all[n-1].Class == token.Class {
			all[n-1].Text += token.Text
		} else {
			all = append(all, token)
		}
	}
	return all
}

func byLines(l *Language, code string) []Token {
	s := NewScanner(l)
	var tokens []Token
	for line := range strings.Lines(code) {
		tokens = append(tokens, s.Scan(line)...)
	}
	return tokens
}

func TestScan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, code string
		want       []Token
	}{
		{"go", "x := `a\nb` // c\n", []Token{{"x := ", Plain}, {"`a\nb`", String}, {" ", Plain}, {"// c", Comment}, {"\n", Plain}}},
		{"c", "/* a\n\nb */ f(1", []Token{{"/* a\n\nb */", Comment}, {" ", Plain}, {"f", Call}, {"(", Plain}, {"1", Number}}},
		{"go", "\"a\\\nb\nif", []Token{{"\"a\\\nb", String}, {"\n", Plain}, {"if", Keyword}}},
		{"rust", "'a' '\n';'\\''", []Token{{"'a'", String}, {" '\n", Plain}, {"';'", String}, {"\\''", Plain}}},
		{"diff", "+a\n-b\n c", []Token{{"+a", Added}, {"\n", Plain}, {"-b", Removed}, {"\n c", Plain}}},
		{"html", "<a b=\"c\">", []Token{{"<a", Tag}, {" b=", Plain}, {"\"c\"", String}, {">", Plain}}},
		{"unknown", "if 1", []Token{{"if 1", Plain}}},
		{"go", "", nil},
	} {
		if diff := cmp.Diff(test.want, merged(byLines(Find(test.name), test.code))); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", test.name, test.code, diff)
		}
	}
}

func TestOfFile(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"a/b.go": "go", `C:\x\Y.PY`: "python", "Makefile": "shell", "a.b.tsx": "javascript", "x": ""} {
		if diff := cmp.Diff(Find(want) == nil, OfFile(file) == nil); diff != "" {
			t.Errorf("%s has no language like %s", file, want)
		}
		if l := OfFile(file); l != nil {
			if diff := cmp.Diff(Find(want).keywords, l.keywords); diff != "" {
				t.Errorf("%s is not %s", file, want)
			}
		}
	}
}

// The classes don't depend on whether code comes at once or line by line, and no text is lost.
func FuzzScan(f *testing.F) {
	f.Add("// a\r\n\"b\\\n'c\\' `d` /* e <f> & g\x00 é→\xff ''' \"\"\" <!-- </span> $x 0x1.5e+3")
	f.Add("+a\n-b\n@@\n\n--- c")
	f.Add("it's f'x' 'y \\\n\n'\n'\n\"\"\"a\n\\\"\"\"\"")
	f.Fuzz(func(t *testing.T, code string) {
		for _, name := range Names() {
			whole := merged(NewScanner(Find(name)).Scan(code))
			if diff := cmp.Diff(whole, merged(byLines(Find(name), code))); diff != "" {
				t.Fatalf("%s: %q (-whole +lines):\n%s", name, code, diff)
			}
			text := ""
			for _, token := range whole {
				text += token.Text
			}
			if text != code {
				t.Fatalf("%s: %q became %q", name, code, text)
			}
		}
	})
}

// The changed words of a line are marked if a similar line replaces it.
func TestChanges(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", maxLine/5)
	for _, test := range []struct {
		name string
		hunk []string
		want string
	}{
		{"nothing", nil, ""},
		{"one line", []string{" x", "-a := old + 1", "+a := new + 1"}, "[] [old] [new]"},
		{"the similar line", []string{"-go s.serve(ctx)", "+if err != nil {", "+go s.serve(ctx, 1)"}, "[] [] [, 1]"},
		{"a remark between them", []string{"-a b c", `\ No newline at end of file`, "+a d c"}, "[b] [] [d]"},
		{"lines between them", []string{"-a b c", " x", "+a d c"}, "[] [] []"},
		{"added before removed", []string{"+a b c", "-a d c"}, "[] []"},
		{"empty lines", []string{"", "-", "+", "-"}, "[] [] [] []"},
		{"long lines", []string{"-a " + long, "+b " + long}, "[] []"},
	} {
		var got []string
		for i, parts := range Changes(test.hunk) {
			words := []string{}
			for _, p := range parts {
				words = append(words, test.hunk[i][1:][p[0]:p[1]])
			}
			got = append(got, "["+strings.Join(words, "|")+"]")
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}
