package turns_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// turnsBash returns a call of the tool that runs a command.
func turnsBash(command string) wire.Block {
	return clewtest.ToolUse("Bash", map[string]string{"command": command, "description": "Work"})
}

// turnsUntilGo is a command that runs until there is a file with the name go.
const turnsUntilGo = "until test -e go; do sleep 0.05; done"

// turnsLongText is an answer that a test does not live to hear the end of.
var turnsLongText = strings.Repeat("word ", 10_000)

// turnsSlowModel returns a model whose answer to "Slow" comes word by word, for minutes. All other answers are "Hi.".
func turnsSlowModel(t *testing.T) *clewtest.Model {
	t.Helper()
	model := clewtest.NewModel(t)
	slow := func(r *clewtest.Request) bool { return r.Prompt() == "Slow" }
	model.When(slow).Reply(clewtest.Text(turnsLongText)).ChunkSize(5).Pace(20 * time.Millisecond)
	return model.Reply("Hi.")
}

// A turnsSleeper is a tool that runs until somebody ends it.
type turnsSleeper struct {
	opts  *clew.Options
	sleep string // a command that nobody else runs
}

// turnsNewSleeper makes "Work" a prompt for which the agent runs such a tool.
func turnsNewSleeper(t *testing.T, model *clewtest.Model) *turnsSleeper {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs the ps of Unix")
	}
	s := &turnsSleeper{opts: turnsOptions(t, model), sleep: fmt.Sprintf("sleep 600.%09d", rand.IntN(1e9))}
	s.opts.AllowedTools = []string{"Bash"}
	model.On("Work").Reply(turnsBash("touch begun; " + s.sleep)).Once()
	model.Reply("Yes.")
	return s
}

// awake waits until the tool runs.
func (s *turnsSleeper) awake(t *testing.T) {
	t.Helper()
	turnsWaitForFile(t, filepath.Join(s.opts.Dir, "begun"))
	turnsWait(t, "the tool sleeps", func() bool { return s.runs(t) })
}

// wantGone checks that the tool ends. Its end was ordered by an agent that did not wait for it.
func (s *turnsSleeper) wantGone(t *testing.T) {
	t.Helper()
	turnsWait(t, "the tool has ended", func() bool { return !s.runs(t) })
}

func (s *turnsSleeper) runs(t *testing.T) bool {
	t.Helper()
	if runtime.GOOS == "linux" {
		return slices.ContainsFunc(turnsCommands(), func(line string) bool { return strings.Contains(line, s.sleep) })
	}
	list, err := exec.CommandContext(t.Context(), "ps", "-A", "-o", "args").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(list), s.sleep)
}

// turnsCommands returns the command lines of all processes of a Linux machine.
func turnsCommands() []string {
	var lines []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is a good one
	for _, file := range files {
		if args, err := os.ReadFile(file); err == nil { // and not one that is gone
			lines = append(lines, strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	return lines
}
