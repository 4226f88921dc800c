package turns_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/wire"
)

// options returns options for Claude Code over the model, in a new directory. A test that fails
// logs the dialogue.
func options(t *testing.T, model *clewtest.Model) *clew.Options {
	t.Helper()
	record := new(dialogue)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the dialogue:\n%s", record)
		}
	})
	return scene.Options(t, model, &clew.Options{Debug: clew.DebugOptions{Record: record}})
}

// A dialogue is a recording that may still grow while it is read.
type dialogue struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// maxLogLine is the maximum number of bytes of a frame that are logged.
const maxLogLine = 1000

func (r *dialogue) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *dialogue) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for line := range strings.Lines(r.text.String()) {
		if len(line) > maxLogLine {
			line = line[:maxLogLine] + "...\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// An outcome has the messages of a loop, and the error if that was the last pair.
type outcome struct {
	messages []wire.Message
	err      error
}

// read reads to the end, and passes each message to act, which may be nil.
func read(messages iter.Seq2[wire.Message, error], act func(wire.Message)) *outcome {
	var got outcome
	for msg, err := range messages {
		if err != nil {
			got.err = err
			continue // an error is the last pair
		}
		got.messages = append(got.messages, msg)
		if act != nil {
			act(msg)
		}
	}
	return &got
}

// on returns a function for [read] that gets only the messages of one type.
func on[M wire.Message](act func(M)) func(wire.Message) {
	return func(msg wire.Message) {
		if msg, ok := msg.(M); ok {
			act(msg)
		}
	}
}

// ask runs a turn that has to succeed.
func ask(t *testing.T, s *clew.Session, prompt string) *outcome {
	t.Helper()
	got := read(s.Turn(t.Context(), clew.Text(prompt)), nil)
	if got.err != nil {
		t.Fatalf("%s: %v", prompt, got.err)
	}
	for _, msg := range got.messages {
		if unknown, misfits := wire.Survey(msg); !wire.Known(msg.Kind()) || len(unknown) > 0 || len(misfits) > 0 {
			t.Errorf("%s: %s has the unknown fields %q, and fields that do not fit: %v", prompt, msg.Kind(), unknown, misfits)
		}
	}
	return got
}

func interrupt(t *testing.T, s *clew.Session) {
	t.Helper()
	if _, err := s.Interrupt(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// result returns the last message, which has to be a result.
func (o *outcome) result(t *testing.T) *wire.ResultMessage {
	t.Helper()
	if len(o.messages) > 0 {
		if result, ok := o.messages[len(o.messages)-1].(*wire.ResultMessage); ok {
			return result
		}
	}
	t.Fatalf("the last message is not a result, the error is %v", o.err)
	return nil
}

// wantText checks that the loop has ended with a good result.
func (o *outcome) wantText(t *testing.T, want string) {
	t.Helper()
	if result := o.result(t); o.err != nil || result.Result != want {
		t.Errorf("result %q, error %v, want %q", result.Result, o.err, want)
	}
}

// wantInterrupted checks that the turn ended with a result and an error that report an
// interruption.
func (o *outcome) wantInterrupted(t *testing.T, reason wire.TerminalReason) {
	t.Helper()
	failed := failure(t, o.err)
	if !failed.Interrupted() || failed.Result != o.result(t) || failed.Result.TerminalReason != reason {
		t.Errorf("error %v with reason %q, want an interrupt with %q", o.err, failed.Result.TerminalReason, reason)
	}
}

// failure returns the failed turn that err is about.
func failure(t *testing.T, err error) *clew.ResultError {
	t.Helper()
	failed, ok := errors.AsType[*clew.ResultError](err)
	if !ok {
		t.Fatalf("error %v, want a failed turn", err)
	}
	return failed
}

// writeFile writes a file in a directory. Its content is its name.
func writeFile(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
		t.Fatal(err)
	}
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	scene.Eventually(t, path+" is there", func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// readTranscript returns the transcript of a session, which must exist.
func readTranscript(t *testing.T, model *clewtest.Model, id string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(model.ConfigDir(), "projects", "*", id+".jsonl"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("transcripts of %s: %q, %v", id, paths, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// untilGo is a command that runs until there is a file with the name go.
const untilGo = "until test -e go; do sleep 0.05; done"

// longText is an answer that takes longer than any test.
var longText = strings.Repeat("word ", 10_000)

// slowModel returns a model whose answer to "Slow" comes word by word, for minutes. All other
// answers are "Hi.".
func slowModel(t *testing.T) *clewtest.Model {
	t.Helper()
	model := clewtest.NewModel(t)
	slow := func(r *clewtest.Request) bool { return r.Prompt() == "Slow" }
	model.When(slow).Reply(clewtest.Text(longText)).ChunkSize(5).Pace(20 * time.Millisecond)
	return model.Reply("Hi.")
}

// A sleeper is a tool that runs until somebody ends it.
type sleeper struct {
	opts  *clew.Options
	sleep string // a command that no other test runs
}

// sleepers counts the sleepers of this process.
var sleepers atomic.Int64

// newSleeper makes "Work" a prompt for which the agent runs such a tool.
func newSleeper(t *testing.T, model *clewtest.Model) *sleeper {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs the ps of Unix")
	}
	s := &sleeper{opts: options(t, model), sleep: fmt.Sprintf("sleep 600.%09d%03d", os.Getpid(), sleepers.Add(1))}
	s.opts.AllowedTools = []string{"Bash"}
	model.On("Work").Reply(scene.Bash("touch begun; " + s.sleep)).Once()
	model.Reply("Yes.")
	return s
}

// awake waits until the tool runs.
func (s *sleeper) awake(t *testing.T) {
	t.Helper()
	waitForFile(t, filepath.Join(s.opts.Dir, "begun"))
	scene.Eventually(t, "the tool sleeps", func() bool { return s.runs(t) })
}

// wantGone checks that the tool ends. The agent has ordered that, and did not wait for it.
func (s *sleeper) wantGone(t *testing.T) {
	t.Helper()
	scene.Eventually(t, "the tool has ended", func() bool { return !s.runs(t) })
}

func (s *sleeper) runs(t *testing.T) bool {
	t.Helper()
	if runtime.GOOS == "linux" {
		return slices.ContainsFunc(commandLines(), func(line string) bool { return strings.Contains(line, s.sleep) })
	}
	list, err := exec.CommandContext(t.Context(), "ps", "-A", "-o", "args").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(list), s.sleep)
}

// commandLines returns the command lines of all processes of a Linux machine.
func commandLines() []string {
	var lines []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, file := range files {
		if args, err := os.ReadFile(file); err == nil { // the process may be gone
			lines = append(lines, strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	return lines
}
