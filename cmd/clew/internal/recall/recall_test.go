package recall

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
)

// A fixture is a directory of projects, and the working directory of one.
type fixture struct {
	t       *testing.T
	dir     string // of projects
	work    string
	running string
	options Options
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, dir: t.TempDir(), work: work}
	f.options = Options{
		Index: filepath.Join(t.TempDir(), "search.db"), Store: sessions.NewFolder(f.dir), Home: "/home/ann", Wait: 2 * time.Minute,
		Dirs:    func(context.Context) []string { return []string{f.work} },
		Running: func(context.Context) []string { return []string{f.running} },
	}
	return f
}

// start returns a Recall that ends with the test.
func (f *fixture) start(change func(*Options)) *Recall {
	opts := f.options
	if change != nil {
		change(&opts)
	}
	r := New(opts)
	f.t.Cleanup(r.Close)
	return r
}

// project returns the name of the fixture's project.
func (f *fixture) project() string {
	f.t.Helper()
	name, err := sessions.ProjectName(f.work)
	if err != nil {
		f.t.Fatal(err)
	}
	return name
}

// id returns the ID of a session.
func id(n int) string { return fmt.Sprintf("%08x-1111-4222-8333-%012d", n*0x1010101, n) }

// write appends lines to a file of a project.
func (f *fixture) write(project, name string, lines ...string) {
	f.t.Helper()
	path := filepath.Join(f.dir, project, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	for _, line := range lines {
		if _, err := file.WriteString(line + "\n"); err != nil {
			f.t.Fatal(err)
		}
	}
}

// text returns a JSON string.
func text(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

var lineNumber atomic.Int64

// head returns the members that entries have in common.
func head(session string) string {
	n := lineNumber.Add(1)
	at := time.Date(2026, time.October, 1, 8, 0, int(n), 0, time.UTC)
	return fmt.Sprintf(`"uuid":"u%d","sessionId":%q,"cwd":"/home/ann/code/api","timestamp":%q`, n, session, at.Format(time.RFC3339))
}

func prompt(session, words string) string {
	return `{"type":"user",` + head(session) + `,"message":{"role":"user","content":` + text(words) + `}}`
}

func says(session, words string) string {
	return `{"type":"assistant",` + head(session) + `,"message":{"role":"assistant","model":"m","content":[{"type":"text","text":` + text(words) + `}]}}`
}

// mustSearch and mustRead must succeed.
func mustSearch(t *testing.T, r *Recall, req SearchRequest) string {
	t.Helper()
	got, err := r.Search(t.Context(), req, nil)
	if err != nil {
		t.Fatalf("%q: %v", req.Query, err)
	}
	return got
}

func mustRead(t *testing.T, r *Recall, req ReadRequest) string {
	t.Helper()
	got, err := r.Read(t.Context(), req)
	if err != nil {
		t.Fatalf("%q: %v", req.Ref, err)
	}
	return got
}

var anyRef = regexp.MustCompile(`(?m)^[0-9a-f-]+[^ @]*@[0-9]+`)

// A fact is something that was said, and how somebody asks for it later.
type fact struct{ fact, says, asks, answer string }

func readFacts(t *testing.T) (facts []fact) {
	t.Helper()
	file, err := os.Open("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var next fact
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "fact":
			next = fact{fact: value}
		case "says":
			next.says = value
		case "asks":
			next.asks = value
		case "answer":
			next.answer = value
			facts = append(facts, next)
		}
	}
	return facts
}

// Of 40 questions over sessions full of other texts, 36 have their answer in the first search, or
// at its first ref.
func TestQuestions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := corpus.Projects(f.dir, 11, soak.Size(1_500_000, 6_000_000)); err != nil {
		t.Fatal(err)
	}
	facts := readFacts(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i, fact := range facts {
		session := id(1 + i%10)
		noise := facts[random.IntN(len(facts))] // words of other facts, without their answers
		f.write(f.project(), session+".jsonl", prompt(session, fact.fact), says(session, "I'll look at it."), says(session, fact.says),
			prompt(session, "Thanks. Now the next thing: "+noise.fact+" No, forget it."), says(session, "All right, we leave that."))
	}
	r := f.start(func(o *Options) { o.All = true })
	found, first := 0, 0
	for _, fact := range facts {
		got := mustSearch(t, r, SearchRequest{Query: fact.asks, Project: EveryProject})
		if strings.Contains(got, fact.answer) {
			found++
			first++
			continue
		}
		if ref := anyRef.FindString(got); ref != "" && strings.Contains(mustRead(t, r, ReadRequest{Ref: ref}), fact.answer) {
			found++
			continue
		}
		t.Logf("not found: %s\n%s", fact.asks, got)
	}
	t.Logf("%d of %d found, %d by the first call", found, len(facts), first)
	if len(facts) != 40 || found < 36 {
		t.Errorf("%d of %d found", found, len(facts))
	}
}

// Answers have the right form and length, and describe the scope of the search.
func TestSearch(t *testing.T) {
	f := newFixture(t)
	a, b := id(1), id(2)
	f.write(f.project(), a+".jsonl", prompt(a, "Why is the parser slow?"), says(a, strings.Repeat("The parser copies each line. ", 40)),
		prompt(a, "Use a bigger buffer for parseLine."), says(a, "The buffer has 64 KiB now. Mail ann@example.com if it is slow again."))
	f.write(f.project(), b+".jsonl", prompt(b, "the buffer again"))
	f.write("-other", id(3)+".jsonl", prompt(id(3), "buffers of another project"))
	for i := range 30 {
		f.write(f.project(), id(10+i)+".jsonl", prompt(id(10+i), fmt.Sprintf("something about zebras, number %d: %s", i, strings.Repeat("and more words ", 30))))
	}
	r := f.start(nil)
	got := mustSearch(t, r, SearchRequest{Query: "how big is the parser's buffer?"})
	for _, want := range []string{
		"Best 5 of 5 texts with some of the words, in 2 sessions", "prompts and answers of 32 sessions of this project; not tool results", Record,
		"01010101@", " user \"Use a bigger buffer for parseLine.\"", " agent \"The buffer has 64 KiB now.", "[redacted:email]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "another project") {
		t.Errorf("it has another project:\n%s", got)
	}
	many := mustSearch(t, r, SearchRequest{Query: "zebras with words"})
	if n := strings.Count(many, "\n"); n != 9 || float64(len(many))/bytesPerToken > 600 {
		t.Errorf("%d lines, about %.0f tokens:\n%s", n, float64(len(many))/bytesPerToken, many)
	}
	if got := mustSearch(t, r, SearchRequest{Query: "xylophone"}); !strings.HasPrefix(got, "Nothing found: no text has any of these words.") ||
		!strings.Contains(got, "32 sessions of this project; not tool results") {
		t.Errorf("nothing found: %s", got)
	}
	f.running = b
	if got := mustSearch(t, f.start(nil), SearchRequest{Query: "buffer"}); strings.Contains(got, "again\"") || !strings.Contains(got, "31 sessions") {
		t.Errorf("it has the running session:\n%s", got)
	}
	all := f.start(func(o *Options) { o.All = true })
	for project, want := range map[string]bool{EveryProject: true, "other": true, "-other": true, "": false} {
		if got := mustSearch(t, all, SearchRequest{Query: "buffers", Project: project}); strings.Contains(got, "another project") != want {
			t.Errorf("project %q:\n%s", project, got)
		}
	}
}

// A session that changes is searched as the index has it, and again when that is up to date.
func TestUpdateInTheBackground(t *testing.T) {
	f := newFixture(t)
	f.write(f.project(), id(1)+".jsonl", prompt(id(1), "about apples"))
	mustSearch(t, f.start(nil), SearchRequest{Query: "apples"}) // builds the index
	f.write(f.project(), id(1)+".jsonl", says(id(1), "these apples are new"))
	r := f.start(nil)
	got := mustSearch(t, r, SearchRequest{Query: "apples"})
	if strings.Contains(got, "are new") || !strings.Contains(got, "newer text in 1 file was not searched") {
		t.Errorf("before the update:\n%s", got)
	}
	<-r.startUpdate(false).done
	if got := mustSearch(t, r, SearchRequest{Query: "apples"}); !strings.Contains(got, "are new") || strings.Contains(got, "not searched;") {
		t.Errorf("after the update:\n%s", got)
	}
}

// Without an index that can be written, transcripts are read.
func TestNoIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.project(), id(1)+".jsonl", prompt(id(1), "about apples"))
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := f.start(func(o *Options) { o.Index = filepath.Join(blocked, "search.db") })
	if got := mustSearch(t, r, SearchRequest{Query: "apples"}); !strings.Contains(got, "about apples") || !strings.Contains(got, "there is no index (") ||
		strings.Contains(got, blocked) {
		t.Errorf("got:\n%s", got)
	}
	r = f.start(func(o *Options) { o.Wait = time.Nanosecond })
	if got, err := r.Search(t.Context(), SearchRequest{Query: "apples"}, nil); err == nil && !strings.Contains(got, "about apples") {
		t.Errorf("without time: %s", got)
	} else if err != nil && !strings.Contains(err.Error(), "being built") {
		t.Errorf("without time the error is %v", err)
	}
}

