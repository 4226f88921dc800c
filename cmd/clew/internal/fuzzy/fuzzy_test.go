package fuzzy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		query string
		yes   []string
		no    []string
	}{
		{"", []string{"", "anything"}, nil},
		{"   ", []string{"anything"}, nil},
		{"sbtrkt", []string{"sbtrkt", "s-b-t-r-k-t", "subtract kt"}, []string{"sbtrk", "tkrtbs"}},
		{"'wild", []string{"wild", "the wilderness"}, []string{"w-ild", "wi ld"}},
		{"'wild'", []string{"wild", "the wild one", "a/wild-card"}, []string{"wilderness", "unwild"}},
		{"^music", []string{"music.mp3", "  music"}, []string{"the music", "m-usic"}},
		{".mp3$", []string{"music.mp3", "music.mp3  "}, []string{"music.mp3.bak", "a.m-p3"}},
		{"^music.mp3$", []string{"music.mp3"}, []string{"music.mp3s", "a music.mp3", "music-mp3"}},
		{"!fire", []string{"water", "f-ire", ""}, []string{"fire", "a firefly"}},
		{"!^music", []string{"the music"}, []string{"music.mp3"}},
		{"!.mp3$", []string{"music.ogg", "a.mp3.bak"}, []string{"music.mp3"}},
		{"!'frz", []string{"free", "zrf"}, []string{"frz", "f r z"}},
		{"^core go$ | rb$ | py$", []string{"core.go", "core-x.rb", "core.py"}, []string{"core.c", "a core.go"}},
		{"sbtrkt ^a .mp3$", []string{"a subtract kt.mp3"}, []string{"subtract kt.mp3", "a subtract kt.ogg"}},
		{"!fire ^music .mp3$ sbtrkt !rmx", []string{"music sbtrkt.mp3"}, []string{"music sbtrkt rmx.mp3"}},
		{"a b", []string{"ab", "ba", "b a"}, []string{"a", "b"}},
		{`'a\ b`, []string{"x a b"}, []string{"ab", "b a"}},
		{"foo", []string{"foo", "FOO", "FoO"}, nil},
		{"Foo", []string{"Foo"}, []string{"foo", "FOO"}},
		{"Foo bar", []string{"Foo BAR"}, []string{"foo bar"}},
		{"größe", []string{"Größe", "GRÖSSE: größe"}, []string{"Grosse"}},
		{"日語", []string{"日本語"}, []string{"語日"}},
		{"a |", []string{"a"}, []string{"b"}},
		{"|", []string{"a|b"}, []string{"ab"}},
		{"| b", []string{"|b"}, []string{"b"}},
		{"a | | b", []string{"ab", "b|"}, []string{"a", "|"}},
		{"$", []string{"$1"}, []string{"1"}},
		{"^ '", []string{"anything"}, nil},
		{"!", []string{"anything"}, nil},
		{"ab", []string{"x\nab", "a b\nx"}, []string{"a\nb", "xa\nbx"}},
		{"a b", []string{"a\nb", "b\na"}, []string{"a\nc"}},
		{"^b c$", []string{"a\nb c\nd", "b\nc"}, []string{"ab\ncd"}},
		{"!b", []string{"a\nc"}, []string{"a\nb", "b\na"}},
	}
	var m Matcher
	for _, tt := range tests {
		q := Parse(tt.query)
		for _, text := range tt.yes {
			if _, ok := m.Match(q, Prepare(text)); !ok {
				t.Errorf("%q does not match %q", tt.query, text)
			}
		}
		for _, text := range tt.no {
			if _, ok := m.Match(q, Prepare(text)); ok {
				t.Errorf("%q matches %q", tt.query, text)
			}
		}
	}
}

// The texts are in the order in which they should be found.
func TestOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		query string
		texts []string
	}{
		{"fb", []string{"foo bar", "foo-bar", "fooBar", "afoobar"}},
		{"upload", []string{"upload", "an upload test", "reupload it", "up the long road"}},
		{"utest", []string{"upload test", "put estimates"}},
		{"ls", []string{"ls.go", "tools"}},
		{"mod", []string{"model.go", "a_model.go", "my odd dog", "commodity"}},
		{"v2", []string{"bump v2", "five and 2"}},
		{"'store", []string{"store", "the store", "restore"}},
		{"o", []string{"one", "two"}},
		{"main", []string{"the main page\nfeature", "a page\nmain"}},
	}
	for _, tt := range tests {
		var f Filter
		mixed := slices.Clone(tt.texts)
		slices.Reverse(mixed)
		f.Set(prepared(mixed))
		var got []string
		for _, i := range f.Find(Parse(tt.query)) {
			got = append(got, mixed[i])
		}
		if diff := cmp.Diff(tt.texts, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.query, diff)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	tests := []struct{ query, text, want string }{
		{"fb", "foo bar", "[f]oo [b]ar"},
		{"foba", "afoo fooBar", "afoo [fo]o[Ba]r"},
		{"upl", "duplicate the upload", "duplicate the [upl]oad"},
		{"'a b", "b a", "[b] [a]"},
		{"bar foo", "foo bar", "[foo] [bar]"},
		{"oba", "foo bar", "fo[o] [ba]r"},
		{"ab abc", "xabc", "x[abc]"},
		{"!x y", "y", "[y]"},
		{"x | y", "y", "[y]"},
		{"go$", " main.go ", " main.[go] "},
		{"öß", "größe", "gr[öß]e"},
		{"z", "abc", "abc"},
		{"", "abc", "abc"},
		{"'go'", "gopher go", "gopher [go]"},
		{"fb b", "x\nfoo bar\nb", "x\n[f]oo [b]ar\n[b]"},
	}
	var m Matcher
	for _, tt := range tests {
		if got := bracketed(tt.text, m.Spans(Parse(tt.query), Prepare(tt.text))); got != tt.want {
			t.Errorf("%q in %q = %q, want %q", tt.query, tt.text, got, tt.want)
		}
	}
}

