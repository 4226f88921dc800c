package program_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/termtest"
	"github.com/clewdev/clew/internal/shelltest"
)

// A chatScreen is the terminal that a chat runs in.
type chatScreen struct {
	*termtest.Terminal
	keys *os.File
	cmd  *exec.Cmd
}

// see waits until a text is on the screen, or was.
func (k *chatScreen) see(t *testing.T, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if !k.Wait(ctx, func() bool { return strings.Contains(k.shown(), want) }) {
		t.Fatalf("%q is not shown:\n%s", want, k.shown())
	}
}

// shown returns the scrollback and the screen.
func (k *chatScreen) shown() string {
	return strings.TrimRight(strings.Join(append(k.Scrollback(), k.Text()), "\n"), "\n")
}

// idle waits until the agent does not work.
func (k *chatScreen) idle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	holds := func() bool {
		return strings.Contains(k.Text(), "context") && !strings.Contains(k.Text(), " to interrupt")
	}
	if !k.Wait(ctx, holds) {
		t.Fatalf("the agent works:\n%s", k.shown())
	}
}

func (k *chatScreen) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := k.keys.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// end ends the chat, which has to leave the terminal as it was.
func (k *chatScreen) end(t *testing.T) {
	t.Helper()
	k.press(t, "\x04")
	k.see(t, "Resume with: clew chat --resume ")
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, k.shown())
	}
	if want := (termtest.Modes{Cursor: true, Wrap: true}); k.Modes() != want || len(k.Unknown()) > 0 || len(k.Queries()) > 0 {
		t.Errorf("the terminal has %+v, unknown %q, queries %q", k.Modes(), k.Unknown(), k.Queries())
	}
}

func eventually(t *testing.T, done func() bool, complaint func() string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal(complaint())
		}
	}
}

// chat starts "clew chat" at a terminal, with an agent that writes its process down in the file
// pid.
func (s *stage) chat(t *testing.T, args ...string) *chatScreen {
	t.Helper()
	master, slave := openTerminal(t)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if s.pids == "" {
		s.pids = filepath.Join(t.TempDir(), "pid")
		agent := filepath.Join(t.TempDir(), "claude")
		shelltest.Write(t, agent, fmt.Sprintf("echo $$ >'%s'\nexec '%s' \"$@\"", s.pids, s.agent))
		s.agent = agent
	}
	k := &chatScreen{Terminal: termtest.New(80, 24), keys: master}
	k.cmd = exec.CommandContext(t.Context(), path, append([]string{"chat", "--permission-mode", "default", "--model", "opus"}, args...)...)
	k.cmd.Dir, k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = s.dir, slave, slave, slave
	k.cmd.Env = append(s.model.Env(), programVariable+"=1", "CLEW_AGENT="+s.agent, "TERM=xterm")
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go io.Copy(k, master) //nolint:errcheck // it ends with the terminal
	return k
}

