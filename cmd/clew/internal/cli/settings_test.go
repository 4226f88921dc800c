package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/cmd/clew/internal/config"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/shelltest"
	"github.com/clewdev/clew/internal/soak"
)

// Each setting with a flag belongs to a command, or to a command that does not exist yet, and
// accepts its own example.
func TestSettingsHaveFlags(t *testing.T) {
	for _, s := range config.All() {
		if s.Flag == "" {
			continue
		}
		root := newRoot(Streams{})
		found := false
		for _, cmd := range root.Commands() {
			flag := cmd.Flags().Lookup(s.Flag)
			if flag == nil || !slices.Contains(s.Commands, cmd.Name()) {
				continue
			}
			found = true
			if _, isList := flag.Value.(interface{ Replace(values []string) error }); isList && !s.IsList() {
				t.Errorf("%s is not a list, and --%s of %s is one", s.Key, s.Flag, cmd.Name())
			}
			if s.Default != "" && s.Default != flag.DefValue {
				t.Errorf("the default of %s is %s, and that of --%s is %s", s.Key, s.Default, s.Flag, flag.DefValue)
			}
		}
		if !found {
			t.Errorf("%s: none of %v has --%s", s.Key, s.Commands, s.Flag)
		}
	}
}

// The help lists the settings that a project's file cannot set.
func TestConfigHelpListsPersonalSettings(t *testing.T) {
	_, list, _ := strings.Cut(strings.ReplaceAll(configHelp, "\n", " "), "names files: ")
	list, _, _ = strings.Cut(list, ". ")
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for _, s := range config.All() {
		if listed := slices.Contains(words, s.Key); listed != s.Personal {
			t.Errorf("%s: listed is %v, personal %v", s.Key, listed, s.Personal)
		}
	}
}

// A flag that decides the same wins over a setting.
func TestSettingsRival(t *testing.T) {
	for given, want := range map[string]string{
		"": "plan", "--dangerously-skip-permissions": "", "--permission-mode=auto": "auto",
	} {
		t.Setenv("CLEW_PERMISSION_MODE", "plan")
		st := &settings{}
		root := &cobra.Command{Use: "clew", PersistentPreRunE: st.prepare}
		cmd := &cobra.Command{Use: "run", Run: func(*cobra.Command, []string) {}}
		mode := cmd.Flags().String("permission-mode", "", "")
		cmd.Flags().Bool("dangerously-skip-permissions", false, "")
		root.AddCommand(cmd)
		root.SetArgs(strings.Fields("run " + given))
		if err := root.ExecuteContext(t.Context()); err != nil || *mode != want {
			t.Errorf("with %q: mode %q, %v; want %q", given, *mode, err, want)
		}
	}
}

