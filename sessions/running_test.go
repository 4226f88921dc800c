package sessions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
)

// processFile returns what an agent with this process ID writes, with more members.
func processFile(pid int, more string) string {
	return fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":"/p","startedAt":1794890029811,"version":"2.1.325","entrypoint":"cli",`+
		`"name":"p-1a","status":"waiting","statusUpdatedAt":1794890031522,"waitingFor":"permission prompt"%s}`, pid, id(1), more)
}

func TestRunning(t *testing.T) {
	t.Parallel()
	self, root := os.Getpid(), t.TempDir()
	name := fmt.Sprintf("sessions/%d.json", self)
	write(t, root, name, processFile(self, ""))
	write(t, root, "sessions/99999999.json", processFile(99999999, "")) // such a process can't be
	write(t, root, "sessions/99999998.json", "{")
	write(t, root, "sessions/notes.json", "{")
	write(t, root, "sessions/7.txt", "{")
	got, err := sessions.Running(t.Context(), root, t.TempDir())
	want := []sessions.RunningSession{{
		ID: id(1), PID: self, Root: root, CWD: "/p", Name: "p-1a", Version: "2.1.325", Entrypoint: "cli",
		Status: "waiting", WaitingFor: "permission prompt",
		Started:     time.Date(2026, 11, 17, 4, 33, 49, 811_000_000, time.UTC),
		StatusSince: time.Date(2026, 11, 17, 4, 33, 51, 522_000_000, time.UTC),
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Impossible entries are not listed, and unreadable ones are named beside the others.
func TestRunningDoubts(t *testing.T) {
	t.Parallel()
	self := os.Getpid()
	tests := map[string]struct {
		text   string
		listed bool
		err    string
	}{
		"another process":      {text: processFile(self+1, "")},
		"no session":           {text: fmt.Sprintf(`{"pid":%d}`, self)},
		"an unknown status":    {text: processFile(self, `,"status":"dancing"`), listed: true},
		"a status of no words": {text: processFile(self, `,"status":7`), err: "status"},
		"cut off":              {text: processFile(self, "")[:40], err: "unexpected end"},
		"empty":                {err: "unexpected end"},
		"huge":                 {text: strings.Repeat(" ", 65<<10) + processFile(self, ""), err: "more than"},
		"odd times":            {text: processFile(self, `,"startedAt":-1,"statusUpdatedAt":1e300`), listed: true},
	}
	if runtime.GOOS == "linux" {
		tests["started at another time"] = struct {
			text   string
			listed bool
			err    string
		}{text: processFile(self, `,"procStart":"1"`)}
		tests["in another container"] = struct {
			text   string
			listed bool
			err    string
		}{text: processFile(self, `,"pidDomain":"linux:0:pid:[1]"`)}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			file := fmt.Sprintf("sessions/%d.json", self)
			write(t, root, file, tt.text)
			got, err := sessions.Running(t.Context(), root)
			if (len(got) == 1) != tt.listed {
				t.Errorf("got %+v", got)
			}
			switch {
			case tt.err == "" && err == nil:
			case err == nil || tt.err == "" || !strings.Contains(err.Error(), tt.err) ||
				!strings.Contains(err.Error(), filepath.Join(root, filepath.FromSlash(file))):
				t.Errorf("got the error %v, want one with %q", err, tt.err)
			}
		})
	}
}