// Read returns the texts around a ref, within a budget, and explains how to continue.
func TestRead(t *testing.T) {
	f := newFixture(t)
	s := id(1)
	long := strings.Repeat("abcde fghij. ", 2000)
	f.write(f.project(), s+".jsonl", `{"type":"ai-title","aiTitle":"A title"}`, prompt(s, "first"), says(s, "second"), "not JSON",
		`{"type":"assistant",`+head(s)+`,"message":{"role":"assistant","model":"m","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"go test"}}]}}`,
		`{"type":"user",`+head(s)+`,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok\nsecond line"}]}}`,
		says(s, "third"), prompt(s, long+"needle"), says(s, "last"))
	r := f.start(nil)
	whole := mustRead(t, r, ReadRequest{Ref: s[:8]})
	for _, want := range []string{`user "first"`, `agent "second"`, `call "Bash: go test"`, `agent "third"`, Record, "Left out: 2 texts", "…\"\nLeft", "More: read(ref: \"01010101@"} {
		if !strings.Contains(whole, want) {
			t.Errorf("%q is missing in:\n%.600s", want, whole)
		}
	}
	if n := float64(len(whole)) / bytesPerToken; n > 1.1*usualTokens {
		t.Errorf("about %.0f tokens", n)
	}
	seen, next := "", whole
	for range 20 {
		_, ref, more := strings.Cut(next, `More: read(ref: "`)
		if !more {
			break
		}
		ref, _, _ = strings.Cut(ref, `"`)
		next = mustRead(t, r, ReadRequest{Ref: ref, MaxTokens: 2000})
		seen += next
	}
	if !strings.Contains(seen, "needle") || !strings.Contains(seen, `agent "last"`) || !strings.HasSuffix(next, "This is the end.\n") {
		t.Errorf("the end is not reached: %.300s", next)
	}
	_, third, _ := strings.Cut(whole, "go test\"\n")
	third, _, _ = strings.Cut(third, " agent \"third\"")
	got := mustRead(t, r, ReadRequest{Ref: third, Before: 2, After: 1, MaxTokens: 100})
	if !strings.Contains(got, `agent "second"`) || !strings.Contains(got, `call "Bash: go test"`) || strings.Contains(got, `"first"`) {
		t.Errorf("before:\n%s", got)
	}
	withResults := f.start(func(o *Options) { o.Results = true })
	if got := mustRead(t, withResults, ReadRequest{Ref: s[:8]}); !strings.Contains(got, `result:Bash "ok second line"`) || !strings.Contains(got, `title "A title"`) {
		t.Errorf("with results:\n%.600s", got)
	}
}

