package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/cmd/clew/internal/demo"
	"github.com/clewdev/clew/internal/golden"
)

const demoID = "fe1c50fa-6881-44fe-a606-49409bf17026"

// demoHome makes a home of a user with the session of the demo in it.
func demoHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	end := time.Date(2026, time.November, 15, 16, 30, 0, 0, time.UTC)
	if err := demo.AllowedRecording.Lay(filepath.Join(home, ".claude"), end); err != nil {
		t.Fatal(err)
	}
	return home
}

// wholeScreen runs a command on a terminal, and returns the contents of the terminal: both outputs.
func wholeScreen(t *testing.T, home, line string, columns int, env ...string) string {
	t.Helper()
	screen, terminal := clitest.OpenTerminal(t, columns)
	cmd := exec.CommandContext(t.Context(), "clew", strings.Fields(strings.ReplaceAll(line, "ID", demoID))...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, terminal, terminal
	cmd.Env = append([]string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "TERM=xterm", "PAGER=cat", "GORACE=atexit_sleep_ms=0",
	}, env...)
	wait := faultPlace{}.begin(t, cmd)
	shown, _ := io.ReadAll(screen) // ends with an error when the command ends
	wait()
	return strings.ReplaceAll(string(shown), "\r\n", "\n")
}

// activityLine matches the activity shown on a slow machine, when an export takes more than a
// second.
var activityLine = regexp.MustCompile("(\r\x1b\\[K(reading|redacting|writing)[^\r]*)+\r\x1b\\[K")

// Screens of commands on a terminal, at the widths of all goldens, with color and without.
func TestTerminalScreen(t *testing.T) {
	for name, line := range map[string]string{
		"show_context":    "show ID --context",
		"show_diff":       "show ID --diff",
		"show_agent":      "show ID --agent a258",
		"show_none":       "show nope",
		"export":          "export ID -o page.html --redact --force",
		"export_exists":   "export ID -o .claude",
		"export_nowhere":  "export ID -o a-directory-that-is-not-there/page.html",
		"export_rules":    "export --list-rules",
		"man_none":        "man nope",
		"completion_none": "completion nope",
		"completion_help": "completion",
		"ls_none":         "ls --all --text nothing",
		"ls_home":         "",
		"ls_flag":         "ls --limit many",
		"ls_project":      "ls --project slog",
		"config_flag":     "config init --user=perhaps",
		"inspect_none":    "inspect nowhere.ndjson",
	} {
		t.Run(name, func(t *testing.T) {
			if startsProcesses() {
				t.Parallel()
			}
			home := demoHome(t)
			var b strings.Builder
			for _, columns := range clitest.Widths {
				plain := activityLine.ReplaceAllString(wholeScreen(t, home, line, columns, "NO_COLOR=1"), "")
				painted := activityLine.ReplaceAllString(wholeScreen(t, home, line, columns), "")
				if got := styleEscape.ReplaceAllString(painted, ""); got != plain {
					t.Errorf("%d columns: in color, the text is another one:\n%s\n%s", columns, plain, painted)
				}
				fmt.Fprintf(&b, "== %d columns\n%s== %[1]d columns, in color\n%[3]s", columns, plain, painted)
			}
			golden.Check(t, "screens/terminal_"+name, b.String())
		})
	}
}

// linkEscape matches the start and the end of a link.
var linkEscape = regexp.MustCompile("\x1b\\]8;;[!-~]*\x1b\\\\")

// A hostile transcript reaches a terminal no more than a pipe: the only escape sequences are for
// the palette, for links, and for rows that are drawn again.
func TestHostileTerminal(t *testing.T) {
	path := hostileHome(t)
	addHostileServer(t, path)
	stream, err := filepath.Abs("testdata/hostile/stream.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range hostileLines {
		if strings.Contains(line, " - ") {
			continue // it reads stdin, which is not a file here
		}
		t.Run(line, func(t *testing.T) {
			if startsProcesses() {
				t.Parallel()
			}
			line := strings.NewReplacer("testdata/hostile/stream.ndjson", stream, "FILE", path, "ID", hostileID).Replace(line)
			shown := wholeScreen(t, t.TempDir(), line, 80, "CLAUDE_CONFIG_DIR="+os.Getenv("CLAUDE_CONFIG_DIR"))
			shown = linkEscape.ReplaceAllString(styleEscape.ReplaceAllString(shown, ""), "")
			if len(shown) < 20 {
				t.Errorf("it shows %q", shown)
			}
			clitest.CheckHarmless(t, "the terminal", strings.NewReplacer(clikit.ClearLine, "", "\x1b[A", "").Replace(shown))
		})
	}
}
