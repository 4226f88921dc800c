package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// listedSession returns a session for a list, with the figures for the given number of answers.
func listedSession(id, title string, age, took time.Duration, answers int) *view.Entry {
	at := clitest.Now.Add(-age)
	info := sessions.SessionInfo{
		ID: id + "-0000-4000-8000-000000000001", Project: "-home-dev-uploader", Modified: at,
		Summary: sessions.Summary{
			CustomTitle: title, CWD: "/home/dev/uploader", GitBranch: "main", Model: "claude-opus-5-5-20261001",
			Created: at.Add(-took), LastTime: at,
		},
	}
	return countedSession(&info, answers, info.Model)
}

// countedSession returns a session whose first answer is from a model.
func countedSession(info *sessions.SessionInfo, answers int, model string) *view.Entry {
	e := &view.Entry{Described: view.Describe(*info), Read: true}
	if answers > 0 {
		f := sessions.Figures{Turns: answers / 10, FilesChanged: answers / 20}
		for i := range answers {
			f.Calls = append(f.Calls, usage.Call{
				MessageID: fmt.Sprint(info.ID, i), Model: info.Model, Usage: usage.Usage{InputTokens: 900, OutputTokens: 600, CacheReadTokens: 9000},
			})
		}
		f.Calls[0].Model = model
		e.Figures = view.Count(info, &f, usage.DefaultPrices())
	}
	return e
}

// shownList returns a list with everything that a list can have.
func shownList() *lsList {
	l := &lsList{now: clitest.Now, byDay: true}
	l.Order = []*view.Entry{
		listedSession("9a6a0100", "Migrate the store to Postgres 17", time.Second, 9*time.Minute, 20),
		listedSession("de1b4c1c", "Fix the flaky upload test", 2*time.Hour, 48*time.Minute, 120),
		listedSession("95c1ed52", "Add pagination to /api/users", 19*time.Hour, 2*time.Hour+7*time.Minute, 310),
		listedSession("b184751d", "Why does the build of the release candidate fail on arm64, and since when?", 27*time.Hour, 41*time.Second, 12),
		listedSession("00aa11bb", "你好世界: translate the whole of the manual into Chinese", 5*24*time.Hour, 51*time.Hour, 990),
		listedSession("11bb22cc", "A session that is too large to be counted", 40*24*time.Hour, 11*time.Hour, 0),
		listedSession("22cc33dd", "", 700*24*time.Hour, 0, 0),
	}
	l.Order[0].Ongoing = true
	other := l.Order[1]
	other.Project, other.CWD, other.GitBranch = "-home-dev-website", "/home/dev/website", "feat/some-branch-with-a-long-name"
	other.Described = view.Describe(other.SessionInfo)
	l.Order[3] = countedSession(&l.Order[3].SessionInfo, 12, "unknown")
	last := l.Order[6]
	last.Described = view.Describe(sessions.SessionInfo{
		ID: last.ID, Project: "p", Modified: last.Modified, Err: fmt.Errorf("open x: %w", os.ErrPermission),
	})
	return l
}

func TestListScreen(t *testing.T) {
	t.Parallel()
	for _, width := range clitest.Widths {
		golden.Check(t, fmt.Sprintf("screens/ls_%d", width), shownList().screen(width, false))
		golden.Check(t, fmt.Sprintf("screens/ls_%d_color", width), shownList().screen(width, true))
	}
}

// hostileTexts are texts that a screen must survive wherever a session has a text.
var hostileTexts = []string{
	"", " ", "\x1b[2J\x1b]0;title\x07", strings.Repeat("x", 1000), strings.Repeat("你", 300), "a\nb\r\nc\td", "e\u0301\u0301\u0301",
	"\u202Eright to left\u202C", "\xff\xfe\x00", strings.Repeat("👩‍👩‍👧 ", 40), "-", "\u200b\u200b",
}

