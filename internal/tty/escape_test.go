package tty_test

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/tty"
)

func TestEscapeLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "plain": "", "plain\x1b[1m": "",
		"\x1b": "\x1b", "\x1b\x1b[1m": "\x1b", "\x1b\n": "\x1b", "\x1bé": "\x1b", "\x1b7rest": "\x1b7", "\x1b\\rest": "\x1b\\",
		"\x1b[0m": "\x1b[0m", "\x1b[1;31mred": "\x1b[1;31m", "\x1b[2Jrest": "\x1b[2J", "\x1b[?25hrest": "\x1b[?25h",
		"\x1b[1;3": "\x1b[1;3", "\x1b[1\nrest": "\x1b[1", "\x1b[1é": "\x1b[1", "\x1b[1\x1b[0m": "\x1b[1",
		"\x1b]8;;https://a\x1b\\link": "\x1b]8;;https://a\x1b\\", "\x1b]0;title\arest": "\x1b]0;title\a", "\x1bPq\x1b\\rest": "\x1bPq\x1b\\",
		"\x1b]8;;https://a": "\x1b]8;;https://a", "\x1b]0;title\nrest": "\x1b]0;title", "\x1b]0;title\x1b[1m": "\x1b]0;title",
	} {
		if got := text[:tty.EscapeLength(text)]; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// An escape has a length, which is at most the length of the text.
func FuzzEscapeLength(f *testing.F) {
	f.Add("\x1b[1;31mred")
	f.Add("\x1b]8;;https://a\x1b\\")
	f.Fuzz(func(t *testing.T, text string) {
		if n := tty.EscapeLength(text); n < 0 || n > len(text) || (n > 0) != strings.HasPrefix(text, "\x1b") {
			t.Errorf("%q: %d", text, n)
		}
	})
}
