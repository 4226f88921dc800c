package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A check that hangs in the system is given up, the others count, and all of it takes no longer than the limit.
func TestDoctorGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		o := &doctorOptions{streams: Streams{Err: new(bytes.Buffer)}, limit: 10 * time.Second, patience: time.Second}
		begun := time.Now()
		found := o.examine(t.Context(), []check{
			{"one", func(context.Context) []diagnosis { <-hang; return nil }},
			{"two", func(context.Context) []diagnosis { return []diagnosis{{State: healthy, Found: "fine"}} }},
			{"three", func(context.Context) []diagnosis { <-hang; return nil }},
			{"four", func(ctx context.Context) []diagnosis {
				<-ctx.Done()
				return []diagnosis{{State: noted, Found: "in part"}}
			}},
		})
		var got []string
		for _, d := range found {
			got = append(got, d.Check+" "+string(d.State)+" "+d.Found)
		}
		want := "one warning it was given up after 10s|two ok fine|three warning it was given up after 10s|four note in part"
		if strings.Join(got, "|") != want {
			t.Errorf("found %q", got)
		}
		if took := time.Since(begun); took != o.limit+grace {
			t.Errorf("it took %v", took)
		}
	})
}

// An interrupt ends it at once.
func TestDoctorInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o := &doctorOptions{streams: Streams{Err: new(bytes.Buffer)}, limit: 10 * time.Second, patience: time.Second}
		begun := time.Now()
		o.examine(ctx, []check{{"one", func(context.Context) []diagnosis { <-hang; return nil }}})
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// An agent that does not answer is not waited for, nor for what it has started.
func TestDoctorSilentAgent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent is a shell script")
	}
	path := filepath.Join(t.TempDir(), "claude")
	script := "#!/bin/sh\necho begun\nsleep 3\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if version, err := agentVersion(ctx, path); err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("version %q, %v", version, err)
	}
}

func TestDoctorText(t *testing.T) {
	found := []diagnosis{
		{Check: "agent settings", State: unhealthy, Found: "something is wrong here", Advice: "Do this."},
		{Check: "clew", State: healthy, Found: "fine"},
	}
	want := "\x1b[31mproblem\x1b[0m  agent settings  something is wrong here\n" +
		"                         > Do this.\n\x1b[32mok\x1b[0m       clew            fine\n"
	if got := doctorText(found, 80, true); got != want {
		t.Errorf("in colours: %q", got)
	}
	want = "problem  agent settings\n  something is wrong\n  here\n  > Do this.\nok       clew\n  fine\n"
	if got := doctorText(found, 20, false); got != want {
		t.Errorf("in 20 columns: %q", got)
	}
}

func TestDoctorVersions(t *testing.T) {
	for version, want := range map[string]health{
		testedAgent: healthy, testedAgent + "-beta": healthy, "2.1.99": noted, "2.10.0": noted, "10.0.0": noted,
		"1.0.128": worrying, "0.2.125": worrying,
	} {
		if got, _, _ := judgeVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func TestDoctorIndex(t *testing.T) {
	dir := t.TempDir()
	place := func(name, content string) func() (string, error) {
		path := filepath.Join(dir, name)
		if content != "" {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return func() (string, error) { return path, nil }
	}
	for _, tt := range []struct {
		place func() (string, error)
		state health
		found string
	}{
		{place("none", ""), healthy, "not built yet"},
		{place("good", "SQLite format 3\x00and more"), healthy, "24 B, written 20"},
		{place("bad", "SQLite format 4\x00"), worrying, "bad: it is damaged"},
		{place("short", "SQL"), worrying, "short: it is damaged"},
		{place(".", ""), worrying, "it is not a file"},
		{func() (string, error) { return "", os.ErrPermission }, noted, "there is no place for it"},
	} {
		d := checkIndex(tt.place)[0]
		if d.State != tt.state || !strings.Contains(d.Found, tt.found) {
			t.Errorf("%s %q; want %s %q", d.State, d.Found, tt.state, tt.found)
		}
	}
}

func TestDoctorLooksAtIndex(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	hostileHome(t)
	var out bytes.Buffer
	execute(t.Context(), []string{"doctor"}, Streams{Out: &out, Err: new(bytes.Buffer)})
	if !strings.Contains(out.String(), "ok       search index    not built yet") {
		t.Errorf("it shows:\n%s", out.String())
	}
}