// Whatever the texts and the width, no line is wider than the screen, and nothing reaches the
// terminal that controls it.
func TestListScreenFits(t *testing.T) {
	t.Parallel()
	l := shownList()
	for i, text := range hostileTexts {
		e := listedSession("ffffffff", text, time.Duration(i)*time.Hour, time.Minute, 20*i)
		e.Project, e.CWD, e.GitBranch, e.Model = text, text, text, text
		e.Described = view.Describe(e.SessionInfo)
		l.Order = append(l.Order, e)
	}
	for _, width := range soak.Widths(1) {
		checkLines(t, l.screen(width, false), width)
		checkLines(t, l.table(width, false), width)
	}
}

// A session can be recognized at any width: its title never makes room for other columns.
func TestListScreenKeepsTitles(t *testing.T) {
	t.Parallel()
	l := shownList()
	for width := 20; width <= 200; width++ {
		text := l.screen(width, false)
		for _, e := range l.Order {
			begin := tty.Cut(e.Title(), min(10, width-12))
			if !strings.Contains(text, begin) && e.Err == nil {
				t.Errorf("in %d columns, %q is missing:\n%s", width, begin, text)
			}
		}
	}
}

// checkLines fails if a line of a text without color does not fit.
func checkLines(t *testing.T, text string, width int) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("in %d columns, the text has no end: %q", width, text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := tty.Width(line); n > width || strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("in %d columns, a line has %d: %q", width, n, line)
		}
	}
}

func TestListFooter(t *testing.T) {
	t.Parallel()
	known, unknown := &view.Entry{}, &view.Entry{Figures: &view.Figures{Costs: usage.Costs{Unknown: make([]usage.ModelCost, 1)}}}
	for _, tt := range []struct {
		name  string
		o     lsOptions
		rows  []*view.Entry
		found int
		want  string
	}{
		{"all", lsOptions{}, []*view.Entry{known}, 1, ""},
		{"all, without a price", lsOptions{}, []*view.Entry{known, unknown}, 2, "≥ and ?: a price is unknown\n"},
		{"more", lsOptions{}, []*view.Entry{known, known}, 9, "2 of 9 sessions · --limit 0 lists all · --all lists all projects\n"},
		{
			"more of all projects, without a price", lsOptions{all: true}, []*view.Entry{known, unknown}, 1200,
			"2 of 1,200 sessions · --limit 0 lists all · ≥ and ?: a price is unknown\n",
		},
	} {
		tt.o.streams.Out = new(strings.Builder)
		got := tt.o.footer(&lsList{List: view.List{Order: tt.rows}, found: tt.found}, &sessions.ListOptions{Limit: 2})
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestListStates lists sessions that agents have open. Their processes know more than their transcripts.
func TestListStates(t *testing.T) {
	t.Parallel()
	l := shownList()
	l.Order = l.Order[:4]
	l.Order[1].Ongoing = true
	l.Running = view.Running([]sessions.RunningSession{
		{ID: l.Order[1].ID, Status: "waiting", WaitingFor: "permission prompt"}, {ID: l.Order[2].ID, Status: "idle"},
	})
	want := []string{"working", "waits", "open", ""}
	table := strings.Split(l.table(0, false), "\n")
	screen := strings.Split(l.screen(100, false), "\n")
	for i, state := range want {
		if got := l.record(l.Order[i]).State; got != state {
			t.Errorf("--json, session %d: %q, not %q", i, got, state)
		}
		if got := strings.Fields(table[i+1])[1]; got != cmp.Or(state, "-") {
			t.Errorf("table, session %d: %q, not %q", i, got, state)
		}
		id := l.id(l.Order[i])
		line := screen[slices.IndexFunc(screen, func(line string) bool { return strings.Contains(line, id) })]
		if strings.HasPrefix(line, mark) != (state != "") || !strings.Contains(line, state) {
			t.Errorf("screen, session %d is not %q: %s", i, state, line)
		}
	}
}
