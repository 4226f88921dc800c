package clewtest_test

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// Reviewer is the program to be tested. It asks Claude Code about the files of a folder.
type Reviewer struct {
	Agent string   // the path of the claude binary
	Env   []string // its environment
	Dir   string
}

// Review returns what the agent says in the end.
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

// testReview is a test of it: the agent is real, its model is not.
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
	// In a test file of your own, testReview is called TestReview.
	_ = testReview
}
