package entrylex

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWordsAreShared(t *testing.T) {
	t.Parallel()
	var table wordTable
	for _, word := range []string{"", "a", "user", "é", strings.Repeat("x", maxWord), strings.Repeat("y", maxWord+1), "claude-opus-5-5"} {
		if got := table.get([]byte(word)); got != word {
			t.Errorf("%q became %q", word, got)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"2026-11-15T00:44:42.913Z", "2026-11-15T00:44:42.913Z"},
		{"2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59.999Z"},
		{"2026-11-15T00:44:42Z", "2026-11-15T00:44:42Z"},
		{"2026-11-15T02:44:42.5+02:00", "2026-11-15T00:44:42.5Z"},
		{"2026-11-15T00:44:42.123456789Z", "2026-11-15T00:44:42.123456789Z"},
		{"2026-11-15T00:44:42.913", "2026-11-15T00:44:42.913Z"},
		{"2026-11-15T00:44:42", "2026-11-15T00:44:42Z"},
	} {
		if got := ParseTime([]byte(test.text)).Format(time.RFC3339Nano); got != test.want {
			t.Errorf("%s is %s, want %s", test.text, got, test.want)
		}
	}
	for _, text := range []string{
		"", "now", "2026-11-15", "2023-02-29T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-00-01T00:00:00.000Z",
		"2026-01-00T00:00:00.000Z", "2026-01-01T24:00:00.000Z", "2026-01-01T00:60:00.000Z", "2026-01-01T00:00:60.000Z",
		"2026-01-01T00:00:00.0x0Z", "1763167482913",
	} {
		if got := ParseTime([]byte(text)); !got.IsZero() {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// FuzzParseTime holds the fast way to the slow one.
func FuzzParseTime(f *testing.F) {
	f.Add("2026-11-15T00:44:42.913Z")
	f.Add("2024-02-30T24:60:60.999Z")
	f.Add("2026-11-15T00:44:42,913Z")
	f.Fuzz(func(t *testing.T, text string) {
		fast, ok := parseUTC([]byte(text))
		if !ok {
			return
		}
		if slow := parseAnyTime(text); slow != fast {
			t.Errorf("%q is %v, by the slow way %v", text, fast, slow)
		}
	})
}

func TestLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, "\n\n": nil, "a": {"a"}, "a\n": {"a"}, "a\nb": {"a", "b"}, "a\x00\x00b\n\x00c": {"a", "b", "c"}, "\x00": nil,
	} {
		var got []string
		for line := range Lines([]byte(text)) {
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Lines(%q) = %q, want %q", text, got, want)
		}
	}
}
