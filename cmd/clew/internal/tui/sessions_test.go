package tui

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// id returns the ID of the n-th session of a story.
func id(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", 0x10000000*n+n) }

// someSessions returns sessions of several projects and days. The working directory is uploader's.
func someSessions() *fakeSource {
	f := newFakeSource()
	f.here["-home-dev-uploader"] = true
	add := func(n int, project, title, branch, model string, ago time.Duration) {
		at := storyTime.Add(-ago)
		f.infos = append(f.infos, sessions.SessionInfo{
			ID: id(n), Project: "-home-dev-" + project, Path: "/sessions/" + id(n) + ".jsonl", Modified: at, Size: int64(1000 * n),
			Summary: sessions.Summary{
				AITitle: title, FirstPrompt: "Please: " + title + ".", LastPrompt: "Now run it again.", GitBranch: branch, Model: model,
				CWD: "/home/dev/" + project, Created: at.Add(-48 * time.Minute), LastTime: at, Version: "2.1.325", Entrypoint: "cli",
			},
		})
		f.figures[id(n)] = sessions.Figures{Turns: n, FilesChanged: n % 3, Calls: []usage.Call{{
			Model: model, Usage: usage.Usage{InputTokens: 20000 * n, OutputTokens: 1000 * n},
		}}}
		f.glances[id(n)] = view.Glance{Prompt: "Now run it again.", Answer: "It ran **100** times without a failure."}
		f.add(id(n), &follow.Snapshot{Transcript: &transcript.Transcript{}})
	}
	add(1, "store", "Migrate the store to Postgres 17", "main", "claude-opus-5-5", 20*time.Second)
	add(2, "uploader", "Fix the flaky upload test", "main", "claude-opus-5-5", 2*time.Hour)
	add(3, "uploader", "Add a progress bar", "feature/progress", "claude-haiku-5-5", 5*time.Hour)
	add(4, "api", "Add pagination to /api/users", "HEAD", "claude-opus-5-5", 17*time.Hour)
	add(5, "engine", "Why does the build fail on arm64?", "main", "claude-sonnet-5-5", 24*time.Hour)
	add(6, "uploader", "Retry with a limit", "main", "claude-opus-5-5", 5*24*time.Hour)
	add(7, "notes", "Release notes for 1.4", "", "unknown-model", 40*24*time.Hour)
	add(8, "notes", "Sort the changelog", "", "claude-opus-5-5", 400*24*time.Hour)
	f.running = []sessions.RunningSession{
		{ID: id(1), PID: 4711, Status: "waiting", WaitingFor: "permission prompt", CWD: "/home/dev/store", Started: storyTime},
		{ID: id(9), PID: 4712, Status: "busy", Name: "greet-1a", CWD: "/home/dev/api", Started: storyTime.Add(-time.Minute)},
	}
	f.glances[id(1)] = view.Glance{Prompt: "Move it.", Answer: "I need to look at the table.", Call: "Bash psql -c 'DROP TABLE users'"}
	f.trash = []sessions.TrashedSession{
		{ID: id(10), Project: "-home-dev-api", Title: "Try another router", Deleted: storyTime.Add(-26 * time.Hour), Path: "/trash/10"},
	}
	return f
}

func listing(a *app) screen { return newSessions(a, false) }

func listingAll(a *app) screen { return newSessions(a, true) }

func TestSessionsStory(t *testing.T) {
	t.Parallel()
	f := someSessions()
	s := tell(t, f, 160, 50, listing)
	s.see("Recent 3", "this project, . for all", "Today", "Fix the flaky upload test", "2 turns").selected("Fix the flaky upload test")
	s.see("> Please: Fix the flaky upload test.", "It ran 100 times", "42k tokens")
	s.press("j").selected("Add a progress bar").press("k").selected("Fix the flaky")
	s.press("G").selected("Retry with a limit").press("g").selected("Fix the flaky")
	s.press(".").see("Recent 8", "Yesterday", "8 October", "13 October 2025", "all projects, . for this one").selected("Fix the flaky")
	s.press("]").selected("Add pagination").press("]").selected("Retry").press("[").selected("Add pagination").press("[").selected("Migrate")
	s.press("enter").unseen("Recent 8").press("q").see("Recent 8").selected("Migrate")
	s.press("q").ends()
}

func TestSessionsFilterStory(t *testing.T) {
	t.Parallel()
	s := tell(t, someSessions(), 80, 24, listingAll)
	s.see("Migrate").press("/").types("the").see("/ the").see("of 8 sessions")
	s.press("ctrl+u").types("upl !limit").see("2 of 8 sessions").selected("Fix the flaky upload test")
	s.press("down").selected("progress bar").press("ctrl+k").selected("flaky").press("ctrl+n", "ctrl+p").selected("flaky")
	s.press("enter").unseen("2 of 8").press("q").see("/ upl !limit", "2 of 8").selected("flaky") // it is kept
	s.press("j").selected("progress bar").press("esc").see("8 sessions").unseen("/ upl").selected("progress bar")
	s.press("/").types("zzz").see("Nothing matches").press("esc").see("8 sessions")
	s.press("/").pastes("arm\n64").see("/ arm 64").selected("Why does").press("tab").press("y").copied(id(5))
	s.press("q").unseen("/ arm 64").press("q").ends()
}

func TestSessionsTabsStory(t *testing.T) {
	t.Parallel()
	s := tell(t, someSessions(), 160, 50, listing)
	s.see("Live 2", "Projects 5", "Trash 1")
	s.press("shift+tab").see("[Live 2]", "waits for you: Bash psql", "by its process", "greet-1a", "working").selected("Migrate")
	s.see("waits for you: Bash psql -c 'DROP TABLE users'", "known by its process")
	s.press("j").selected("greet-1a").press("enter").see("nothing was written to this session yet")
	s.press("tab", "tab").see("[Projects 5]", "3 sessions", "/home/dev/uploader").selected("store")
	s.press("j").selected("uploader").press("enter").see("[Recent 3]", "one project").selected("Fix the flaky")
	s.press("esc").see("[Projects 5]").selected("uploader")
	s.press("tab").see("[Trash 1]", "Try another router", "1d ago", "R restore")
	s.press("enter").see("deleted 2026-11-16 10:00").press("R").see("restored", "The trash is empty.")
	s.clicks("Recent", 1).see("[Recent 3]").clicks("Add a progress", 1).selected("Add a progress")
	s.turns(1).press("esc").see("q quits").press("q").ends()
}

func TestSessionsActionsStory(t *testing.T) {
	t.Parallel()
	f := someSessions()
	s := tell(t, f, 100, 30, listing)
	did := func(what string) *story {
		return s.waits("not done: "+what, func() bool { return strings.Contains(f.notes(), what) })
	}
	s.selected("Fix the flaky").press("e").see("exported to /home/dev/")
	did("export " + id(2) + " false")
	s.press("o").see("opened /home/dev/")
	did("export " + id(2) + " true")
	s.press("y").copied(id(2)).press("Y").copied("cd /home/dev/uploader && claude --resume " + id(2))
	s.press("R").see("Title: Fix the flaky upload test").press("ctrl+u").types("Fixed").press("enter").see("renamed").selected("Fixed")
	did("rename " + id(2) + " Fixed")
	s.press("t").see("Tag").types("done").press("enter").see("tagged", "opus-5-5 · main · done")
	s.press("t").see("Tag").press("esc").unseen("Tag (")
	s.press("i").see("last entry", "transcript", "/sessions/"+id(2)).press("esc").selected("Fixed")
	back := func(n int) *story { // after another program had the terminal
		return s.waits("not back", func() bool { return strings.Count(s.term.History(), otherPage) == n })
	}
	s.press("r")
	did("resume " + id(2))
	back(2).selected("Fixed").press("c")
	did("continue " + id(2))
	back(3).selected("Fixed").press("f").see("Fork", "y/n").press("n").unseen("y/n").press("f").see("y/n").press("y")
	did("fork " + id(2))
	back(4).selected("Fixed").press("D").see(`Move "Fixed" to the trash? y/n`).press("x").unseen("y/n").selected("Fixed")
	s.press("D").see("y/n").press("y").see("moved to the trash").unseen("Fixed").selected("Add a progress")
	if strings.Count(f.notes(), "delete") != 1 {
		t.Errorf("done: %s", f.notes())
	}
}

// A session that an agent has open is neither resumed nor deleted.
func TestSessionsOpenElsewhereStory(t *testing.T) {
	t.Parallel()
	f := someSessions()
	s := tell(t, f, 120, 30, listingAll)
	s.selected("Migrate").see("waits for you").press("r").see("an agent has this session open (process 4711): enter views it, Y copies")
	s.press("j", "k").unseen("process 4711").press("c").see("process 4711").press("j", "k").unseen("process 4711")
	s.press("D").see("not deleted: an agent has this session open (process 4711)")
	s.press("f").see("Fork").press("y").waits("not forked", func() bool { return strings.Contains(f.notes(), "fork "+id(1)) })
	for _, what := range []string{"resume", "continue", "delete"} {
		if strings.Contains(f.notes(), what) {
			t.Errorf("done: %s", f.notes())
		}
	}
}

// growSixth makes the sixth session of a story the second one, with another title.
func growSixth(f *fakeSource) {
	moved := f.infos[5]
	moved.Modified, moved.Size = storyTime.Add(-time.Minute), 99
	moved.AITitle = "Retry without a limit"
	f.infos = append(append([]sessions.SessionInfo{f.infos[0], moved}, f.infos[1:5]...), f.infos[6:]...)
}

// A readSource is a source that counts its readers, who read until the list is closed.
type readSource struct {
	*fakeSource
	measuring, looking atomic.Int32 // who looks at what runs
}

func (r *readSource) Measure(ctx context.Context, infos []sessions.SessionInfo) []sessions.Figures {
	r.measuring.Add(1)
	defer r.measuring.Add(-1)
	<-ctx.Done()
	return r.fakeSource.Measure(ctx, infos)
}

func (r *readSource) Running(ctx context.Context) ([]sessions.RunningSession, error) {
	r.looking.Add(1)
	defer r.looking.Add(-1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// Nothing is read after the program ended.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	r := &readSource{fakeSource: someSessions()}
	s := tell(t, r, 80, 24, listing)
	s.see("Fix the flaky").waits("the list is read", func() bool { return r.measuring.Load() > 0 && r.looking.Load() > 0 })
	s.press("q").ends()
	if measuring, looking := r.measuring.Load(), r.looking.Load(); measuring+looking != 0 {
		t.Errorf("the list is still read by %d and %d", measuring, looking)
	}
}

// A frame that is drawn before the message about a change shows the new titles in the new order.
func TestFramesAreConsistent(t *testing.T) {
	t.Parallel()
	f, opts := someSessions(), storyOptions()
	opts.Keys = keymap.Default()
	ctx, cancel := context.WithCancel(t.Context())
	a := &app{opts: opts, src: f, ctx: ctx, width: 80, height: 24, display: &display{}}
	s := newSessions(a, true)
	s.data.Start() // nothing sends messages about changes
	t.Cleanup(s.data.Close)
	t.Cleanup(cancel)
	if err := s.data.Open(ctx); err != nil {
		t.Fatal(err)
	}
	s.takeList(nil)
	a.mu.Unlock()
	f.change(func() { growSixth(f) })
	moved := "/sessions/" + id(6) + ".jsonl"
	polltest.Until(t, "the session that grew has its new title", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return s.data.Find(moved).Name == "Retry without a limit"
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := strings.Join(s.draw(80, 24).Lines, "\n")
	for _, text := range []string{"Migrate the store", "Retry without a limit", "Fix the flaky"} {
		var found bool
		if _, rest, found = strings.Cut(rest, text); !found {
			t.Errorf("%q is not below the lines before", text)
		}
	}
}

// Sessions that turn out to be not worth listing, before that is announced, do not move what the filter finds.
func TestFilterBeforeNews(t *testing.T) {
	t.Parallel()
	f, opts := someSessions(), storyOptions()
	opts.Keys = keymap.Default()
	a := &app{opts: opts, src: f, ctx: t.Context(), width: 80, height: 24, display: &display{}}
	s := newSessions(a, true)
	t.Cleanup(s.data.Close)
	t.Cleanup(s.cancel)
	var names []sessions.SessionInfo
	for _, info := range f.infos {
		names = append(names, sessions.SessionInfo{ID: info.ID, Path: info.Path, Project: info.Project, Modified: info.Modified, Size: info.Size})
	}
	s.data.Take(names)
	s.takeList(nil)
	s.filter.set("!x")
	s.rebuild()
	s.data.TakeSummaries(names[:2], view.DescribeAll(names[:2])) // nobody said anything in them
	s.filter.set("!xy")
	s.narrowed()
	for i, e := range s.rows {
		if e.ID != names[i].ID {
			t.Errorf("row %d is %s, want %s", i, e.ID, names[i].ID)
		}
	}
	if len(s.rows) != len(names) {
		t.Errorf("%d rows, want %d", len(s.rows), len(names))
	}
	s.changed()
	if len(s.rows) != len(names)-2 {
		t.Errorf("%d rows after the news, want %d", len(s.rows), len(names)-2)
	}
}

// The list changes below the cursor without moving it.
func TestSessionsChangeStory(t *testing.T) {
	t.Parallel()
	f := someSessions()
	s := tell(t, f, 80, 20, listingAll)
	s.see("Sort the changelog").press("j", "j").selected("Add a progress bar")
	f.change(func() { growSixth(f) })
	s.order("Migrate the store", "Retry without a limit", "Fix the flaky", "Add a progress bar").see("1m ago")
	s.selected("Add a progress bar").press("k", "k").selected("Retry without")
	f.change(func() { f.infos = f.infos[2:] }) // the selected one and the one before are gone
	s.unseen("Retry").selected("Add a progress bar")
	f.change(func() { f.infos = nil })
	s.see("There are no sessions yet")
}

func TestSessionsPreviewStory(t *testing.T) {
	t.Parallel()
	s := tell(t, someSessions(), 100, 30, listing)
	s.see("│ Fix the flaky upload test").press("p").unseen("│").press("p").see("│ Fix")
	s.press("P").unseen("│").see("It ran 100 times").press("P").see("│ Fix")
	s = tell(t, someSessions(), 80, 24, listing)
	s.see("> Please").resize(80, 20).unseen("> Please").press("p").see("opus-5-5 · main").press("p").unseen("opus-5-5 · main")
	s.resize(1, 1).resize(40, 12).see("Fix the flaky").resize(120, 30).unseen("> Please").press("p").see("│ Fix")
}

func TestHelpStory(t *testing.T) {
	t.Parallel()
	s := tell(t, someSessions(), 80, 24, listing)
	s.selected("Fix").press("?").see("Keys", "Sessions", "move down").press("pgdown").see("tag the session").types("trash").see("move the session to the trash").unseen("tag the session")
	s.press("esc").see("move down").press("esc").selected("Fix")
	s.press("?").see("Keys").press("?").selected("Fix")
}

func TestPaletteStory(t *testing.T) {
	t.Parallel()
	f := someSessions()
	s := tell(t, f, 80, 24, listing)
	s.selected("Fix").press("ctrl+p").see("open the session").types("expo").see("export as a page").press("enter").see("exported to")
	s.press("ctrl+p").types("zzz").see("No action matches").press("enter", "esc").selected("Fix")
	s.press("ctrl+p").types("quit").press("down", "up", "esc").selected("Fix").press("ctrl+p").types("suspend").press("enter")
	s.waits("not suspended and continued", func() bool { return s.suspended.Load() && strings.Contains(s.term.Text(), "Fix") })
	s.press("ctrl+p").types("'quit").press("enter").ends()
}

func foundResults() *view.Found {
	hit := func(n, turn int, role search.Role, tool, text, match string) search.Hit {
		from := strings.Index(text, match)
		return search.Hit{
			File: &sessions.File{Project: "-home-dev-uploader"}, SessionID: id(n), Line: 3 * turn, Turn: turn, Role: role, Tool: tool,
			Time: storyTime.Add(-time.Duration(turn) * time.Hour), Text: text, Matches: []search.Span{{Start: from, End: from + len(match)}},
		}
	}
	infos := someSessions().infos
	return &view.Found{Sessions: []view.FoundSession{
		{Info: infos[1], More: 4, Hits: []search.Hit{
			hit(2, 1, search.Prompt, "", "The upload test fails one run in ten. Find out why the connection is refused.", "refused"),
			hit(2, 2, search.Tool, "Bash", "dial tcp 127.0.0.1:9000: connect: connection refused", "refused"),
		}},
		{Info: infos[3], Hits: []search.Hit{hit(4, 7, search.Answer, "", "The API refused the page number.", "refused")}},
	}, More: 9}
}

func TestSearchStory(t *testing.T) {
	t.Parallel()
	f := someSessions()
	f.found = foundResults()
	f.found.Sessions[1].Info.ForkedFrom = id(1)
	s := tell(t, f, 80, 24, listing)
	s.selected("Fix").press("ctrl+f").see("Words to find").types("refused").see("3 of 12 results", "fork: ", "uploader · 1h ago", "connection refused", "1 prompt").selected("refused")
	s.press("down").selected("connection refused").press("enter").unseen("3 of 12").press("q").see("3 of 12").selected("connection refused")
	s.press("j").selected("The API").press("y").copied(id(4)).press("/").types(" zzz").see("refused zzz")
	s.waits("not searched", func() bool { return strings.Contains(f.notes(), "search refused zzz") })
	s.press("esc").selected("Fix")
	s.press("/").types("flaky").press("ctrl+f").see("Search  flaky", "3 of 12")
}

// A slowSource searches until the test lets it continue, or until the search is canceled.
type slowSource struct {
	*fakeSource
	goOn chan struct{}
}

func (f *slowSource) Search(ctx context.Context, words string, _ int, progress func(done, total int64)) (*view.Found, error) {
	progress(40, 100)
	f.note("began %s", words)
	select {
	case <-f.goOn:
		return foundResults(), nil
	case <-ctx.Done():
		f.note("gave up %s", words)
		return nil, ctx.Err()
	}
}

// A growingSource has the results of each search from the test.
type growingSource struct {
	*fakeSource
	results chan *view.Found
}

func (f *growingSource) Search(ctx context.Context, words string, _ int, _ func(done, total int64)) (*view.Found, error) {
	f.note("search %s", words)
	select {
	case found := <-f.results:
		return found, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// While the index is being built, the search is repeated. The results stay until there are others, and
// the same one stays selected.
func TestSearchWhileTheIndexGrows(t *testing.T) {
	t.Parallel()
	f := &growingSource{fakeSource: someSessions(), results: make(chan *view.Found, 1)}
	s := tell(t, f, 80, 24, func(a *app) screen { return newSearch(a, "refused") })
	part := foundResults()
	part.Indexing = &view.Indexing{Done: 40, Total: 100}
	f.results <- part
	s.see("12 results so far, reading sessions, 40 %").press("down").selected("connection refused")
	s.waits("not repeated", func() bool { return strings.Count(f.notes(), "search refused") == 2 })
	s.see("12 results so far").selected("connection refused")

	more := foundResults()
	more.Indexing = &view.Indexing{Done: 80, Total: 100}
	first := more.Sessions[1].Hits[0]
	first.SessionID, first.Text = id(1), "It refused the first one."
	more.Sessions = append([]view.FoundSession{{Info: someSessions().infos[0], Hits: []search.Hit{first}}}, more.Sessions...)
	f.results <- more
	s.see("13 results so far, reading sessions, 80 %", "It refused the first one").selected("connection refused")
	whole := *more
	whole.Indexing = nil
	f.results <- &whole
	s.see("4 of 13 results").selected("connection refused").press("enter").unseen("4 of 13")
}

// The next key ends a search, and progress is shown.
func TestSearchIsGivenUp(t *testing.T) {
	t.Parallel()
	f := &slowSource{fakeSource: someSessions(), goOn: make(chan struct{})}
	s := tell(t, f, 80, 24, func(a *app) screen { return newSearch(a, "") })
	did := func(what string) {
		s.waits("not done: "+what, func() bool { return strings.Contains(f.notes(), what) })
	}
	s.see("Words to find").types("re").see("reading sessions, 40 %", "builds an index")
	did("began re")
	s.types("fused")
	did("gave up re")
	did("began refused")
	close(f.goOn)
	s.see("3 of 12").press("esc").see("q quits").press("q").ends()
}

// The session of a job is in the list of the project that its repository has, and names the job among its facts.
func TestSessionsOfJobsStory(t *testing.T) {
	t.Parallel()
	f := someSessions()
	job := f.infos[3]
	job.ID, job.Path, job.Project = id(11), "/sessions/"+id(11)+".jsonl", "-w-trees-cqrshifid5z2-1-bbbbbbbb-work"
	job.AITitle, job.CWD = "Mend it by a job", "/w/trees/cqrshifid5z2-1-bbbbbbbb/work"
	job.Job = sessions.Job{ID: "cqrshifid5z2", Attempt: 1, Repository: "/home/dev/uploader", Directory: "/home/dev/uploader"}
	f.infos = append(f.infos, job)
	s := tell(t, f, 160, 50, listing)
	s.see("Recent 4", "Projects 5", "Mend it by a job")
	s.press("G").selected("Mend it").press("i").see("cqrshifid5z2", "/home/dev/uploader").press("esc")
	s.press("tab").see("[Projects 5]", "4 sessions").press("j").selected("uploader").press("enter").see("[Recent 4]", "Mend it by a job")
}
