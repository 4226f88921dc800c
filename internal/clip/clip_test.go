package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/clip"
)

func TestBytes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""}, {"", 5, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"abc", -1, ""},
		{"aé", 2, "a"}, {"aé", 3, "aé"}, {"é", 1, ""}, {"é", 0, ""},
		{"世界", 3, "世"}, {"世界", 4, "世"}, {"世界", 5, "世"}, {"世界", 6, "世界"}, {"世界", 2, ""},
		{"a😀b", 1, "a"}, {"a😀b", 2, "a"}, {"a😀b", 3, "a"}, {"a😀b", 4, "a"}, {"a😀b", 5, "a😀"}, {"😀", 3, ""},
		{strings.Repeat("\x80", 9), 6, strings.Repeat("\x80", 6)},
	} {
		if got := clip.Bytes(test.text, test.n); got != test.want {
			t.Errorf("Bytes(%q, %d): got %q, want %q", test.text, test.n, got, test.want)
		}
		if got := string(clip.Bytes([]byte(test.text), test.n)); got != test.want {
			t.Errorf("Bytes of bytes (%q, %d): got %q, want %q", test.text, test.n, got, test.want)
		}
		want := test.want
		if want != test.text {
			want += "…"
		}
		if got := clip.Marked(test.text, test.n); got != want {
			t.Errorf("Marked(%q, %d): got %q, want %q", test.text, test.n, got, want)
		}
	}
}

func TestRunes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"a世b", 3, "a世b"}, {"a世bc", 3, "a世…"}, {"a \tbc", 4, "a…"}, {"ab", 1, "…"}, {" ab", 2, "…"},
	} {
		if got := clip.Runes(test.text, test.n); got != test.want {
			t.Errorf("Runes(%q, %d): got %q, want %q", test.text, test.n, got, test.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := clip.Words(" a\tb\n\nc d ", 5); got != "a b…" {
		t.Errorf("got %q", got)
	}
	if got := clip.Words(" a\tb\n", 3); got != "a b" {
		t.Errorf("got %q", got)
	}
}

// The start of valid text is valid, and as long as it can be.
func FuzzBytes(f *testing.F) {
	f.Add("a😀b世", 3)
	f.Fuzz(func(t *testing.T, text string, n int) {
		got := clip.Bytes(text, n)
		if !strings.HasPrefix(text, got) || len(got) > max(n, 0) {
			t.Fatalf("Bytes(%q, %d) = %q", text, n, got)
		}
		if !utf8.ValidString(text) {
			return
		}
		if !utf8.ValidString(got) {
			t.Errorf("Bytes(%q, %d) = %q", text, n, got)
		}
		if _, size := utf8.DecodeRuneInString(text[len(got):]); got != text && len(got)+size <= n {
			t.Errorf("Bytes(%q, %d) = %q, which is too short", text, n, got)
		}
	})
}
