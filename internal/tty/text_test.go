package tty

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{"👩\u200d💻 work", 3, "👩…"},
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

func TestJSON(t *testing.T) {
	in := map[string]string{"a": "\u009b31m\x7f\u202e\U000e0001 ß 😀\x1b"}
	line, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got := JSON(append(line, '\n'))
	if want := `{"a":"\u009b31m\u007f\u202e\udb40\udc01 ß 😀\u001b"}` + "\n"; string(got) != want {
		t.Errorf("JSON = %s, want %s", got, want)
	}
	var back map[string]string
	if err := json.Unmarshal(got, &back); err != nil || back["a"] != in["a"] {
		t.Errorf("the line reads %q, %v; want %q", back, err, in)
	}
}
