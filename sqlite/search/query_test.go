package search

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestTokenizer(t *testing.T) {
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
		var c tokenizer
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
		q, err := Words(c.args...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(c.want, q.find(new(tokenizer), c.text)); diff != "" {
			t.Errorf("%q in %q (-want +got):\n%s", c.args, c.text, diff)
		}
	}
	if _, err := Words("++"); err == nil {
		t.Error("punctuation alone is taken for a word")
	}
	if _, err := Words(`""`); err == nil {
		t.Error("an empty list is taken for a query")
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

func FuzzLocations(f *testing.F) {
	f.Add(encodeLocations([]location{{offset: 5, length: 9, line: 2, role: Tool, tool: "Bash"}, {offset: 70, time: -3, role: Prompt, agent: "a"}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		locations, err := decodeLocations(nil, data)
		if err != nil {
			return
		}
		again, err := decodeLocations(nil, encodeLocations(locations))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(locations, again, gocmp.AllowUnexported(location{})); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}

// Each word of a text occurs once, after the marks.
func TestWordSet(t *testing.T) {
	t.Parallel()
	var v wordSet
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

func pairsOf(text string) []pair {
	var v wordSet
	v.of(text)
	return v.pairs.list
}

// A filter has the pairs of its text, and few others.
func TestPairFilter(t *testing.T) {
	t.Parallel()
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("a%d b%d c%d a%d b%d", i, i, i, i, i))
	}
	whole := newPairFilter(pairsOf(strings.Join(texts, " ")))
	wrong := 0
	for i, text := range texts {
		q := words(t, text)
		if !whole.mayHave(q.pairs()) || !newPairFilter(pairsOf(text)).mayHave(q.pairs()) {
			t.Fatalf("the filter lacks %q", text)
		}
		if whole.mayHave(words(t, fmt.Sprintf("b%d a%d", i, i)).pairs()) {
			wrong++
		}
	}
	if wrong > len(texts)/10 {
		t.Errorf("the filter has %d of %d pairs that it was not given", wrong, len(texts))
	}
	if newPairFilter(nil).mayHave(pairsOf("a b")) {
		t.Error("the empty filter has a pair")
	}
	if got := pairsOf("a b a b a b"); len(got) != 2 {
		t.Errorf("%d pairs, want 2", len(got))
	}
}

func TestPairFiltersAreKept(t *testing.T) {
	t.Parallel()
	want := []pairFilter{newPairFilter(pairsOf("a b c")), {}, newPairFilter(pairsOf("x y"))}
	got, err := decodeFilters(nil, encodeFilters(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := decodeFilters(nil, []byte{9, 1}); err == nil {
		t.Error("truncated filters are accepted")
	}
}

// Passages with the words of a phrase in another order are not even counted.
func TestPhraseOfCommonWordsIsFoundByItsPairs(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var text strings.Builder
	for n := range 50 {
		text.WriteString(promptLine(n, "the apple of the tree"))
	}
	text.WriteString(promptLine(51, "tree of the apple") + promptLine(52, "a tree of it"))
	d.write(deskSession+".jsonl", text.String(), os.O_APPEND)
	q := words(t, "tree of")
	q.Limit = 1
	got, err := d.index.Search(t.Context(), filesBelow(t, d.dir), q)
	if err != nil || len(got.Hits) != 1 || got.Hits[0].Line != 52 || got.More != 1 {
		t.Errorf("result %+v, error %v", got, err)
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	for _, role := range []Role{Prompt, Answer, Tool, Thinking} {
		if got, err := ParseRole(role.String()); got != role || err != nil {
			t.Errorf("%s: %v, %v", role, got, err)
		}
	}
	for _, name := range []string{"", "Prompt", "user"} {
		if role, err := ParseRole(name); err == nil {
			t.Errorf("%q is %v", name, role)
		}
	}
	if got := Role(99).String(); got != "" {
		t.Errorf("an unknown role is %q", got)
	}
}

// The zero query finds nothing, and returns an error.
func TestEmptyQuery(t *testing.T) {
	t.Parallel()
	for _, q := range []*Query{nil, {}, {Role: Prompt}} {
		if _, err := Scan(t.Context(), nil, q, nil); err == nil {
			t.Errorf("Scan of %+v is no error", q)
		}
		if _, err := (&Index{Path: filepath.Join(t.TempDir(), "i.db")}).Search(t.Context(), nil, q); err == nil {
			t.Errorf("Search of %+v is no error", q)
		}
	}
	if q, err := Pattern("("); q != nil || err == nil || !strings.HasPrefix(err.Error(), "search: ") {
		t.Errorf("a bad pattern is %v, %v", q, err)
	}
}