// pid returns the process of the agent that was started last, or 0 if none was. As the number of a process to signal, 0
// would be this one with all others of its group.
func (s *stage) pid() int {
	text, err := os.ReadFile(s.pids)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// A chat continues after its agent is killed, with the chosen model and the conversation.
func TestRealChat(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Hi").Reply(clewtest.Text("Hello."))
	s.model.On("touch").Reply(clewtest.ToolUse("Bash", map[string]string{
		"command": "touch made", "description": "Make a file",
	})).Once()
	s.model.OnToolResult("").Reply(clewtest.Text("It is made.")).Once()
	s.model.On("again").Reply(clewtest.Text("Still here."))
	if err := os.WriteFile(filepath.Join(s.dir, "upload.go"), []byte("package upload\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := s.chat(t)
	k.idle(t)
	k.press(t, "Hi @uplo")
	k.see(t, "\n> upload.go")
	k.press(t, "\t\r")
	k.see(t, "> Hi @upload.go\n\nHello.")
	k.idle(t)
	k.press(t, "\x1b[Z")
	k.see(t, "acceptEdits mode")
	k.press(t, "\x1b[Z")
	k.see(t, "plan mode")
	k.press(t, "\x1b[Z")
	k.see(t, " · default · ")
	k.press(t, "/model sonnet\r")
	k.see(t, "the model is now claude-sonnet-")
	k.press(t, "touch it\r")
	k.see(t, "command: touch made")
	k.see(t, "yes, once")
	k.press(t, "y")
	k.see(t, "It is made.")
	k.idle(t)
	old := s.pid()
	if old == 0 {
		t.Fatal("there is no agent")
	}
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return s.pid() != old && s.pid() != 0 }, func() string { return "there is no other agent" })
	k.press(t, "again\r")
	for _, word := range []string{"another", "agent", "continues", "conversation"} { // in lines that fit
		k.see(t, word)
	}
	k.see(t, "Still here.")
	k.idle(t)
	k.end(t)
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err != nil {
		t.Error(err)
	}
	requests := s.model.Requests()
	last := requests[len(requests)-1]
	if !strings.HasPrefix(last.Model, "claude-sonnet-") || len(last.Messages) < 5 {
		t.Errorf("the last request is to %s, with %d messages", last.Model, len(last.Messages))
	}
}

// An answer is shown while the model writes it, and can be interrupted. Prompts wait meanwhile, and
// another chat continues the session.
func TestRealChatStreams(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var long strings.Builder
	for i := range 400 {
		fmt.Fprintf(&long, "Paragraph %d of the answer.\n\n", i)
	}
	s.model.On("long").Reply(clewtest.Text(long.String())).Pace(20 * time.Millisecond).ChunkSize(20)
	s.model.On("next").Reply(clewtest.Text("The next answer."))
	s.model.On("remember").Reply(clewtest.Text("I remember."))
	k := s.chat(t)
	k.idle(t)
	k.press(t, "long\r")
	k.see(t, "Paragraph 3 of the answer.\n")
	k.see(t, "esc to interrupt")
	k.press(t, "next\r")
	k.see(t, "queued: next")
	k.press(t, "\x1b")
	k.see(t, "interrupted\n")
	k.see(t, "> next\n\nThe next answer.\n")
	k.idle(t)
	k.end(t)
	if strings.Contains(k.shown(), "Paragraph 399") {
		t.Error("the answer was not interrupted")
	}
	if n := strings.Count(k.shown(), "Paragraph 1 of"); n != 1 {
		t.Errorf("a paragraph is shown %d times:\n%s", n, k.shown())
	}
	other := s.chat(t, "--continue")
	other.idle(t)
	other.press(t, "remember\r")
	other.see(t, "I remember.")
	other.idle(t)
	other.end(t)
	requests := s.model.Requests()
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, "The next answer.") {
		t.Error("the session was not resumed")
	}
}

// The agent's own question is answered by a key, and so is a rule for a tool. Both reach the agent.
func TestRealChatAsks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Hi").Reply(clewtest.ToolUse("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
		"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{
			map[string]string{"label": "Red", "description": "warm"}, map[string]string{"label": "Blue", "description": "cold"},
		},
	}}})).Once()
	s.model.OnToolResult("Blue").Reply(clewtest.ToolUse("Bash", map[string]string{
		"command": "mkdir blue", "description": "Make a directory",
	})).Once()
	s.model.OnToolResult("").Reply(clewtest.Text("It's made.")).Once()
	s.model.On("again").Reply(clewtest.ToolUse("Bash", map[string]string{
		"command": "mkdir blue green -p", "description": "Make another",
	})).Once()
	s.model.OnToolResult("").Reply(clewtest.Text("It's made again.")).Once()
	k := s.chat(t)
	k.idle(t)
	k.press(t, "Hi\r")
	k.see(t, "> 1  Red  warm")
	k.press(t, "2")
	k.see(t, "command: mkdir blue")
	k.see(t, "yes, once")
	k.press(t, "a")
	k.see(t, "The rule, which you can narrow:")
	k.press(t, "\r")
	k.see(t, "It's made.")
	k.idle(t)
	k.press(t, "again\r")
	k.see(t, "It's made again.")
	k.idle(t)
	k.end(t)
	if _, err := os.Stat(filepath.Join(s.dir, "green")); err != nil {
		t.Errorf("%v\n%s", err, k.shown())
	}
}

// Lines from a pipe are prompts of one session.
func TestRealChatPiped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("One").Reply(clewtest.Text("First."))
	s.model.On("Two").Reply(clewtest.Text("Second."))
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), path, "chat")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.dir, strings.NewReader("One\nTwo \\\nlines\n"), &out, &errs
	cmd.Env = append(s.model.Env(), programVariable+"=1", "CLEW_AGENT="+s.agent)
	if err := cmd.Run(); err != nil || out.String() != "First.\nSecond.\n" {
		t.Errorf("%v, stdout %q, stderr %q", err, out.String(), errs.String())
	}
	if requests := s.model.Requests(); len(requests) != 2 || !strings.Contains(requests[1].Prompt(), "Two \nlines") {
		t.Errorf("%d requests", len(requests))
	}
}
