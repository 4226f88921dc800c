//go:build linux

package faulttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/clewdev/clew/internal/polltest"
)

// A stage is a point in the dialogue of an agent, at which it may do something else.
type stage string

const (
	atVersion    stage = "when it is asked for its version"
	atStart      stage = "at the start"
	atInitialize stage = "before it is ready"
	atReady      stage = "when it is ready"
	atPrompt     stage = "after the prompt"
	atAnswer     stage = "in the answer"
	atInterrupt  stage = "when it is interrupted"
	atPermission stage = "in a permission question"
	atHook       stage = "in a hook"
	atMCP        stage = "in an MCP call"
	atResult     stage = "after the result"
	atEnd        stage = "at the end of its input"
)

// wordsBefore is the number of messages that an agent sends before a stage.
var wordsBefore = map[stage]int{atAnswer: 1, atInterrupt: 1, atPermission: 2, atHook: 3, atMCP: 4, atResult: 5, atEnd: 5}

// An agent talks to its host until it reaches the stage of its fault.
type agent struct {
	fault  *fault
	in     *bufio.Reader
	out    io.Writer
	words  int
	prompt string // the ID of the prompt
}

func newAgent(f *fault) *agent {
	return &agent{fault: f, in: bufio.NewReader(os.Stdin), out: os.Stdout}
}

// run plays the whole dialogue, and returns the exit code.
func (a *agent) run() int {
	a.reach(atStart)
	id := a.await("control_request")
	a.reach(atInitialize)
	a.send(success(id))
	a.reach(atReady)
	a.prompt = a.await("user")
	a.reach(atPrompt)
	a.word()
	a.reach(atAnswer)
	a.interrupt()
	a.word()
	a.ask(atPermission, `{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t"}`)
	a.ask(atHook, `{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"Stop"}}`)
	a.ask(atMCP, `{"subtype":"mcp_message","server_name":"own","message":{"jsonrpc":"2.0","id":1,"method":"ping"}}`)
	a.send(a.result())
	a.reach(atResult)
	_, _ = io.Copy(io.Discard, a.in)
	a.reach(atEnd)
	return 0
}

// interrupt ends the turn of an agent whose fault comes with an interrupt.
func (a *agent) interrupt() {
	if a.fault.stage != atInterrupt {
		return
	}
	id := a.await("control_request")
	a.reach(atInterrupt)
	a.send(success(id))
	a.send(strings.Replace(a.result(), `"success"`, `"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"`, 1))
	_, _ = io.Copy(io.Discard, a.in)
	os.Exit(0)
}

// reach does what the fault does at this stage.
func (a *agent) reach(s stage) {
	if a.fault.stage == s {
		a.fault.act(a)
	}
}

// send writes a frame. A host that does not read it any more ends the agent.
func (a *agent) send(frame string) { a.write(frame + "\n") }

func (a *agent) write(text string) {
	if _, err := io.WriteString(a.out, text); err != nil {
		os.Exit(70)
	}
}

// word sends the next message, which must not be lost.
func (a *agent) word() {
	a.words++
	a.send(wordFrame(a.words))
}

func wordFrame(n int) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":"m%d","role":"assistant","content":[{"type":"text","text":"word %d"}]},`+
		`"session_id":"s","uuid":"w-%d"}`, n, n, n)
}

func (a *agent) result() string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","result":"done","session_id":"s","uuid":"r","user_message_uuid":%q}`, a.prompt)
}

// ask sends a control request, reaches its stage, waits for the answer and sends a word.
func (a *agent) ask(s stage, body string) {
	a.send(fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":%s}`, string(s), body))
	a.reach(s)
	for a.await("control_response") != string(s) {
	}
	a.word()
}

func success(id string) string {
	return fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{}}}`, id)
}

// await returns the ID of the next frame of that type. At the end of its input the agent exits.
func (a *agent) await(kind string) string {
	for {
		line, err := a.in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var frame struct {
			Type, UUID string
			RequestID  string `json:"request_id"`
			Response   struct {
				RequestID string `json:"request_id"`
			}
		}
		if err := json.Unmarshal(line, &frame); err != nil {
			fmt.Fprintln(os.Stderr, "the host sent", err)
			os.Exit(70)
		}
		if frame.Type == kind {
			return frame.UUID + frame.RequestID + frame.Response.RequestID
		}
	}
}

// hang stays until it is killed.
func hang(*agent) { polltest.Forever() }

func hangForGood(a *agent) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	hang(a)
}

func exit(code int, stderr string) func(*agent) {
	return func(*agent) {
		_, _ = io.WriteString(os.Stderr, stderr)
		os.Exit(code)
	}
}

func killed(sig syscall.Signal) func(*agent) {
	return func(a *agent) {
		_ = syscall.Kill(os.Getpid(), sig)
		hang(a)
	}
}

func cut(a *agent) {
	a.write(wordFrame(99)[:40])
	os.Exit(0)
}

func closeOutput(a *agent) {
	_ = os.Stdout.Close()
	hang(a)
}

// closeOutputAndExit exits so late that the host notices that the agent still runs. The outcome is
// the same if the host is slower than that.
func closeOutputAndExit(*agent) {
	_ = os.Stdout.Close()
	time.AfterFunc(2*time.Second, func() { os.Exit(0) })
	polltest.Forever()
}

func closeInput(a *agent) {
	_ = os.Stdin.Close()
	hang(a)
}

// garbage writes lines that are not frames, and continues.
func garbage(a *agent) {
	for _, line := range []string{
		"", "warning: \x1b[31mred", "{", "[]", "null", "7", `{"type":7}`, `{"type":"assistant","message":`, "\x00\x00\x00",
		"caf\xe9 \xff\xfe", `{"type":"from tomorrow"}`, `{"type":"system","subtype":"from tomorrow"}`, "\r", strings.Repeat("[", 5000),
	} {
		a.send(line)
	}
}

// confuse answers requests that were never made, and makes some that nobody knows.
func confuse(a *agent) {
	for range 2 {
		a.send(success("nobody"))
	}
	a.send(`{"type":"control_response"}`)
	a.send(`{"type":"control_response","response":{"subtype":7,"request_id":[]}}`)
	a.send(`{"type":"control_request","request_id":"x","request":{"subtype":"from_tomorrow"}}`)
	a.send(`{"type":"control_request","request":{"subtype":"can_use_tool"}}`)
	a.send(`{"type":"control_request","request_id":"y"}`)
	a.send(`{"type":"control_cancel_request","request_id":"nobody"}`)
}

// endless writes until it is killed.
func endless(a *agent) {
	for {
		a.write(strings.Repeat("9", 4096))
	}
}

func noisyStderr(*agent) {
	line := strings.Repeat("noise ", 20) + "\n"
	for range 1000 {
		_, _ = io.WriteString(os.Stderr, line)
	}
}

// leave starts a process that holds the agent's output and error, and continues.
func leave(*agent) {
	cmd := &exec.Cmd{
		Path: os.Args[0], Args: os.Args[:1], Stdout: os.Stdout, Stderr: os.Stderr,
		Env:         append(os.Environ(), faultVariable+"="+sleeper),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(70)
	}
}

func then(acts ...func(*agent)) func(*agent) {
	return func(a *agent) {
		for _, act := range acts {
			act(a)
		}
	}
}
