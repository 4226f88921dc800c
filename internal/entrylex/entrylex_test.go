package entrylex

import (
	"encoding/json"
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

func TestShortener(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*MaxString)
	escapes := strings.Repeat(`\u00e9\"\\`, MaxString/5)
	for name, line := range map[string]string{
		"text":    `{"a":"` + long + `","usage":{"n":1},"b":["` + long + `\"` + long + `"],"c":"\\"}`,
		"escapes": `{"a":"` + escapes + `","usage":{"n":1},"c":"` + strings.Repeat(`\\`, 2*MaxString) + `"}`,
		"keys":    `{"` + long + `":1,"usage":{"n":1}}`,
	} {
		for _, size := range []int{1, 7, len(line)} {
			var s Shortener
			for rest := []byte(line); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				s.Add(rest[:min(size, len(rest))])
			}
			var value struct{ Usage struct{ N int } }
			if err := json.Unmarshal(s.Text, &value); err != nil || value.Usage.N != 1 {
				t.Errorf("%s in pieces of %d: %+v, %v", name, size, value, err)
			}
			if len(s.Text) > 2*MaxString+200 {
				t.Errorf("%s: %d bytes are left", name, len(s.Text))
			}
		}
	}
	for _, line := range []string{`{"a":"b\"c","d":[1,"\\"]}`, "", `"`, `{"a":"` + "\x00" + `{"b":1}`} {
		var s Shortener
		if s.Add([]byte(line)); string(s.Text) != line {
			t.Errorf("%q became %q", line, s.Text)
		}
	}
	var torn Shortener // the end of a string is missing, and another entry follows
	if torn.Add([]byte(`{"a":"` + long + "\x00" + `{"b":1}`)); !strings.HasSuffix(string(torn.Text), "x\x00"+`{"b":1}`) {
		t.Error("an entry behind NUL bytes is lost")
	}
}
