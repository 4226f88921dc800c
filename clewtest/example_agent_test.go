package clewtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// Summarize is the program under test: it asks an agent, whose command it is given, and returns the answer.
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

// testSummarize is the test: once with an agent that answers, and once with one that dies.
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

// A program that drives an agent, and its test, which needs neither network nor key.
func ExampleNewAgent() {
	var t *testing.T // of func TestSummarize(t *testing.T)
	testSummarize(t)
}
