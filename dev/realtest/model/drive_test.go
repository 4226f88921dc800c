//go:build unix

package model_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/wire"
)

// A realRun is one run of Claude Code over a scripted model.
type realRun struct {
	t     *testing.T
	model *clewtest.Model
	args  []string
	env   []string
	// frames are the frames of the host. Each is sent after the result of, or the response to, the
	// one before.
	frames []any

	messages []wire.Message
	stderr   strings.Builder
	code     int
}

// A userFrame is a prompt to the agent.
func userFrame(prompt string) any {
	return map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": prompt},
		"parent_tool_use_id": nil, "session_id": "default",
	}
}

// A controlFrame is a control request to the agent.
func controlFrame(id string, request map[string]any) any {
	return map[string]any{"type": "control_request", "request_id": id, "request": request}
}

// chat runs the agent with frames on its input, after an initialize request, and ends the input
// after the last answer.
func (r *realRun) chat() {
	r.t.Helper()
	initialize := controlFrame("init", map[string]any{"subtype": "initialize", "hooks": nil})
	r.frames = append([]any{initialize}, r.frames...)
	args := []string{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--permission-prompt-tool", "stdio"}
	r.run(append(args, r.args...))
}

// run starts the agent as the leader of a process group, plays the frames, and checks its output
// and that no process is left.
func (r *realRun) run(args []string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), clewtest.RealAgent(r.t), args...)
	cmd.Env = append(r.model.Env(), r.env...)
	cmd.Dir = r.t.TempDir()
	cmd.Stderr = &r.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := false // then another process may get the number
	defer func() {
		if !ended {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}()
	r.play(stdin, stdout)
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() < 0 {
		r.t.Errorf("the agent: %v", err)
	}
	r.code = cmd.ProcessState.ExitCode()
	if polltest.Running(-cmd.Process.Pid) {
		r.t.Error("the agent's process group is still there")
	}
	ended = !r.t.Failed()
	r.checkLeftovers()
	r.checkPrivate()
	if r.t.Failed() {
		r.t.Logf("exit code %d, stderr:\n%s", r.code, r.stderr.String())
	}
}

// play writes the frames and reads the agent's output to its end.
func (r *realRun) play(stdin io.WriteCloser, stdout io.Reader) {
	r.t.Helper()
	r.next(stdin)
	for msg, err := range wire.NewReader(stdout, nil).Messages() {
		if err != nil {
			r.t.Errorf("reading the agent: %v", err)
			return
		}
		r.messages = append(r.messages, msg)
		if fields := wire.UnknownFields(msg); !wire.Known(msg.Kind()) || len(fields) > 0 {
			r.t.Errorf("frame %s, unknown fields %q: %s", msg.Kind(), fields, msg.Raw())
		}
		switch msg := msg.(type) {
		case *wire.ResultMessage, *wire.ControlResponseMessage:
			r.next(stdin)
		case *wire.ControlRequestMessage:
			r.allow(stdin, msg)
		}
	}
}

// next writes the next frame, or ends the input.
func (r *realRun) next(stdin io.WriteCloser) {
	r.t.Helper()
	if len(r.frames) == 0 {
		_ = stdin.Close() // it may be closed already: results can follow the last expected one
		return
	}
	r.write(stdin, r.frames[0])
	r.frames = r.frames[1:]
}

// allow lets the agent use a tool.
func (r *realRun) allow(stdin io.Writer, req *wire.ControlRequestMessage) {
	r.t.Helper()
	var body struct {
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal([]byte(req.Request.Raw()), &body); err != nil {
		r.t.Errorf("control request: %v", err)
	}
	r.write(stdin, map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": req.RequestID,
		"response": map[string]any{"behavior": "allow", "updatedInput": body.Input},
	}})
}

func (r *realRun) write(w io.Writer, frame any) {
	r.t.Helper()
	data, err := json.Marshal(frame)
	if err == nil {
		_, err = w.Write(append(data, '\n'))
	}
	if err != nil {
		r.t.Errorf("writing to the agent: %v", err)
	}
}

// checkLeftovers looks for processes of the agent that still run, also outside its process group:
// they have the directory of this run in their environment.
func (r *realRun) checkLeftovers() {
	r.t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(env, []byte("CLAUDE_CONFIG_DIR="+r.model.ConfigDir()+"\x00")) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			r.t.Errorf("still running: %s: %q", filepath.Dir(file), command)
		}
	}
}

// ask runs the agent with one prompt on its input.
func (r *realRun) ask(prompt string) {
	r.t.Helper()
	r.frames = append(r.frames, userFrame(prompt))
	r.chat()
}

// result returns the only result of the run.
func (r *realRun) result() *wire.ResultMessage {
	r.t.Helper()
	results := realMessages[*wire.ResultMessage](r)
	if len(results) != 1 {
		r.t.Fatalf("%d results in %d messages", len(results), len(r.messages))
	}
	return results[0]
}

// realMessages returns the messages of one type.
func realMessages[M wire.Message](r *realRun) []M {
	var list []M
	for _, msg := range r.messages {
		if m, ok := msg.(M); ok {
			list = append(list, m)
		}
	}
	return list
}

// realBlocks returns the blocks of one type in the messages of the model and of tools.
func realBlocks[B wire.Block](r *realRun) []B {
	var content wire.Content
	for _, msg := range r.messages {
		switch msg := msg.(type) {
		case *wire.AssistantMessage:
			content = append(content, msg.Content...)
		case *wire.UserMessage:
			content = append(content, msg.Content...)
		}
	}
	var list []B
	for _, block := range content {
		if b, ok := block.(B); ok {
			list = append(list, b)
		}
	}
	return list
}