// Hostile settings, a hostile agent and hostile kinds in a transcript reach the terminal neither.
func TestConfigDoctorHostile(t *testing.T) {
	path := hostileHome(t)
	appendTo(t, path, `{"type":"\u001b[2Jowned\u202e","sessionId":"`+hostileID+`","version":"\u001b]0;owned\u0007"}`+"\n")
	dir := t.TempDir()
	t.Chdir(dir)
	settings := "\"\\x1b[2Jowned\\u202e\": 1\nmodel: \"\\x1b[2J\"\nx\x1b[2J: 1\n" +
		"effort: owned\u202e\ntools: [\"\\u2066owned\"]\n"
	if err := os.WriteFile(settingsName, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CLEW_AGENT", filepath.Join(dir, "\x1b[2Jowned\u202e"))
	t.Setenv("CLEW_TIMEOUT", "\x1b[2Jowned")
	t.Setenv("TERM", "\x1b[2Jowned")
	for _, line := range []string{"config", "config --json", "doctor", "doctor --json", "ls", "version"} {
		t.Run(line, func(t *testing.T) {
			var out, errs bytes.Buffer
			execute(t.Context(), strings.Fields(line), Streams{Out: &out, Err: &errs})
			if !strings.Contains(out.String()+errs.String(), "owned") {
				t.Errorf("nothing hostile was met:\n%s%s", out.String(), errs.String())
			}
			clitest.CheckHarmless(t, "stdout", out.String())
			clitest.CheckHarmless(t, "stderr", errs.String())
		})
	}
}

func TestTestedAgent(t *testing.T) {
	if testedAgent != clewtest.AgentVersion {
		t.Errorf("clew names %s, and is tested with %s", testedAgent, clewtest.AgentVersion)
	}
}

// A check that hangs in the system is given up, the others count, and all of it takes no longer
// than the limit.
func TestDoctorGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		o := &doctorOptions{streams: Streams{Err: new(bytes.Buffer)}, limit: 10 * time.Second}
		begun := time.Now()
		found := o.examine(t.Context(), []check{
			{"one", func(context.Context) []diagnosis { <-hang; return nil }},
			{"two", func(context.Context) []diagnosis { return []diagnosis{{State: stateOK, Found: "fine"}} }},
			{"three", func(context.Context) []diagnosis { <-hang; return nil }},
			{"four", func(ctx context.Context) []diagnosis {
				<-ctx.Done()
				return []diagnosis{{State: stateNote, Found: "in part"}}
			}},
		})
		var got []string
		for _, d := range found {
			got = append(got, d.Check+" "+string(d.State)+" "+d.Found)
		}
		want := "one warning gave up after 10s|two ok fine|three warning gave up after 10s|four note in part"
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
		o := &doctorOptions{streams: Streams{Err: new(bytes.Buffer)}, limit: 10 * time.Second}
		begun := time.Now()
		o.examine(ctx, []check{{"one", func(context.Context) []diagnosis { <-hang; return nil }}})
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// The doctor does not wait for an agent that does not answer, nor for processes that the agent
// started.
func TestDoctorSilentAgent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent is a shell script")
	}
	dir := t.TempDir()
	path, begun := filepath.Join(dir, "claude"), filepath.Join(dir, "begun")
	shelltest.Write(t, path, "echo begun\n>'"+begun+"'\nexec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		polltest.Eventually(func() bool { _, err := os.Stat(begun); return err == nil || ctx.Err() != nil })
	}()
	defer cancel()
	if version, err := agentVersion(ctx, path); err == nil || !strings.Contains(err.Error(), "still running") {
		t.Errorf("version %q, %v", version, err)
	}
}

func TestDoctorText(t *testing.T) {
	found := []diagnosis{
		{Check: "agent settings", State: stateProblem, Found: "something is wrong here", Advice: "Do this."},
		{Check: "clew", State: stateOK, Found: "fine"},
	}
	want := "\x1b[31mproblem\x1b[0m  agent settings  something is wrong here\n" +
		"                         > Do this.\n\x1b[32mok\x1b[0m       clew            fine\n"
	if got := doctorText(found, 80, true); got != want {
		t.Errorf("in colors: %q", got)
	}
	want = "problem agent\nsettings\n  something is wrong\n  here\n  > Do this.\nok       clew\n  fine\n"
	if got := doctorText(found, 20, false); got != want {
		t.Errorf("in 20 columns: %q", got)
	}
}