// A filter that narrows what it found before finds what a new one finds.
func TestFilterWhileTyping(t *testing.T) {
	t.Parallel()
	texts := titles(2500) // for several workers
	queries := []string{
		"fix the", "'flak | upl !migrate", "Fix$", "^Add pag", "!x !y", "a | b c", "'the", "upload$ test", "!'abc", "Ö", "'a' b",
	}
	for _, query := range queries {
		var f Filter
		f.Set(prepared(texts))
		typed := []string{""}
		for i := range query {
			typed = append(typed, query[:i])
		}
		typed = append(typed, query)
		for _, text := range slices.Concat(typed, reversed(typed)) {
			var fresh Filter
			fresh.Set(prepared(texts))
			q := Parse(text)
			if diff := cmp.Diff(append([]int{}, fresh.Find(q)...), append([]int{}, f.Find(q)...)); diff != "" {
				t.Fatalf("%q (-new +narrowed):\n%s", text, diff)
			}
		}
	}
}

func TestEmptyQueryKeepsTheOrder(t *testing.T) {
	t.Parallel()
	var f Filter
	f.Set(prepared([]string{"c", "a", "b"}))
	if got := f.Find(Parse(" ")); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("found %v", got)
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	var m Matcher
	texts := prepared(titles(100))
	q := Parse("fxtst 'upl !migr a | b")
	match := func() {
		for i := range texts {
			m.Match(q, texts[i])
		}
	}
	match()
	if n := testing.AllocsPerRun(10, match); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzMatch(f *testing.F) {
	for _, query := range []string{"fb", "'wild'", "^a b$ | c", "!x", `a\ b`, "Ä", "\xff", "İ K", "''", "^$"} {
		f.Add(query, "foo bar wild Ä İ K \xff a b")
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		var m Matcher
		q, prepared := Parse(query), Prepare(text)
		if len(prepared.low) != len(prepared.raw) {
			t.Fatalf("%q has %d bytes when folded", text, len(prepared.low))
		}
		_, ok := m.Match(q, prepared)
		spans := m.Spans(q, prepared)
		if !ok && spans != nil {
			t.Fatalf("%q has spans in %q, which it does not match", query, text)
		}
		end := -1
		for _, s := range spans {
			if s.Start <= end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("%q in %q has the spans %v", query, text, spans)
			}
			end = s.End
			if utf8.ValidString(text) && !utf8.ValidString(text[s.Start:s.End]) {
				t.Fatalf("%q in %q splits a character: %v", query, text, spans)
			}
		}
		marked := strings.ContainsAny(query, `|!'^$\`) || len(strings.Fields(query)) != 1 || !utf8.ValidString(query)
		if !marked && !strings.ContainsAny(query+text, "\x00\n") && ok != subsequence(query, text) {
			t.Fatalf("%q matches %q: %v", query, text, ok)
		}
	})
}

// subsequence reports whether a text matches a query of a single word.
func subsequence(query, text string) bool {
	word := strings.TrimSpace(query)
	if low := fold(word); strings.ToLower(word) == word {
		word, text = low, fold(text)
	}
	for _, r := range word {
		i := strings.Index(text, string(r))
		if i < 0 {
			return false
		}
		text = text[i+utf8.RuneLen(r):]
	}
	return true
}

func BenchmarkFind(b *testing.B) {
	texts := prepared(titles(10_000))
	for _, query := range []string{"f", "fltst", "'upload", "fix upl", "zzz"} {
		b.Run(query, func(b *testing.B) {
			var f Filter
			for b.Loop() {
				f.Set(texts)
				f.Find(Parse(query))
			}
		})
	}
}

func prepared(texts []string) []Text {
	out := make([]Text, len(texts))
	for i, text := range texts {
		out[i] = Prepare(text)
	}
	return out
}

// titles returns texts like the titles of sessions, of about 120 bytes.
func titles(n int) []string {
	words := strings.Fields("Fix flaky upload test Migrate the store to Postgres Add pagination /api/users " +
		"Why does build fail on arm64? refactor handleRequest docs/README.md Größe main feature/login haiku")
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same every time
	out := make([]string, n)
	for i := range out {
		var b strings.Builder
		for b.Len() < 110 {
			b.WriteString(words[random.IntN(len(words))] + " ")
		}
		out[i] = fmt.Sprintf("%s%08x", b.String(), random.Uint32())
	}
	return out
}

func reversed(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Reverse(texts)
	return texts
}

func bracketed(text string, spans []Span) string {
	for _, s := range slices.Backward(spans) {
		text = text[:s.Start] + "[" + text[s.Start:s.End] + "]" + text[s.End:]
	}
	return text
}
