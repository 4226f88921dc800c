package cli

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/config"
	"github.com/spf13/cobra"
)

// Tests read no settings of whoever runs them. Scripts have a home of their own, and may have settings for all.
func init() {
	systemSettingsDir = cmp.Or(os.Getenv("SCRIPT_ETC"), "/nowhere")
	if os.Getenv("TESTDATA") == "" {
		userSettingsDir = func() (string, error) { return "", errors.New("not in tests") }
	}
}

// Each setting with a flag is one of a command, or of one that is not there yet, and takes its own example.
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

// The help lists what the file of a project cannot set.
func TestConfigHelpListsPersonalSettings(t *testing.T) {
	_, list, _ := strings.Cut(strings.ReplaceAll(configHelp, "\n", " "), "names files: ")
	list, _, _ = strings.Cut(list, ";")
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
			checkHarmless(t, "stdout", out.String())
			checkHarmless(t, "stderr", errs.String())
		})
	}
}

func TestTestedAgent(t *testing.T) {
	if testedAgent != clewtest.AgentVersion {
		t.Errorf("clew names %s, and is tested with %s", testedAgent, clewtest.AgentVersion)
	}
}

func TestColourSetting(t *testing.T) {
	var out bytes.Buffer
	for value, want := range map[string]bool{"always": true, "never": false, "auto": false, "": false} {
		t.Setenv("CLEW_COLOR", value)
		if got := coloured(&out); got != want {
			t.Errorf("%q: coloured is %v", value, got)
		}
	}
}