// A model's mistakes get an answer that explains the remedy.
func TestMistakes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := id(1)
	first := prompt(s, "first")
	f.write(f.project(), s+".jsonl", first, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"R"}]}}`)
	f.write(f.project(), id(2)+".jsonl", prompt(id(2), "gone"))
	f.write("-other", id(3)+".jsonl", prompt(id(3), "other"))
	r := f.start(nil)
	mustSearch(t, r, SearchRequest{Query: "gone"})
	if err := os.Remove(filepath.Join(f.dir, f.project(), id(2)+".jsonl")); err != nil {
		t.Fatal(err)
	}
	result := fmt.Sprintf("%s@%d", s[:8], len(first)+1)
	var phrases strings.Builder
	for i := range 100 {
		fmt.Fprintf(&phrases, "\"w%d\" ", i)
	}
	for _, test := range []struct {
		name, want string
		call       func() (string, error)
	}{
		{"no words", "no words", func() (string, error) { return r.Search(t.Context(), SearchRequest{Query: "?!"}, nil) }},
		{"long query", "at most 1000", func() (string, error) {
			return r.Search(t.Context(), SearchRequest{Query: strings.Repeat("x", 2000)}, nil)
		}},
		{"many phrases", "contains 100 words", func() (string, error) {
			return r.Search(t.Context(), SearchRequest{Query: phrases.String()}, nil)
		}},
		{"limit", "between 1 and 20", func() (string, error) { return r.Search(t.Context(), SearchRequest{Query: "x", Limit: 99}, nil) }},
		{"in", "must be said", func() (string, error) { return r.Search(t.Context(), SearchRequest{Query: "x", In: "all"}, nil) }},
		{"results", "--results", func() (string, error) { return r.Search(t.Context(), SearchRequest{Query: "x", In: InResults}, nil) }},
		{"project", "--all", func() (string, error) { return r.Search(t.Context(), SearchRequest{Query: "x", Project: "*"}, nil) }},
		{"path", "is not a ref", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: "../../etc/passwd"}) }},
		{"path as part", "is not a ref", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: s[:8] + "./../x@0"}) }},
		{"no session", "no session", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: "ffffffff@0"}) }},
		{"other project", "no session", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: id(3)[:8]}) }},
		{"inside a line", "names no text", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: s[:8] + "@5"}) }},
		{"after the end", "names no text", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: s[:8] + "@999999999"}) }},
		{"result", "--results", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: result}) }},
		{"tokens", "between 100 and 6000", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: s[:8], MaxTokens: 99999}) }},
		{"around", "between 0 and 40", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: s[:8], Before: -1}) }},
		{"whole results", "--results", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: s[:8], Results: true}) }},
		{"many sessions", "between 1 and 30", func() (string, error) { return r.Sessions(t.Context(), SessionsRequest{Limit: 100}) }},
		{"deleted", "can't be read", func() (string, error) { return r.Read(t.Context(), ReadRequest{Ref: id(2)[:8]}) }},
	} {
		if got, err := test.call(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, error %v, want one with %q", test.name, got, err, test.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.start(nil).Search(ended, SearchRequest{Query: "first"}, nil); err == nil {
		t.Error("a call whose context has ended has a result")
	}
}

// Calls at once don't disturb each other.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.project(), id(1)+".jsonl", prompt(id(1), "about apples"), says(id(1), "yes"))
	r := f.start(nil)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			got, err := r.Search(t.Context(), SearchRequest{Query: "apples"}, nil)
			if err != nil || !strings.Contains(got, "about apples") {
				t.Errorf("search: %q, %v", got, err)
			}
			if got, err := r.Read(t.Context(), ReadRequest{Ref: id(1)}); err != nil || !strings.Contains(got, "about apples") {
				t.Errorf("read: %q, %v", got, err)
			}
			if got, err := r.Sessions(t.Context(), SessionsRequest{Limit: 1 + i}); err != nil || !strings.Contains(got, `user "about apples" 1 turn, 0 files changed`) {
				t.Errorf("sessions: %q, %v", got, err)
			}
		})
	}
	group.Wait()
}

// The figures of a session have what its subagents did after its own transcript ended.
func TestFiguresOfSubagents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.project(), id(1)+".jsonl", prompt(id(1), "Write it"))
	r := f.start(nil)
	for _, want := range []string{"1 turn, 0 files changed", "1 turn, 1 file changed", "1 turn, 2 files changed"} {
		if got, err := r.Sessions(t.Context(), SessionsRequest{}); err != nil || !strings.Contains(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		f.write(f.project(), id(1)+"/subagents/agent-a1.jsonl", `{"type":"user",`+head(id(1))+
			`,"toolUseResult":{"filePath":`+text(want)+`,"structuredPatch":[]},"message":{"role":"user","content":[]}}`)
	}
}

// A page keeps to any budget, has the text that was asked for, and its last line leads to the next one.
func TestReadBudgets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := id(1)
	var lines []string
	for i := range 400 {
		lines = append(lines, says(s, strings.Repeat("é", i%61)+fmt.Sprintf(" text %d.", i)))
	}
	f.write(f.project(), s+".jsonl", lines...)
	r := f.start(nil)
	middle := fmt.Sprintf("%s@%d", s[:8], len(strings.Join(lines[:200], "\n"))+1)
	const enough = 1100 // for all texts of a page
	step := soak.Size(23, 1)
	for tokens := minTokens; tokens <= maxTokens; tokens += step {
		if tokens > enough {
			step = 100
		}
		for _, req := range []ReadRequest{
			{Ref: s, After: maxAround, MaxTokens: tokens},
			{Ref: middle, Before: maxAround, MaxTokens: tokens},
		} {
			page := mustRead(t, r, req)
			if most := float64(tokens)*bytesPerToken + 400; float64(len(page)) > most { // the heading and the last text
				t.Fatalf("%d tokens: %d bytes, want at most %.0f:\n%s", tokens, len(page), most, page)
			}
			if want := map[bool]string{true: " text 200.\"", false: " text 0.\""}[req.Ref == middle]; !strings.Contains(page, want) {
				t.Fatalf("%d tokens: no %s:\n%s", tokens, want, page)
			}
			if !strings.Contains(page, "More: read(ref: \"01010101@") {
				t.Fatalf("%d tokens: the page does not go on:\n%s", tokens, page)
			}
		}
	}
}

// The ref of a hit in a long result leads to the hit.
func TestLongResult(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := id(1)
	f.write(f.project(), s+".jsonl", prompt(s, "first"))
	f.write(f.project(), s+"/tool-results/toolu_1.txt", strings.Repeat("a line of output\n", 150_000)+"the xylophone is here\n"+strings.Repeat("more output\n", 50_000))
	r := f.start(func(o *Options) { o.Results = true })
	got := mustSearch(t, r, SearchRequest{Query: "xylophone", In: InResults})
	ref := anyRef.FindString(got)
	if !strings.Contains(got, "the xylophone is here") || ref == "" {
		t.Fatalf("search:\n%s", got)
	}
	if page := mustRead(t, r, ReadRequest{Ref: ref}); !strings.Contains(page, "the xylophone is here") {
		t.Errorf("read %s:\n%s", ref, page)
	}
}

// The sessions of jobs belong to the project of their repository.
func TestJobs(t *testing.T) {
	f := newFixture(t)
	f.write(f.project(), id(1)+".jsonl", prompt(id(1), "apples by hand"))
	for n, job := range map[int]sessions.Job{
		2: {ID: "cqrshifid5z2", Directory: f.work}, 3: {ID: "cqrshifid5z3", Repository: "https://git.example.com/team/web.git"},
	} {
		project := fmt.Sprintf("-w-trees-%s-1-%s-work", job.ID, id(n)[:8])
		f.write(project, id(n)+".jsonl", prompt(id(n), "apples by "+job.ID))
		if err := sessions.RecordJob(filepath.Join(f.dir, project, id(n)+".jsonl"), job); err != nil {
			t.Fatal(err)
		}
	}
	r := f.start(func(o *Options) { o.All = true })
	for project, want := range map[string][]string{
		"": {"by hand", "by cqrshifid5z2"}, filepath.Base(f.work): {"by hand", "by cqrshifid5z2"}, "web": {"by cqrshifid5z3"},
		EveryProject: {"by hand", "by cqrshifid5z2", "by cqrshifid5z3"},
	} {
		list, err := r.Sessions(t.Context(), SessionsRequest{Project: project})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{list, mustSearch(t, r, SearchRequest{Query: "apples", Project: project})} {
			for _, text := range []string{"by hand", "by cqrshifid5z2", "by cqrshifid5z3"} {
				if strings.Contains(got, "apples "+text) != slices.Contains(want, text) {
					t.Errorf("project %q, %s:\n%s", project, text, got)
				}
			}
		}
	}
}