func TestDoctorVersions(t *testing.T) {
	for version, want := range map[string]checkState{
		testedAgent: stateOK, testedAgent + "-beta": stateOK, "2.1.99": stateNote, "2.10.0": stateNote, "10.0.0": stateNote,
		"1.0.128": stateWarning, "0.2.125": stateWarning,
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
		state checkState
		found string
	}{
		{place("none", ""), stateOK, "not built yet"},
		{place("good", "SQLite format 3\x00and more"), stateOK, "24 B, written 20"},
		{place("bad", "SQLite format 4\x00"), stateWarning, "bad: damaged"},
		{place("short", "SQL"), stateWarning, "short: damaged"},
		{place(".", ""), stateWarning, "not a file"},
		{func() (string, error) { return "", os.ErrPermission }, stateNote, "no directory for it"},
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

// shownConfig returns settings of all kinds, with long values and origins.
func shownConfig(hostile string) *config.Config {
	c := &config.Config{
		Files:  []string{"/etc/clew/clew.yaml", "/home/dev/.config/clew/clew.yaml", "clew.yaml" + hostile},
		Values: map[string]config.Value{},
	}
	user := config.Origin{File: "/home/dev/.config/clew/clew.yaml", Line: 3}
	for _, s := range config.All() {
		switch s.Key {
		case "model":
			c.Values[s.Key] = config.Value{Setting: &s, Texts: []string{"opus" + hostile}, Origin: config.Origin{File: "clew.yaml", Line: 1}}
		case "timeout":
			c.Values[s.Key] = config.Value{Setting: &s, Texts: []string{"90s"}, Origin: config.Origin{Variable: "CLEW_TIMEOUT"}}
			c.Ignored = append(c.Ignored, config.Ignored{
				Value: config.Value{Setting: &s, Texts: []string{"5m"}, Origin: config.Origin{File: "clew.yaml", Line: 2}},
				For:   config.Value{Setting: &s, Texts: []string{"90s"}, Origin: user},
			})
		case "tools":
			c.Values[s.Key] = config.Value{Setting: &s, Origin: user, Others: []config.Origin{{File: "clew.yaml" + hostile, Line: 7}}}
		case "add_dirs":
			texts := []string{"/home/dev/notes", "/srv/a/directory/with/a/rather/long/path/and/more" + hostile}
			c.Values[s.Key] = config.Value{Setting: &s, Texts: texts, Origin: user}
		case "project_aliases":
			texts := []string{"/home/dev/code/shop-v2=shop", "/home/dev/clients/acme/*=acme" + hostile}
			c.Values[s.Key] = config.Value{Setting: &s, Texts: texts, Origin: user}
		}
	}
	return c
}

func TestConfigScreen(t *testing.T) {
	t.Parallel()
	golden.Check(t, "screens/config", allScreens(t, func(on canvas) string { return configText(shownConfig(""), "set", on) }))
	golden.Check(t, "screens/config_none", allScreens(t, func(on canvas) string { return configText(new(config.Config), "not set", on) }))
}

// Whatever the values and the width, no line is wider than the screen, and nothing of a value is cut.
func TestConfigScreenFits(t *testing.T) {
	t.Parallel()
	for _, hostile := range append(hostileTexts, "") {
		c := shownConfig(hostile)
		for _, width := range soak.Widths(1) {
			text := configText(c, "set", canvas{width: width})
			checkLinesFit(t, text, width)
			if joined := strings.Join(strings.Fields(text), ""); width < clikit.Narrow && !strings.Contains(joined, "/srv/a/directory/with/a/rather/long/path/and/more") {
				t.Fatalf("at %d columns, a value is cut:\n%s", width, text)
			}
		}
	}
}

// The version in any width.
func TestVersionScreen(t *testing.T) {
	t.Parallel()
	b := build{
		Version: "v0.1.0", Revision: "0123456789abcdef0123456789abcdef01234567", Modified: true, Go: "go1.26.1", Platform: "linux/amd64",
	}
	golden.Check(t, "screens/version", allScreens(t, b.text))
	for _, width := range soak.Widths(1) {
		checkLines(t, b.text(canvas{width: width}), width)
	}
}

// TestAgentEnviron checks that an agent does not get the archive's password from a file, and that
// it does get the user's exported variables.
func TestAgentEnviron(t *testing.T) {
	t.Setenv("CLEW_ARCHIVE", "") // and as it was after the test
	t.Setenv("CLEW_MACHINE", "exported")
	t.Cleanup(func() { ownVariables = nil })
	for _, s := range config.All() {
		if s.Key == "archive" {
			v := config.Value{Setting: &s, Texts: []string{"nats://me:hunter2@example.com"}, Origin: config.Origin{File: "clew.yaml"}}
			if err := applyToProgram(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !strings.Contains(os.Getenv("CLEW_ARCHIVE"), "hunter2") {
		t.Fatal("the setting was not applied")
	}
	environ := agentEnviron()
	if strings.Contains(strings.Join(environ, "\n"), "hunter2") || !slices.Contains(environ, "CLEW_MACHINE=exported") {
		t.Errorf("got %q", environ)
	}
	t.Setenv("CLAUDE_CONFIG_DIR", "/one,/two")
	if environ := agentEnviron(); environ[len(environ)-1] != "CLAUDE_CONFIG_DIR=/one" {
		t.Errorf("with two directories: got %q", environ)
	}
}
