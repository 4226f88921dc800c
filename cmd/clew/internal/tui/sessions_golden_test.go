package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
)

// listStories lists the screens of the list, of the search and of their overlays, each with the
// keys that lead to it and a text that is then on it.
var listStories = []struct {
	name string
	keys []string
	see  string
}{
	{"sessions", nil, "Fix the flaky"},
	{"sessions_all", []string{"."}, "Migrate"},
	{"sessions_live", []string{"shift+tab"}, "greet-1a"},
	{"sessions_projects", []string{"tab"}, "engine"},
	{"sessions_trash", []string{"tab", "tab"}, "Try another"},
	{"sessions_filter", []string{".", "/", "f", "l", "a", "space", "u"}, "fla u"},
	{"sessions_nothing", []string{"/", "z", "z", "z"}, "Nothing"},
	{"sessions_preview", []string{"p"}, "Fix"},
	{"sessions_place", []string{"P"}, "Fix"},
	{"sessions_delete", []string{"D"}, "y/n"},
	{"sessions_rename", []string{"R"}, "Title:"},
	{"sessions_info", []string{"i"}, "20000002"},
	{"help", []string{"?"}, "move down"},
	{"help_filter", []string{"?", "t", "a", "b"}, "tab"},
	{"palette", []string{"ctrl+p"}, ":"},
	{"palette_filter", []string{"ctrl+p", "c", "o", "p"}, "copy the ID"},
	{"search", []string{"ctrl+f"}, "Words to find"},
	{"search_results", []string{"ctrl+f", "r", "e", "f", "u", "s", "e", "d"}, "of 12"},
}

func TestListScreens(t *testing.T) {
	t.Parallel()
	for _, tt := range listStories {
		inAllSizes(t, tt.name, func(t *testing.T, opts Options, columns, rows int) *story {
			t.Helper()
			f := someSessions()
			f.found = foundResults()
			s := tellWith(t, opts, f, columns, rows, listing)
			return s.see("Fix the flaky").press(tt.keys...).see(tt.see)
		})
	}
	inAllSizes(t, "sessions_empty", func(t *testing.T, opts Options, columns, rows int) *story {
		t.Helper()
		return tellWith(t, opts, newFakeSource(), columns, rows, listing).see("no sessions yet")
	})
}

// hostileTexts lists texts that a list must survive.
var hostileTexts = []string{
	"\x1b]2;owned\a\x1b[2J\x1b[31mred", "\u202eevil\u202c \u200b\u2066", "\x9b31m\x00\r\nnext\tline", "你好你好你好你好你好你好你好你好你好你好你好你好",
	"👩\u200d👩\u200d👧\u200d👦 e\u0301\u0301\u0301 \ufeff", strings.Repeat("long ", soak.Size(200, 5000)), "\xff\xfe invalid", "",
}

// hostileSessions are sessions whose every text is hostile.
func hostileSessions() *fakeSource {
	f := newFakeSource()
	found := &view.Found{Note: hostileTexts[0]}
	for i, text := range hostileTexts {
		path := fmt.Sprintf("/sessions/%d\x1b[31m", i)
		f.infos = append(f.infos, sessions.SessionInfo{
			ID: text + id(i), Project: text, Path: path, Modified: storyTime, Size: 1,
			Summary: sessions.Summary{
				CustomTitle: text, FirstPrompt: text, LastPrompt: text, GitBranch: text, Model: text, CWD: "/" + text, Tag: text,
				PermissionMode: text, Version: text, Entrypoint: text, Created: storyTime, LastTime: storyTime,
			},
		})
		f.running = append(f.running, sessions.RunningSession{ID: text + id(i), Status: text, WaitingFor: text, Name: text, CWD: text})
		f.running = append(f.running, sessions.RunningSession{ID: text, Status: "waiting", WaitingFor: text, Name: text, CWD: text})
		f.glances[text+id(i)] = view.Glance{Prompt: text, Answer: text, Call: text}
		f.trash = append(f.trash, sessions.TrashedSession{ID: text, Project: text, Title: text, Deleted: storyTime, Path: path})
		if text != "" {
			found.Sessions = append(found.Sessions, view.FoundSession{Info: f.infos[i], Hits: []search.Hit{{
				File: &sessions.File{Project: text}, SessionID: text, AgentID: text, Tool: text, Text: text,
				Matches: []search.Span{{Start: 0, End: 1}},
			}}})
		}
	}
	f.found = found
	return f
}

