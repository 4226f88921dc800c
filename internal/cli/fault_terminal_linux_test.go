package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/pty"
	"github.com/clewdev/clew/internal/render"
)

// openTerminal returns the two ends of a pseudo-terminal of so many columns.
func openTerminal(t *testing.T, columns int) (screen, tty *os.File) {
	t.Helper()
	screen, tty, err := pty.Open(columns, 24)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return screen, tty
}

// onTerminal runs a command whose stdout is a terminal, and returns what that got.
func (p faultPlace) onTerminal(t *testing.T, cmd *exec.Cmd, columns int) faultOutcome {
	t.Helper()
	screen, tty := openTerminal(t, columns)
	cmd.Stdout = tty
	wait := p.start(t, cmd)
	_ = tty.Close()
	shown, _ := io.ReadAll(screen) // ends with an error when the other end is closed
	o := wait()
	o.out = strings.ReplaceAll(string(shown), "\r\n", "\n")
	o.checkTraces(t)
	return o
}

var styleSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkFits fails if a line does not fit into so many columns.
func checkFits(t *testing.T, text string, columns int) {
	t.Helper()
	for line := range strings.Lines(styleSequence.ReplaceAllString(text, "")) {
		if n := render.Width(strings.TrimSuffix(line, "\n")); n > columns {
			t.Errorf("%d columns: %s", n, line)
			return
		}
	}
}

func TestFaultNarrow(t *testing.T) {
	const columns = 40
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if !u.prose || u.endless {
			t.Skip("its lines are as long as they are, or it goes on")
		}
		o := p.onTerminal(t, p.command(t, u), columns)
		if o.code != exitDone || o.out == "" {
			t.Errorf("on a terminal: exit code %d, stdout %q, stderr %q", o.code, o.out, o.errs)
		}
		checkFits(t, o.out, columns)
		cmd := p.command(t, u)
		cmd.Env = append(cmd.Env, fmt.Sprintf("COLUMNS=%d", columns))
		checkFits(t, p.run(t, cmd).out, columns)
	})
}

// Colours are for terminals that have them and people who want them.
func TestFaultColours(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if u.endless {
			t.Skip("it goes on")
		}
		if verb := u.verb(); (verb == "ls" || verb == "show") && u.prose {
			o := p.onTerminal(t, p.command(t, u), 80)
			if !styleSequence.MatchString(o.out) {
				t.Errorf("no colours on a terminal:\n%s", o.out)
			}
		}
		for _, without := range []string{"NO_COLOR=1", "TERM=dumb", "CLICOLOR=0"} {
			cmd := p.command(t, u)
			cmd.Env = append(cmd.Env, without)
			if o := p.onTerminal(t, cmd, 80); o.code != exitDone || strings.Contains(o.out, "\x1b") {
				t.Errorf("%s: exit code %d, stdout %q, stderr %q", without, o.code, o.out, o.errs)
			}
		}
		if o := p.run(t, p.command(t, u)); strings.Contains(o.out, "\x1b") {
			t.Errorf("no terminal: %q", o.out)
		}
	})
}
