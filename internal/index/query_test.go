package index

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestCutter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                            nil,
		" .,! ":                       nil,
		"Go test ./...":               {"go", "test"},
		"parse_line(HTTP2)":           {"parse", "line", "http2"},
		"Größe ÄÖ naïve":              {"größe", "äö", "naïve"},
		"nai\u0308ve":                 {"naïve"},
		"ΣΑΣ σας KELVIN\u212a":        {"σασ", "σασ", "kelvink"},
		"サーバーlog ภาษา 한국어":            {"サ", "ー", "バ", "ー", "log", "ภ", "า", "ษ", "า", "한", "국", "어"},
		"日本語のtest":                    {"日", "本", "語", "の", "test"},
		"a\x00b\xffc\ufffdd":          {"a", "b", "c", "d"},
		"x\u202ey \x1b[1;31mred\x1b[": {"x", "y", "red"},
		string(make([]byte, 300)):     nil,
	} {
		var c cutter
		var got []string
		for start, end := c.next(text, 0); end > 0; start, end = c.next(text, end) {
			if start >= end {
				t.Errorf("%q: a word from %d to %d", text, start, end)
			}
			got = append(got, string(c.word))
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		text string
		want []Span
	}{
		{[]string{"login"}, "The Login page", []Span{{4, 9}}},
		{[]string{"log"}, "The login page", nil},
		{[]string{"log*"}, "The login page", []Span{{4, 9}}},
		{[]string{"page", "login"}, "login, then a page", []Span{{0, 5}, {14, 18}}},
		{[]string{"login page"}, "login then page", nil},
		{[]string{"login page"}, "login login\npage", []Span{{6, 16}}},
		{[]string{"login pa*"}, "a login-page", []Span{{2, 12}}},
		{[]string{`the "login page" now`}, "now the login page", []Span{{0, 3}, {4, 7}, {8, 18}}},
		{[]string{`"login pa"*`}, "login page", []Span{{0, 10}}},
		{[]string{"main.go"}, "in main.go:3", []Span{{3, 10}}},
		{[]string{"本語"}, "日本語", []Span{{3, 9}}},
		{[]string{"a a"}, "a a a", []Span{{0, 5}}},
		{[]string{"x", "missing"}, "x y z", nil},
		{[]string{"你好"}, "你好你好", []Span{{0, 6}, {6, 12}}},
		{[]string{"好你"}, "你好你好", []Span{{3, 9}}},
		{[]string{"한국"}, "한국어는", []Span{{0, 6}}},
		{[]string{"ÄRGER"}, "a\u0308rger Ärger", []Span{{0, 7}, {8, 14}}},
		{[]string{"parseLine"}, "x.ParseLine()", []Span{{2, 11}}},
		{[]string{"/usr/bin"}, "PATH=/usr/bin:/bin", []Span{{6, 13}}},
		{[]string{"3.14"}, "pi is 3.14, not 3.15", []Span{{6, 10}}},
	} {
		q, err := Words(c.args)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(c.want, q.find(new(cutter), c.text)); diff != "" {
			t.Errorf("%q in %q (-want +got):\n%s", c.args, c.text, diff)
		}
	}
	if _, err := Words([]string{"++"}); err == nil {
		t.Error("signs alone are taken for a word")
	}
	if _, err := Words([]string{`""`}); err == nil {
		t.Error("nothing is taken for a query")
	}
}

func TestInputText(t *testing.T) {
	t.Parallel()
	got := inputText("Edit", `{"file_path" : "/a\n\"b\".go","edits":[{"old":"x","n":-1.5},"y",true,null],"z":{}}`)
	if diff := gocmp.Diff("Edit\n/a\n\"b\".go\nx\n-1.5\ny\ntrue\nnull", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, broken := range []string{`"`, `"\`, `{"a":"`, `{"a":1`, `-`} {
		if got := inputText("Edit", wire.JSON(broken)); !strings.HasPrefix(got, "Edit") {
			t.Errorf("%s: %q", broken, got)
		}
	}
}

func FuzzPlaces(f *testing.F) {
	f.Add(encodePlaces([]place{{offset: 5, length: 9, line: 2, role: Tool, tool: "Bash"}, {offset: 70, time: -3, role: Prompt, agent: "a"}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		places, err := decodePlaces(data)
		if err != nil {
			return
		}
		again, err := decodePlaces(encodePlaces(places))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(places, again, gocmp.AllowUnexported(place{})); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}

// Each word of a text is there once, behind the marks.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	var v vocabulary
	for range 3 {
		if got := string(v.of("b a, B! c a", "m")); got != "m b a c " {
			t.Errorf("%q", got)
		}
		var text, want strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&text, "w%d, W%d ", i, i)
			fmt.Fprintf(&want, "w%d ", i)
		}
		if got := string(v.of(text.String())); got != want.String() {
			t.Errorf("%d bytes, want %d", len(got), want.Len())
		}
	}
}
