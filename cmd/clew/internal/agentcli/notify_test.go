package agentcli

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/permission"
)

// A turn that took long ends with a notification, unless the user was just there.
func TestNotifyTurnEnded(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("TERM_PROGRAM", "")
	want := tty.Notification("xterm-256color", "", "clew repo", "the turn ended")
	for _, tt := range []struct {
		name     string
		took     time.Duration
		answered time.Duration // when the user answered a question, or 0
		off      bool
		want     string
	}{
		{name: "short", took: 9 * time.Second},
		{name: "long", took: 11 * time.Second, want: want},
		{name: "long, after an answer", took: 60 * time.Second, answered: 20 * time.Second, want: want},
		{name: "soon after an answer", took: 60 * time.Second, answered: 55 * time.Second},
		{name: "turned off", took: time.Hour, off: true},
	} {
		s := newTestScreen(80, false)
		var got strings.Builder
		s.err, s.notices.wanted = &got, !tt.off
		s.busy("thinking")
		s.time = s.time.Add(tt.answered)
		if tt.answered > 0 {
			s.userActed()
		}
		s.time = s.time.Add(tt.took - tt.answered)
		s.idle()
		s.turnEnded()
		if got.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got.String(), tt.want)
		}
	}
}

// A question notifies a user who does not answer it, once.
func TestNotifyQuestionWaits(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("TERM_PROGRAM", "")
	for _, tt := range []struct {
		name           string
		before, answer time.Duration // the question, and its answer after that
		want           int
	}{
		{"answered at once", time.Second, 5 * time.Second, 0},
		{"not answered", time.Second, time.Hour, 1},
		{"asked after a long time", time.Minute, time.Second, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var said strings.Builder
			scr := newScreen(clikit.Streams{Out: io.Discard, Err: &said})
			scr.wanted = true
			scr.busy("thinking")
			time.Sleep(tt.before)
			a := newQuestioner(t.Context(), clikit.Streams{}, scr)
			a.console = console{in: lateUser(tt.answer), size: func() (int, int) { return 80, 24 }}
			if _, err := a.decide(t.Context(), &permission.Request{ToolName: "Bash", Input: `{"command":"ls"}`}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(said.String(), tty.Notification("xterm-256color", "", "clew", questionWaits)); got != tt.want {
				t.Errorf("%s: %d notifications in %q", tt.name, got, said.String())
			}
		})
	}
}

// A lateUser answers yes after a time.
type lateUser time.Duration

func (u lateUser) want() <-chan string {
	to := make(chan string, 1)
	time.AfterFunc(time.Duration(u), func() { to <- "y" })
	return to
}

func (lateUser) awaited() bool { return false }

// Only a terminal that can do more than lines gets notifications, and only if the user wants them.
func TestNotifyIsForTerminals(t *testing.T) {
	if scr := newScreen(clikit.Streams{Out: io.Discard, Err: io.Discard}); scr.wanted {
		t.Error("a pipe gets notifications")
	}
	for value, want := range map[string]bool{"": true, "true": true, "1": true, "false": false, "0": false} {
		t.Setenv("CLEW_NOTIFY", value)
		if wantsNotices() != want {
			t.Errorf("CLEW_NOTIFY=%s: notifications are %t", value, !want)
		}
	}
}
