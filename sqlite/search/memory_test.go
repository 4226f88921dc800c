package search

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The sessions of these tests are made from topics that were written by hand, with noise that shares
// their words. The queries have the words that somebody may remember, and were written before the
// ranking. Only the first ones were looked at when it was adjusted.
var (
	//go:embed testdata/memory/topics.txt
	memoryTopics string
	//go:embed testdata/memory/noise.txt
	memoryNoise string
	//go:embed testdata/memory/tuned.txt
	memoryTuned string
	//go:embed testdata/memory/heldout.txt
	memoryHeldOut string
)

// noiseSessions is the number of sessions without a topic.
const noiseSessions = 240

// A memoryWriter writes a session.
type memoryWriter struct {
	strings.Builder
	at    time.Time
	lines int
}

func (w *memoryWriter) line(format string, args ...any) {
	w.lines++
	w.at = w.at.Add(17 * time.Second)
	_, _ = fmt.Fprintf(w, `{"uuid":"u%d","timestamp":"%s",`+format+"}\n", append([]any{w.lines, w.at.Format(time.RFC3339)}, args...)...)
}

// text adds a line of a topic or of the noise. Its first character is its kind.
func (w *memoryWriter) text(line string) {
	quoted := func(text string) string {
		data, _ := json.Marshal(text)
		return string(data)
	}
	answer := func(block string) { w.line(`"type":"assistant","message":{"role":"assistant","content":[%s]}`, block) }
	switch kind, rest, _ := strings.Cut(line, " "); kind {
	case ">":
		w.line(`"type":"user","message":{"role":"user","content":%s}`, quoted(rest))
	case "?":
		answer(fmt.Sprintf(`{"type":"thinking","thinking":%s}`, quoted(rest)))
	case "~":
		answer(fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"Read","input":{"file_path":%s}}`, w.lines, quoted("/home/ada/"+rest)))
	case "$":
		answer(fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":%s}}`, w.lines, quoted(rest)))
	case "|":
		w.line(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%s}]}`, w.lines-1, quoted(rest))
	case "<":
		answer(fmt.Sprintf(`{"type":"text","text":%s}`, quoted(rest)))
	default:
		answer(fmt.Sprintf(`{"type":"text","text":%s}`, quoted(line)))
	}
}

// noise adds a turn without a topic.
func (w *memoryWriter) noise(random *rand.Rand, lines map[string][]string) {
	one := func(kind string) { w.text(lines[kind][random.IntN(len(lines[kind]))]) }
	one(">")
	for range random.IntN(3) {
		w.text("$ go test ./... && npm test")
		one("|")
	}
	one("<")
}

// writeMemory writes the sessions into a directory, and returns their topics by session ID.
func writeMemory(t testing.TB, dir string) map[string]string {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 5))
	lines := map[string][]string{}
	for line := range strings.Lines(memoryNoise) {
		lines[line[:1]] = append(lines[line[:1]], strings.TrimSpace(line))
	}
	topics := strings.Split(strings.TrimPrefix(memoryTopics, "# "), "\n# ")
	names := map[string]string{}
	for i := range len(topics) + noiseSessions {
		age := 1 + random.IntN(100)
		var name, body string
		if i < len(topics) {
			age += random.IntN(250)
			name, body, _ = strings.Cut(topics[i], "\n")
		}
		w := &memoryWriter{at: rankNow.AddDate(0, 0, -age)}
		for range random.IntN(4) {
			w.noise(random, lines)
		}
		for line := range strings.Lines(body) {
			if line = strings.TrimSpace(line); line != "" {
				w.text(line)
			}
		}
		for range 1 + random.IntN(4) {
			w.noise(random, lines)
		}
		id := fmt.Sprintf("%08x-2222-4333-8444-555555555555", i+1)
		names[id] = name
		path := filepath.Join(dir, fmt.Sprintf("-home-ada-%d", i%5), id+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(w.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// A memoryScore is the result of queries.
type memoryScore struct {
	queries, first, found int // found among the first three
	reciprocal            float64
	missed                []string
}

// String describes the score.
func (s *memoryScore) String() string {
	return fmt.Sprintf("%d queries, %d first, %d in the first three, mean reciprocal rank %.3f", s.queries, s.first, s.found, s.reciprocal/float64(s.queries))
}

// score runs queries. find returns the sessions in the order of a search.
func scoreOf(t testing.TB, queries string, names map[string]string, find func(query string) []string) *memoryScore {
	t.Helper()
	s := new(memoryScore)
	for line := range strings.Lines(queries) {
		query, topic, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			t.Fatalf("no topic: %q", line)
		}
		s.queries++
		var got []string
		for _, id := range find(query) {
			got = append(got, names[id])
		}
		at := slices.Index(got, topic) + 1
		if at > 0 {
			s.reciprocal += 1 / float64(at)
		}
		switch {
		case at == 1:
			s.first++
			s.found++
		case at == 2 || at == 3:
			s.found++
		}
		if at != 1 {
			s.missed = append(s.missed, fmt.Sprintf("%s: %s is number %d of %d, first %q", query, topic, at, len(got), slices.Concat(got, []string{""})[0]))
		}
	}
	return s
}

// A search finds what people remember. The floors are a little below what was measured.
func TestMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := writeMemory(t, dir)
	files := filesBelow(t, dir)
	x := &Index{Path: filepath.Join(t.TempDir(), "search.db")}
	find := func(query string) []string {
		q, err := Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		q.Order, q.Limit, q.PerSession, q.Now = Relevance, 20, 3, rankNow
		result, err := x.Search(t.Context(), files, q)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, g := range result.Groups {
			ids = append(ids, g.SessionID)
		}
		return ids
	}
	for _, test := range []struct {
		name, queries     string
		found, reciprocal float64
	}{
		{"tuned", memoryTuned, 0.9, 0.85},
		{"held out", memoryHeldOut, 0.9, 0.85},
	} {
		s := scoreOf(t, test.queries, names, find)
		t.Logf("%s: %v\n%s", test.name, s, strings.Join(s.missed, "\n"))
		if float64(s.found) < test.found*float64(s.queries) || s.reciprocal < test.reciprocal*float64(s.queries) {
			t.Errorf("%s: %v, want at least %.0f %% and %.2f", test.name, s, 100*test.found, test.reciprocal)
		}
	}
}

// BenchmarkMemory measures what ripgrep finds for the same queries: files with all words, the newest
// first.
func BenchmarkMemory(b *testing.B) {
	if _, err := exec.LookPath("rg"); err != nil {
		b.Skip("ripgrep is not installed")
	}
	dir := b.TempDir()
	names := writeMemory(b, dir)
	find := func(query string) []string {
		var all map[string]bool
		for _, field := range fieldsOf(query) {
			out, _ := exec.CommandContext(b.Context(), "rg", "-liF", "--", field.text, dir).Output() // it fails if there are none
			found := map[string]bool{}
			for path := range strings.Lines(string(out)) {
				if path = strings.TrimSpace(path); all == nil || all[path] {
					found[path] = true
				}
			}
			all = found
		}
		paths := slices.Collect(maps.Keys(all))
		last := func(path string) string {
			data, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			return string(data[bytes.LastIndex(data, []byte(`"timestamp":"`)):][:33])
		}
		slices.SortFunc(paths, func(x, y string) int { return cmp.Compare(last(y), last(x)) })
		for i := range paths {
			paths[i] = strings.TrimSuffix(filepath.Base(paths[i]), ".jsonl")
		}
		return paths
	}
	for _, test := range []struct{ name, queries string }{{"tuned", memoryTuned}, {"heldout", memoryHeldOut}} {
		b.Run(test.name, func(b *testing.B) {
			var s *memoryScore
			for b.Loop() {
				s = scoreOf(b, test.queries, names, find)
			}
			b.ReportMetric(float64(s.queries), "queries")
			b.ReportMetric(float64(s.found), "found")
			b.ReportMetric(s.reciprocal/float64(s.queries), "reciprocal")
		})
	}
}

// Whatever is typed, the query finds its own words, and its marks are in the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`a "b c" -d e*`, `-"x y" z`, `"`, `- -- "" *`, "验证码 看不清", "internal/web/auth.go:12", "\x00\xff a\u0301", "parseHTTPLine", strings.Repeat("word ", 80)} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		q, err := Parse(query)
		if err != nil {
			return
		}
		if len(q.phrases) > maxTerms || q.wanted() == 0 {
			t.Fatalf("%q has %d terms", query, len(q.phrases))
		}
		for _, in := range []string{query, text} {
			for _, span := range q.Find(in) {
				if span.Start < 0 || span.End > len(in) || span.Start >= span.End {
					t.Errorf("%q: a match from %d to %d of %d", query, span.Start, span.End, len(in))
				}
			}
		}
	})
}
