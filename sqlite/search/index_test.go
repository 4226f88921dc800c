package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search/internal/sqlite"
	"github.com/clewdev/clew/transcript"
)

// filesBelow lists the files of sessions below a directory of projects.
func filesBelow(t *testing.T, dir string) []sessions.File {
	t.Helper()
	var files []sessions.File
	for f, err := range sessions.Files(t.Context(), &sessions.Options{Store: sessions.NewFolder(dir)}) {
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// described lists hits, one line each.
func described(r *Result) []string {
	var list []string
	for _, h := range r.Hits {
		list = append(list, fmt.Sprintf("%s %s %s %d turn %d %v %v %s %v %q %v %d %v %v", h.File.Path, h.SessionID, h.AgentID, h.Line, h.Turn,
			h.Time.UTC().Format(time.RFC3339Nano), h.Role, h.Tool, h.Matches, h.Directory, h.Score, h.Offset, h.Source, h.Share))
	}
	for _, g := range r.Groups {
		list = append(list, fmt.Sprint(g.Project, g.SessionID, g.Hits))
	}
	return list
}

func words(t *testing.T, args ...string) *Query {
	t.Helper()
	q, err := Words(args...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func parsed(t *testing.T, args ...string) *Query {
	t.Helper()
	q, err := Parse(strings.Join(args, " "))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// wordsOf returns words of the passages of files, in random order, and pairs of words that follow
// each other.
func wordsOf(t *testing.T, files []sessions.File, random *rand.Rand) (list, pairs []string) {
	t.Helper()
	seen := map[string]bool{}
	r := newReader()
	for i := range files {
		err := r.read(t.Context(), &files[i], new(state), func(_ *location, text string) error {
			var c tokenizer
			last := ""
			for _, end := c.next(text, 0); end > 0; _, end = c.next(text, end) {
				word := string(c.word)
				if !seen[word] {
					seen[word] = true
					list = append(list, word)
				}
				if pair := last + " " + word; last != "" && random.IntN(100) == 0 {
					pairs = append(pairs, pair)
				}
				last = word
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	return list, pairs
}

// A search in the index and a scan of the files have the same results.
func TestIndexEqualsScan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := corpus.Projects(dir, 7, soak.Size(100_000, 1_000_000)); err != nil {
		t.Fatal(err)
	}
	d := newFixture(t)
	d.dir = dir
	queries := d.oddQueries()
	files := filesBelow(t, dir)
	random := rand.New(rand.NewPCG(1, 2))
	list, pairs := wordsOf(t, files, random)
	x := &d.index
	for i := range 5 {
		a, b := list[i], list[len(list)-1-i%40]
		queries = append(queries, words(t, a), words(t, strings.ToUpper(a), b), words(t, begun(a)+"*"),
			words(t, pairs[i]), words(t, pairs[i], a), words(t, begun(pairs[i])+"*"))
	}
	queries = append(queries, words(t, "cache", "error"), words(t, "error", "cache", "fmt.Errorf"), words(t, "fmt.Errorf"), words(t, "return err"))
	queries = append(queries, parsed(t, "cache", "error", list[0], "nowhere"), parsed(t, "fmt.Errorf", "cach*"), parsed(t, list[1], list[2]+"*"))
	for i := range 5 {
		queries = append(queries, parsed(t, list[i:i+4]...), parsed(t, "cache", "error", `-"`+pairs[i]+`"`))
	}
	middle := files[0].Info.ModTime()
	for i, q := range queries {
		q.Source = Source(i % 4)
		switch i % 5 {
		case 1:
			q.Role = Role(1 + i%4)
		case 2:
			q.Tool = "bash"
		case 3:
			q.Since = middle.Add(-30 * 24 * time.Hour)
		case 4:
			q.Until = middle
			q.Projects = map[string]bool{files[0].Project: true, files[len(files)/2].Project: true}
		}
		limits := []int{0, -3, 3, -20}
		if !soak.Running() {
			limits = limits[i%2*2 : i%2*2+2]
		}
		for _, limit := range limits {
			q.Order, q.Limit, q.PerSession, q.Now = Newest, limit, 0, time.Time{}
			if limit < 0 {
				q.Order, q.Limit, q.PerSession, q.Now = Relevance, -limit, i%3, middle
			}
			want, err := Scan(t.Context(), files, q, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.Search(t.Context(), files, q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(described(want), described(got)); diff != "" {
				t.Fatalf("%v, limit %d (-scan +index):\n%s", q.phrases, limit, diff)
			}
			if !got.AtMost && got.More != want.More || got.More < want.More {
				t.Errorf("%v, limit %d: %d more in the index, %d in the files", q.phrases, limit, got.More, want.More)
			}
		}
	}
}

// begun returns most of a text.
func begun(text string) string {
	runes := []rune(text)
	return string(runes[:1+2*len(runes)/3])
}

// oddQueries writes a session and a spill with difficult words, and returns queries that find them,
// and some that find nothing.
func (d *fixture) oddQueries() []*Query {
	d.t.Helper()
	long := strings.Repeat("x", 100)
	texts := []string{
		"Ärger mit A\u0308rger und ÄRGER", "ΣΑΣ σας", "你好你好 世界", "サーバーlog", "한국어는", "ภาษาไทย", "3.14 1e9 0xFF 1,000",
		"/usr/local/bin/go parse_line parseLine HTTPServer", long + "a " + long + "b", "é" + long, "a\u202eb \u0000c", "the of the of the",
	}
	var lines strings.Builder
	for i, text := range texts {
		lines.WriteString(promptLine(i, text))
	}
	d.write(deskSession+".jsonl", lines.String(), os.O_APPEND)
	d.write(deskSession+"/tool-results/b1.txt", strings.Join(texts, " ")+"\xff\xfe end", os.O_APPEND)
	var queries []*Query
	for _, arg := range []string{
		"ärger", "ΣΑΣ", "好你", "你好*", "世", "サーバー", "log", "국어", "ษา", "3.14", "0xff", "1,000", "local/bin", "parse_line", "PARSELINE",
		"parse*", long + "a", long + "c", long[:64] + "*", "é" + long, "a b", "of the of", "the the", "of the o*", "end", "nowhere",
	} {
		queries = append(queries, words(d.t, arg))
	}
	return queries
}

// The turn of a hit is the turn in the transcript.
func TestTurnsAreThoseOfTheTranscript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := corpus.Projects(dir, 3, 3_000_000); err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, f := range filesBelow(t, dir) {
		if f.Spill || f.AgentID != "" {
			continue
		}
		var s state
		if err := newReader().read(t.Context(), &f, &s, func(*location, string) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if s.Rewound {
			continue
		}
		told++
		read, err := sessions.ReadFile(t.Context(), f.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		turns := int64(0)
		for _, c := range read.Chunks {
			if c.Type == transcript.UserChunk {
				turns++
			}
		}
		if turns != s.Turns {
			t.Errorf("%s has %d turns, not %d", f.Path, turns, s.Turns)
		}
	}
	if told == 0 {
		t.Error("no hit has a turn")
	}
}

// A fixture is a directory of projects and an index of it.
type fixture struct {
	t     *testing.T
	dir   string
	index Index
	read  int64 // bytes that the last search has read
	notes []string
}

const deskSession = "11111111-2222-4333-8444-555555555555"

func newFixture(t *testing.T) *fixture {
	t.Helper()
	d := &fixture{t: t, dir: t.TempDir()}
	d.index = Index{
		Path:     filepath.Join(t.TempDir(), "cache", "search.db"),
		Progress: func(_, total int64) { d.read = total },
		Note:     func(text string) { d.notes = append(d.notes, text) },
	}
	return d
}

func (d *fixture) path(name string) string {
	return filepath.Join(d.dir, "-project", filepath.FromSlash(name))
}

func (d *fixture) write(name, text string, flags int) {
	d.t.Helper()
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flags, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = file.WriteString(text)
	if err = cmp.Or(err, file.Close()); err != nil {
		d.t.Fatal(err)
	}
}

// find returns the lines of the results of a search for one word, the newest first.
func (d *fixture) find(word string) []int {
	d.t.Helper()
	d.read, d.notes = 0, nil
	result, err := d.index.Search(d.t.Context(), filesBelow(d.t, d.dir), words(d.t, word))
	if err != nil {
		d.t.Fatal(err)
	}
	var lines []int
	for _, h := range result.Hits {
		lines = append(lines, h.Line)
	}
	return lines
}

func (d *fixture) want(word string, lines ...int) {
	d.t.Helper()
	if got := d.find(word); !slices.Equal(got, lines) {
		d.t.Errorf("%q is on lines %v, want %v", word, got, lines)
	}
}

func promptLine(n int, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"u%d","sessionId":"%s","timestamp":"2026-11-15T10:00:%02dZ",`+
		`"message":{"role":"user","content":"%s"}}`, n, deskSession, n, text) + "\n"
}

func TestAppendedFileIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	name := deskSession + ".jsonl"
	d.write(name, promptLine(1, "apple")+promptLine(2, "pear"), os.O_APPEND)
	d.want("apple", 1)
	d.want("apple", 1)
	if d.read != 0 {
		t.Errorf("%d bytes are read of a file that has not changed", d.read)
	}
	more := promptLine(3, "apple again")
	d.write(name, more, os.O_APPEND)
	d.want("apple", 3, 1)
	if d.read != int64(len(more)) {
		t.Errorf("%d bytes are read, %d were added", d.read, len(more))
	}
	// A line without a line end, which it gets later.
	whole := promptLine(4, "plum")
	d.write(name, whole[:40], os.O_APPEND)
	d.want("plum")
	d.write(name, whole[40:len(whole)-1], os.O_APPEND)
	d.want("plum", 4)
	d.write(name, "\n"+promptLine(5, "plum"), os.O_APPEND)
	d.want("plum", 5, 4)
}

func TestResultKnowsItsToolAcrossAppends(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	name := deskSession + ".jsonl"
	d.write(name, `{"type":"assistant","uuid":"a","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash",`+
		`"input":{"command":"echo \"kiwi\"","timeout":120}}]}}`+"\n", os.O_APPEND)
	d.want("kiwi", 1)
	d.write(name, `{"type":"user","uuid":"b","message":{"content":[{"type":"tool_result","tool_use_id":"t1",`+
		`"content":[{"type":"text","text":"kiwi"}]}]}}`+"\n", os.O_APPEND)
	q := words(t, "kiwi")
	q.Tool = "bash"
	result, err := d.index.Search(t.Context(), filesBelow(t, d.dir), q)
	if err != nil || len(result.Hits) != 2 || result.Hits[0].Tool != "Bash" || result.Hits[1].Tool != "Bash" {
		t.Errorf("results %+v, error %v", result, err)
	}
}

func TestRewrittenFileIsReadAgain(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	name := deskSession + ".jsonl"
	d.write(name, promptLine(1, "apple")+promptLine(2, "pear"), os.O_APPEND)
	d.want("apple", 1)
	for _, rewritten := range []string{
		promptLine(1, "grape") + promptLine(2, "apple"),                              // of the same length
		promptLine(1, "grape") + promptLine(2, "lemon") + promptLine(3, "apple pie"), // longer
		promptLine(4, "apple"), // shorter
	} {
		d.write(name, rewritten, os.O_TRUNC)
		later := time.Now().Add(time.Duration(len(rewritten)) * time.Hour)
		if err := os.Chtimes(d.path(name), later, later); err != nil {
			t.Fatal(err)
		}
		d.want("apple", strings.Count(rewritten, "\n"))
		d.want("pear")
	}
}

func TestSubagentsAndSpillsBelongToTheirSession(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+".jsonl", promptLine(1, "apple"), os.O_APPEND)
	d.write(deskSession+"/subagents/agent-abc.jsonl", promptLine(2, "apple"), os.O_APPEND)
	d.write(deskSession+"/tool-results/b1.txt", "one\ntwo apples\nan apple\n", os.O_APPEND)
	d.write(deskSession+"/tool-results/b2.png", "apple\x00", os.O_APPEND)
	d.write("agent-old.jsonl", promptLine(3, "apple"), os.O_APPEND)
	result, err := d.index.Search(t.Context(), filesBelow(t, d.dir), words(t, "apple"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range result.Hits {
		if h.SessionID != deskSession {
			t.Errorf("%s is of session %q", h.File.Path, h.SessionID)
		}
		got = append(got, fmt.Sprintf("%s:%d agent %s", filepath.Base(h.File.Path), h.Line, h.AgentID))
	}
	want := []string{"b1.txt:3 agent ", "agent-old.jsonl:1 agent old", "agent-abc.jsonl:1 agent abc", deskSession + ".jsonl:1 agent "}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.RemoveAll(d.path("")); err != nil {
		t.Fatal(err)
	}
	d.want("apple")
}

// setVersion writes the version into the header of a SQLite file.
func setVersion(path string, version byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt([]byte{0, 0, 0, version}, 60)
	return cmp.Or(err, file.Close())
}

func TestDamagedIndexIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"cut short":    func(path string) error { return os.Truncate(path, 5000) },
		"cut to a bit": func(path string) error { return os.Truncate(path, 10) },
		"garbage":      func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("garbage ", 9000)), 0o600) },
		"garbage inside": func(path string) error {
			data, err := os.ReadFile(path)
			for i := 4096; i < len(data); i++ {
				data[i] = byte(i * 7)
			}
			return cmp.Or(err, os.WriteFile(path, data, 0o600))
		},
		"another version":    func(path string) error { return setVersion(path, 99) },
		"the version before": func(path string) error { return setVersion(path, 7) },
		"a killed build":     func(path string) error { return setVersion(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			d.write(deskSession+".jsonl", promptLine(1, "apple")+promptLine(2, "pear"), os.O_APPEND)
			d.want("pear", 2)
			if err := damage(d.index.Path); err != nil {
				t.Fatal(err)
			}
			d.want("pear", 2)
			if len(d.notes) != 1 || !strings.Contains(d.notes[0], "rebuilding it") {
				t.Errorf("notes %q", d.notes)
			}
			d.want("apple", 1)
			if len(d.notes) > 0 || d.read > 0 {
				t.Errorf("notes %q and %d bytes read after it was rebuilt", d.notes, d.read)
			}
		})
	}
}

// The work of an interrupted build is kept, and the next search continues it.
func TestInterruptedBuildContinues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := corpus.Projects(dir, 5, 2_000_000); err != nil {
		t.Fatal(err)
	}
	files := filesBelow(t, dir)
	x := &Index{Path: filepath.Join(t.TempDir(), "search.db")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all, rest int64
	x.Progress = func(done, total int64) {
		if all = total; done > total/2 {
			cancel()
		}
	}
	if _, err := x.Search(ctx, files, words(t, "the")); err == nil {
		t.Fatal("a search that was interrupted has a result")
	}
	x.Progress = func(_, total int64) { rest = total }
	x.Note = func(text string) { t.Errorf("it notes %q", text) }
	got, err := x.Search(t.Context(), files, words(t, "the"))
	if err != nil {
		t.Fatal(err)
	}
	if rest == 0 || rest >= all {
		t.Errorf("the second search reads %d of %d bytes", rest, all)
	}
	want, err := Scan(t.Context(), files, words(t, "the"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(described(want), described(got)); diff != "" {
		t.Errorf("(-scan +index):\n%s", diff)
	}
}

// A file that changes between the search and the reading of its excerpt makes no wrong result.
func TestFileChangesUnderASearch(t *testing.T) {
	t.Parallel()
	name := deskSession + ".jsonl"
	for what, c := range map[string]struct {
		change func(d *fixture) error
		unread int
	}{
		"it is gone":         {func(d *fixture) error { return os.Remove(d.path(name)) }, 0},
		"it is cut off":      {func(d *fixture) error { return os.Truncate(d.path(name), 20) }, 0},
		"it is another":      {func(d *fixture) error { return os.WriteFile(d.path(name), []byte(promptLine(1, "grape")), 0o600) }, 0},
		"it cannot be read":  {func(d *fixture) error { return cmp.Or(os.RemoveAll(d.path("")), os.WriteFile(d.path(""), nil, 0o600)) }, 1},
		"nothing of it left": {func(d *fixture) error { return os.Truncate(d.path(name), 0) }, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			d.write(name, promptLine(1, "apple")+promptLine(2, "apple"), os.O_APPEND)
			files := filesBelow(t, d.dir)
			d.want("apple", 2, 1)
			if err := c.change(d); err != nil {
				t.Fatal(err)
			}
			result, err := d.index.Search(t.Context(), files, words(t, "apple"))
			if err != nil || len(result.Hits) > 0 || len(result.Unread) != c.unread {
				t.Errorf("result %+v, error %v", result, err)
			}
		})
	}
}

// A match may be empty, and at the end of a long text.
func TestPatternMatchesTheEnd(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+".jsonl", promptLine(1, strings.Repeat("word ", 1000)+"end"), os.O_APPEND)
	q, err := Pattern(`\z`)
	if err != nil {
		t.Fatal(err)
	}
	result, err := Scan(t.Context(), filesBelow(t, d.dir), q, nil)
	if err != nil || len(result.Hits) != 1 {
		t.Fatalf("result %+v, error %v", result, err)
	}
	e := result.Hits[0].Excerpt(100)
	if want := (Span{len(e.Text), len(e.Text)}); !strings.HasSuffix(e.Text, "word end") || e.Matches[0] != want {
		t.Errorf("excerpt %+v", e)
	}
}

// A spill of one long line is cut between words.
func TestLongLineOfASpillKeepsItsWords(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+".jsonl", promptLine(1, "x"), os.O_APPEND)
	d.write(deskSession+"/tool-results/b1.txt", strings.Repeat("x", pieceSize-4)+" straddling x", os.O_APPEND)
	d.want("straddling", 1)
}

// Concurrent searches have the right result, or none.
func TestSearchesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := corpus.Projects(dir, 9, 1_000_000); err != nil {
		t.Fatal(err)
	}
	files := filesBelow(t, dir)
	want, err := Scan(t.Context(), files, words(t, "commit"), nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "search.db")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			x := &Index{Path: path, Note: func(text string) { t.Errorf("it notes %q", text) }}
			got, err := x.Search(t.Context(), files, words(t, "commit"))
			if errors.Is(err, ErrBusy) {
				return
			}
			if err != nil {
				t.Error(err)
			} else if diff := gocmp.Diff(described(want), described(got)); diff != "" {
				t.Errorf("(-scan +index):\n%s", diff)
			}
		})
	}
	group.Wait()
	got, err := (&Index{Path: path}).Search(t.Context(), files, words(t, "commit"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(described(want), described(got)); diff != "" {
		t.Errorf("(-scan +index):\n%s", diff)
	}
}

// While another process writes, a search returns ErrBusy.
func TestSearchWhileAnotherWrites(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+".jsonl", promptLine(1, "apple"), os.O_APPEND)
	d.want("apple", 1)
	db, err := sqlite.Open(t.Context(), d.index.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Write(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.want("apple", 1) // nothing has to be written
	d.write(deskSession+".jsonl", promptLine(2, "apple"), os.O_APPEND)
	if _, err := d.index.Search(t.Context(), filesBelow(t, d.dir), words(t, "apple")); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v", err)
	}
	w.Abandon()
	d.want("apple", 2, 1)
}

// After a rewind the turns belong to the conversation as it stands. Messages that the rewind
// removed has none.
func TestTurnsAfterRewind(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	line := func(n int, parent string) string {
		return strings.Replace(promptLine(n, "apple"), `"uuid"`, `"parentUuid":"`+parent+`","uuid"`, 1)
	}
	for _, step := range []struct {
		line string
		want []int
	}{
		{promptLine(1, "apple") + line(2, "u1"), []int{2, 1}},
		{line(3, "u2"), []int{3, 2, 1}},
		{line(4, "u1"), []int{2, 0, 0, 1}},
	} {
		d.write(deskSession+".jsonl", step.line, os.O_APPEND)
		result, err := d.index.Search(t.Context(), filesBelow(t, d.dir), words(t, "apple"))
		if err != nil {
			t.Fatal(err)
		}
		var turns []int
		for _, h := range result.Hits {
			turns = append(turns, h.Turn)
		}
		if !slices.Equal(turns, step.want) {
			t.Errorf("turns %v, want %v", turns, step.want)
		}
	}
}

// A prompt that only the queue has is found once, also where the index was written in between.
func TestQueuedPromptIsFound(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	queue := func(members string) string {
		return `{"type":"queue-operation","timestamp":"2026-11-16T08:00:05Z",` + members + "}\n"
	}
	d.write(deskSession+".jsonl", promptLine(1, "apple")+queue(`"operation":"enqueue","content":"a pear too"`), os.O_APPEND)
	d.want("pear")
	d.write(deskSession+".jsonl", queue(`"operation":"remove"`)+
		`{"type":"assistant","uuid":"a1","message":{"id":"m","content":[{"type":"text","text":"Fine"}]}}`+"\n"+
		queue(`"operation":"enqueue","content":"a plum"`)+queue(`"operation":"dequeue"`)+promptLine(3, "a plum"), os.O_APPEND)
	for words, turn := range map[string]int{"pear": 2, "plum": 3} {
		for _, search := range []func(context.Context, []sessions.File, *Query) (*Result, error){
			d.index.Search, func(ctx context.Context, files []sessions.File, q *Query) (*Result, error) {
				return Scan(ctx, files, q, nil)
			},
		} {
			q, err := Words(words)
			if err != nil {
				t.Fatal(err)
			}
			result, err := search(t.Context(), filesBelow(t, d.dir), q)
			if err != nil || len(result.Hits) != 1 || result.Hits[0].Turn != turn || result.Hits[0].Role != Prompt {
				t.Errorf("%s: %+v, %v", words, result, err)
			}
		}
	}
}
