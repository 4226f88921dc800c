package clewtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// Summarize is the program under test: it starts an agent by its command and returns the agent's
// answer.
func Summarize(agent *exec.Cmd, text string) (string, error) {
	prompt, err := json.Marshal(map[string]any{
		"type": "user", "message": map[string]string{"role": "user", "content": text},
	})
	if err != nil {
		return "", err
	}
	agent.Stdin = bytes.NewReader(append(prompt, '\n'))
	var stderr bytes.Buffer
	agent.Stderr = &stderr
	stdout, err := agent.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := agent.Start(); err != nil {
		return "", err
	}
	answer, readErr := lastResult(stdout)
	if err := agent.Wait(); err != nil {
		return "", fmt.Errorf("the agent failed: %w: %s", err, stderr.Bytes())
	}
	return answer, readErr
}

func lastResult(r io.Reader) (string, error) {
	answer, err := "", errors.New("no result")
	for msg, readErr := range wire.NewReader(r, nil).Messages() {
		if readErr != nil {
			return "", readErr
		}
		if result, ok := msg.(*wire.ResultMessage); ok {
			answer, err = result.Result, nil
		}
	}
	return answer, err
}

// testSummarize is the test. The first agent answers, and the second one exits in the middle of its
// answer.
func testSummarize(t *testing.T) {
	const prompt = `{"type":"user","message":{"content":"A long story"}}`

	agent := clewtest.NewAgent(t, new(clewtest.Scenario).
		Expect(prompt).
		Send(`{"type":"result","subtype":"success","result":"Short","session_id":"s","uuid":"u"}`))
	got, err := Summarize(agent.Command(t.Context(), "--verbose"), "A long story")
	if got != "Short" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if args := agent.Args(); len(args) != 1 || args[0] != "--verbose" {
		t.Errorf("the agent was started with %q", args)
	}

	agent = clewtest.NewAgent(t, new(clewtest.Scenario).
		Expect(prompt).
		Stderr("out of memory\n").
		Do(clewtest.ExitBefore(3)))
	_, err = Summarize(agent.Command(t.Context()), "A long story")
	if want := "the agent failed: exit status 3: out of memory\n"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A program that drives an agent, and a test of it that needs neither network nor key.
func ExampleNewAgent() {
	var t *testing.T // of func TestSummarize(t *testing.T)
	testSummarize(t)
}

func ExampleScenario() {
	s := new(clewtest.Scenario).
		Expect(`{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}`).
		Send(`{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{}}}`).
		Expect(`{"type":"user","message":{"content":"<any>"}}`).
		Stderr("a warning\n").
		Do(clewtest.HalfFrame(`{"type":"result"}`)).
		Do(clewtest.Hang())
	fmt.Print(s)
	// Output:
	// > {"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}
	// < {"type":"control_response","response":{"subtype":"success","request_id":"1","response":{}}}
	// > {"type":"user","message":{"content":"<any>"}}
	// # stderr "a warning\n"
	// # fault half-frame "{\"type\":\"result\"}"
	// # fault hang
}

// Half a frame and then silence, written as a dialogue.
func ExampleReadDialogue() {
	s, err := clewtest.ReadDialogue(strings.NewReader(`
# The model answers, and then the machine goes to sleep.
> {"type":"user","message":{"content":"<any>"}}
< {"type":"system","subtype":"init","session_id":"1"}
# fault half-frame "{\"type\":\"result\"}"
# fault hang
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(s)
	// Output:
	// > {"type":"user","message":{"content":"<any>"}}
	// < {"type":"system","subtype":"init","session_id":"1"}
	// # fault half-frame "{\"type\":\"result\"}"
	// # fault hang
}

// An agent in memory needs no process, and works within testing/synctest.
func ExampleAgent_Conn() {
	drive := func(io.WriteCloser, io.Reader) {} // the program under test

	test := func(t *testing.T) {
		conn := clewtest.NewAgent(t, clewtest.LoadDialogue(t, "testdata/hello.txt")).Conn()
		drive(conn.Stdin, conn.Stdout)
		if err := conn.Wait(); err != nil {
			t.Error(err)
		}
	}
	_ = test // is func TestDrive(t *testing.T)
}

// Reviewer is the program under test. It asks Claude Code about the files of a directory.
type Reviewer struct {
	Agent string   // the path of the claude binary
	Env   []string // its environment
	Dir   string
}

// Review returns the agent's last answer.
func (r *Reviewer) Review(ctx context.Context, question string) (string, error) {
	cmd := exec.CommandContext(ctx, r.Agent, "-p", "--output-format=stream-json", "--verbose", "--allowedTools=Bash(cat:*)")
	cmd.Env, cmd.Dir = r.Env, r.Dir
	cmd.Stdin = strings.NewReader(question)
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	var answer string
	for msg, err := range wire.NewReader(bytes.NewReader(out), nil).Messages() {
		if err != nil {
			return "", err
		}
		if result, ok := msg.(*wire.ResultMessage); ok {
			answer = result.Result
		}
	}
	return answer, nil
}

// testReview is the test. The agent is real, and its model is scripted.
func testReview(t *testing.T) {
	agent := clewtest.RealAgent(t)
	model := clewtest.NewModel(t)
	model.On("Is it spelled right?").Once().
		Reply(clewtest.Text("I look."), clewtest.ToolUse("Bash", map[string]string{"command": "cat text.txt", "description": "Read"}))
	model.OnToolResult("No such file").Reply(clewtest.Text("There is nothing to read."))

	reviewer := &Reviewer{Agent: agent, Env: model.Env(), Dir: t.TempDir()}
	answer, err := reviewer.Review(t.Context(), "Is it spelled right?")
	if err != nil {
		t.Fatal(err)
	}
	if answer != "There is nothing to read." {
		t.Errorf("the answer is %q", answer)
	}
	if requests := model.Requests(); len(requests) != 2 {
		t.Errorf("the agent asked the model %d times", len(requests))
	}
}

// A test of a program that starts Claude Code, with a scripted model in place of the API.
func ExampleNewModel() {
	// In your own test file, testReview is called TestReview.
	_ = testReview
}
