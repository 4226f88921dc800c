package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", `says "hi" – naïve 日本`, `says "hi" – naïve 日本`},
		{"escape sequence", "\x1b[2J\x1b]0;title\a", `\x1b[2J\x1b]0;title\a`},
		{"line breaks", "a\r\nb\tc\u2028d", `a\r\nb\tc\u2028d`},
		{"controls beyond ASCII", "\u009b31m\x7f", `\u009b31m\x7f`},
		{"text direction", "\u202eevil", `\u202eevil`},
		{"not UTF-8", "\xff\xfe", `\xff\xfe`},
		{"backslash before a quote", `\"`, `\\"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := printable(tt.in); got != tt.want {
				t.Errorf("printable(%q) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

func TestClip(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"short", "short", "short"},
		{"just fits", strings.Repeat("a", maxText), strings.Repeat("a", maxText)},
		{"long", strings.Repeat("a", maxText+1), strings.Repeat("a", maxText) + "…"},
		{"whole characters", strings.Repeat("a", maxText-1) + "ßß", strings.Repeat("a", maxText-1) + "…"},
		{"not UTF-8", strings.Repeat("\x80", 2*maxText), strings.Repeat("\x80", maxText-utf8.UTFMax) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := clip(tt.in); got != tt.want {
				t.Errorf("clip = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEscapeLine(t *testing.T) {
	in := map[string]string{"a": "\u009b31m\x7f\u202e\U000e0001 ß 😀\x1b"}
	line, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got := escapeLine(append(line, '\n'))
	if want := `{"a":"\u009b31m\u007f\u202e\udb40\udc01 ß 😀\u001b"}` + "\n"; string(got) != want {
		t.Errorf("escapeLine = %s, want %s", got, want)
	}
	var back map[string]string
	if err := json.Unmarshal(got, &back); err != nil || back["a"] != in["a"] {
		t.Errorf("the line reads %q, %v; want %q", back, err, in)
	}
}
