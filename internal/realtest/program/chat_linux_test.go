package program_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
)

// A keyboard is the other end of the terminal that a chat runs in, and all that was shown there.
type keyboard struct {
	end   *os.File
	mu    sync.Mutex
	shown strings.Builder
	seen  int // how far the test has come
}

func (k *keyboard) Write(text []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown.Write(text)
}

// see waits until a text appears after the output that was seen before.
func (k *keyboard) see(t *testing.T, want string) {
	t.Helper()
	eventually(t, func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		at := strings.Index(k.shown.String()[k.seen:], want)
		if at >= 0 {
			k.seen += at + len(want)
		}
		return at >= 0
	}, func() string { return fmt.Sprintf("%q is not shown: %q", want, k.shown.String()[k.seen:]) })
}

func (k *keyboard) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := k.end.WriteString(keys); err != nil {
		t.Fatal(err)
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
func (s *stage) chat(t *testing.T) (*exec.Cmd, *keyboard) {
	t.Helper()
	master, slave := openTerminal(t)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "claude")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s/pid\nexec %s \"$@\"\n", filepath.Dir(agent), s.agent)
	if err := os.WriteFile(agent, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s.agent = agent
	cmd := exec.CommandContext(t.Context(), path, "chat", "--permission-mode", "default", "--model", "opus")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.dir, slave, slave, slave
	cmd.Env = append(s.model.Env(), programVariable+"=1", "CLEW_AGENT="+agent, "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k := &keyboard{end: master}
	go io.Copy(k, master) //nolint:errcheck // it ends with the terminal
	return cmd, k
}

// pid returns the process of the agent that was started last.
func (s *stage) pid() int {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(s.agent), "pid"))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// A chat goes on when its agent is killed, with the model that was chosen and what was said.
func TestRealChat(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Hi").Reply(clewtest.Text("Hello."))
	s.model.On("touch").Reply(clewtest.ToolUse("Bash", map[string]string{
		"command": "touch made", "description": "Make a file",
	})).Once()
	s.model.OnToolResult("").Reply(clewtest.Text("It is made.")).Once()
	s.model.On("again").Reply(clewtest.Text("Still here."))
	cmd, k := s.chat(t)
	k.see(t, "context")
	k.press(t, "Hi\r")
	k.see(t, "Hello.")
	k.see(t, "context")
	k.press(t, "/model sonnet\r")
	k.see(t, "the model is now claude-sonnet-")
	k.see(t, "context")
	k.press(t, "touch it\r")
	k.see(t, "Allow it?")
	k.press(t, "y\r")
	k.see(t, "It is made.")
	k.see(t, "context")
	old := s.pid()
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return s.pid() != old && s.pid() != 0 }, func() string { return "there is no other agent" })
	k.press(t, "again\r")
	for _, word := range []string{"another", "agent", "continues", "conversation"} { // in lines that fit
		k.see(t, word)
	}
	k.see(t, "Still here.")
	k.see(t, "context")
	k.press(t, "\x04")
	k.see(t, "Resume with: clew chat --resume ")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err != nil {
		t.Error(err)
	}
	requests := s.model.Requests()
	last := requests[len(requests)-1]
	if !strings.HasPrefix(last.Model, "claude-sonnet-") || len(last.Messages) < 5 {
		t.Errorf("the last request is to %s, with %d messages", last.Model, len(last.Messages))
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