// No text of a session controls the terminal, whatever screen shows it.
func TestListScreensHostile(t *testing.T) {
	t.Parallel()
	for _, tt := range listStories {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tell(t, hostileSessions(), 120, 30, listingAll)
			s.see("Recent").press(tt.keys...).press("j", "k", "y", "Y")
			for _, size := range [][2]int{{37, 11}, {1, 1}, {200, 60}, {120, 30}} {
				s.resize(size[0], size[1])
			}
			s.waits("no frame", func() bool { return s.term.Written() > 0 })
			if text := s.term.Text(); strings.ContainsAny(text, "\u202e\u200b\u2066\ufeff") || s.term.Title() == "owned" {
				t.Errorf("the screen has\n%s", text)
			}
		})
	}
}

// At every size, no line is wider than the screen, and there are no more of them.
func TestListScreensFit(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]*fakeSource{"usual": someSessions(), "hostile": hostileSessions()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, s := range readyScreens(t, source) {
				for _, width := range soak.Widths(1) {
					checkListFits(t, s, i, width, 1+(width*7)%50)
				}
			}
		})
	}
}

func checkListFits(t *testing.T, s screen, i, width, height int) {
	t.Helper()
	a := appOf(s)
	a.width, a.height = width, height
	frame := s.draw(width, height)
	if len(frame.Lines) > height {
		t.Fatalf("screen %d at %dx%d has %d lines", i, width, height, len(frame.Lines))
	}
	for _, line := range frame.Lines {
		if n := tty.PaintedWidth(line); n > width {
			t.Fatalf("screen %d at %dx%d has a line of %d columns: %q", i, width, height, n, line)
		}
	}
	if c := frame.Cursor; c != nil && (c.X < 0 || c.X >= width || c.Y < 0 || c.Y >= height) {
		t.Fatalf("screen %d at %dx%d has its cursor at %v", i, width, height, *c)
	}
}

func appOf(s screen) *app {
	switch s := s.(type) {
	case *sessionsScreen:
		return s.app
	case *searchScreen:
		return s.app
	case *helpScreen:
		return s.app
	case *palette:
		return s.app
	case *dialog:
		return s.app
	case *page:
		return s.app
	}
	return nil
}

// readyScreens returns screens that have everything that they show, without a terminal.
func readyScreens(t *testing.T, f *fakeSource) []screen {
	t.Helper()
	opts := storyOptions()
	opts.Keys = keymap.Default()
	a := &app{opts: opts, src: f, ctx: t.Context(), width: 80, height: 24, display: &display{}}
	list := func(tab tab, typed string) *sessionsScreen {
		s := newSessions(a, true)
		f.mu.Lock()
		infos := f.infos
		f.mu.Unlock()
		s.data.Take(infos)
		s.takeList(nil)
		s.data.TakeSummaries(f.infos, view.DescribeAll(f.Summarize(t.Context(), f.infos)))
		s.data.Running = view.Running(f.running)
		s.data.trash = f.trash
		s.changed()
		s.show(tab)
		s.filter.set(typed)
		s.typing = typed != ""
		s.rebuild()
		for _, info := range f.infos {
			g, _ := f.Glance(t.Context(), info)
			s.preview.take(glanceMsg{info.Path, &glance{Glance: g, modified: info.Modified}})
		}
		return s
	}
	screens := []screen{newSessions(a, false), list(liveTab, ""), list(recentTab, ""), list(projectsTab, ""), list(trashTab, ""), list(recentTab, "o")}
	recent := list(recentTab, "")
	a.stack = []screen{recent}
	found := newSearch(a, "refused \x1b[31m").(*searchScreen) //nolint:forcetypeassert // it is one
	found.take(resultMsg{found: f.found, words: "refused"})
	empty := newSearch(a, "")
	screens = append(screens, found, empty, newHelp(a, recent), newPalette(a, recent), newInfo(a, recent, f.infos[0].Path))
	a.confirm("Move \"你好你好你好你好你好你好你好\" to the trash?", nil)
	question := a.top()
	a.askLine("Title:", hostileTexts[3]+hostileTexts[4], nil)
	return append(screens, question, a.top())
}
