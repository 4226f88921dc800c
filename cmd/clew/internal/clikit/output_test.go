package clikit

import (
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", `says "hi" – naïve 日本`, `says "hi" – naïve 日本`},
		{"escape sequence", "\x1b[2J\x1b]0;title\a", `\x1b[2J\x1b]0;title\a`},
		{"line breaks", "a\r\nb\tc\u2028d", `a\r\nb\tc\u2028d`},
		{"controls beyond ASCII", "\u009b31m\x7f", `\u009b31m\x7f`},
		{"text direction", "\u202eevil", `\u202eevil`},
		{"not UTF-8", "\xff\xfe", `\xff\xfe`},
		{"backslash before a quote", `\"`, `\"`},
		{"path of Windows", `C:\users\new`, `C:\users\new`},
		{"an escape that was typed", `\x1b[2J`, `\x1b[2J`},
		{"emoji of several parts", "⚠\ufe0f 👩\u200d💻", "⚠\ufe0f 👩\u200d💻"},
		{"a joiner between letters", "a\u200db", `a\u200db`},
		{"an unusual space", "a\u3000b", `a\u3000b`},
		{"a typed escape beside a real one", "\\x1b\x1b", `\\x1b\x1b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Printable(tt.in); got != tt.want {
				t.Errorf("printable(%q) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

func TestWordsWrapped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		begun   int
		columns int
		want    string
	}{
		{"no project matches shop", 10, 80, "no project matches shop"},
		{"no project matches shop", 10, 20, "no project\nmatches shop"},
		{"cannot write /a/long/path/of/a/file.html: why", 0, 12, "cannot write\n/a/long/path/of/a/file.html:\nwhy"},
		{"Give one of them:\n  /home/dev/api\n  /srv/api", 5, 12, "Give\none of them:\n  /home/dev/api\n  /srv/api"},
		{"日本 日本", 0, 8, "日本\n日本"},
		{"", 4, 8, ""},
		{"skipped lines", 12, 13, "\nskipped lines"},
	}
	for _, tt := range tests {
		if got := WordsWrapped(tt.text, tt.begun, tt.columns); got != tt.want {
			t.Errorf("wordsWrapped(%q, %d, %d) = %q, want %q", tt.text, tt.begun, tt.columns, got, tt.want)
		}
	}
}

func TestClip(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"short", "short", "short"},
		{"just fits", strings.Repeat("a", MaxText), strings.Repeat("a", MaxText)},
		{"long", strings.Repeat("a", MaxText+1), strings.Repeat("a", MaxText) + "…"},
		{"whole characters", strings.Repeat("a", MaxText-1) + "ßß", strings.Repeat("a", MaxText-1) + "…"},
		{"not UTF-8", strings.Repeat("\x80", 2*MaxText), strings.Repeat("\x80", MaxText) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Clip(tt.in); got != tt.want {
				t.Errorf("clip = %q, want %q", got, tt.want)
			}
		})
	}
}
