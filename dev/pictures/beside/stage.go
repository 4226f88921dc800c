package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/simmodel"
	"github.com/clewdev/clew/wire"
)

// A stage has the programs, and one actor for each program that drives the agent.
type stage struct {
	dir     string
	columns int
	clew    string
	claude  string

	actors []*actor
	played bool // whether the turn has ended in both terminals
}

func newStage(ctx context.Context, dir string, columns int) (*stage, error) {
	s := &stage{dir: dir, columns: columns, clew: filepath.Join(dir, "bin", "clew")}
	var err error
	s.claude, err = filepath.Abs(filepath.Join(".cache", "agent", clewtest.AgentVersion, "claude"))
	if err == nil {
		_, err = os.Stat(s.claude)
	}
	if err != nil {
		return nil, fmt.Errorf("make agent installs Claude Code, in the root of the repository: %w", err)
	}
	_, err = output(ctx, "go", "build", "-o", s.clew, "./cmd/clew")
	return s, err
}

// close ends the terminals and models.
func (s *stage) close(ctx context.Context) {
	for _, a := range s.actors {
		a.close(ctx)
	}
}

// An actor is a project, a scripted model, and a terminal in which a program works on the project.
type actor struct {
	name    string
	project string
	model   *simmodel.Model
	screen  tmux
	env     []string
}

// actor returns the actor with a name, and reports whether it is new.
func (s *stage) actor(ctx context.Context, name string) (a *actor, fresh bool, err error) {
	for _, a := range s.actors {
		if a.name == name {
			return a, false, nil
		}
	}
	dir := filepath.Join(s.dir, name)
	a = &actor{name: name, project: filepath.Join(dir, "greet"), screen: s.terminal(name)}
	if err := a.lay(); err != nil {
		return nil, false, err
	}
	a.model, err = simmodel.Start(ctx, dir, reporter{})
	if err != nil {
		return nil, false, err
	}
	s.actors = append(s.actors, a)
	a.script()
	a.env = append(a.model.Env(), "CLEW_AGENT="+s.claude, "CLEW_TRUST=all")
	err = a.welcome()
	return a, true, err
}

// terminal returns a terminal with its own name.
func (s *stage) terminal(name string) tmux {
	return tmux{socket: filepath.Base(s.dir) + "-" + name, columns: s.columns}
}

func (a *actor) close(ctx context.Context) {
	a.screen.close(ctx)
	_ = a.model.Close() // the pictures are made
}

// reporter prints what the model finds wrong.
type reporter struct{}

func (reporter) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (reporter) Logf(string, ...any)               {}

// The project: a program with a fault, and a test that finds it.
const (
	code = `import sys

def greet(name):
    return "Hello " + name

def main():
    print(greet(sys.argv[1]))

if __name__ == "__main__":
    main()
`
	test = `from greet import greet

assert greet("Ada") == "Hello, Ada!", greet("Ada")
print("ok")
`
	before = `    return "Hello " + name`
	after  = "    if not name:\n        name = \"world\"\n    return f\"Hello, {name}!\""

	prompt = "The test fails. Find out why, fix it, and explain it to me."
	answer = `## What was wrong

` + "`greet`" + ` left out the **comma** and the **exclamation mark**, so the assertion in ` + "`test.py`" + ` failed. Three things
changed:

1. the text is an f-string, which reads like its result
2. an empty name becomes ` + "`world`" + `
3. nothing else: ` + "`main`" + ` still prints what ` + "`greet`" + ` returns

` + "```python\ndef greet(name):\n    if not name:\n        name = \"world\"\n    return f\"Hello, {name}!\"\n```" + `

| name | before | now |
|------|--------|-----|
| Ada  | Hello Ada | Hello, Ada! |
| (empty) | Hello | Hello, world! |

See [PEP 498](https://peps.python.org/pep-0498/) for f-strings.`
)

// lay writes the project.
func (a *actor) lay() error {
	if err := os.MkdirAll(a.project, 0o700); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(a.project, "greet.py"), []byte(code), 0o600),
		os.WriteFile(filepath.Join(a.project, "test.py"), []byte(test), 0o600),
	)
}

// script makes the model do the task.
func (a *actor) script() {
	once := func(match func(*simmodel.Request) bool, usage simmodel.Usage, blocks ...wire.Block) {
		answer := simmodel.NewAnswer(simmodel.AnswerReply, blocks...)
		answer.Usage = usage
		a.model.Add(match, answer).Times(1)
	}
	path := filepath.Join(a.project, "greet.py")
	run := simmodel.ToolUse("Bash", map[string]string{"command": "python3 test.py", "description": "Run the test"})
	read := simmodel.ToolUse("Read", map[string]string{"file_path": path})
	edit := simmodel.ToolUse("Edit", map[string]string{"file_path": path, "old_string": before, "new_string": after})
	result := simmodel.ToolResultContains
	once(simmodel.PromptContains(prompt), usage(6, 94, 0, 15210), &wire.TextBlock{Text: "I'll run the test first."}, run)
	once(result("AssertionError"), usage(2, 61, 15210, 418), read)
	once(result("import sys"), usage(2, 187, 15628, 352), edit)
	once(result("has been updated"), usage(2, 83, 15980, 290), run)
	once(result("ok"), usage(2, 312, 16270, 172), &wire.TextBlock{Text: answer})
}

func usage(input, output, cacheRead, cacheWrite int) simmodel.Usage {
	return simmodel.Usage{Input: input, Output: output, CacheRead: cacheRead, CacheWrite: cacheWrite}
}

// welcome answers beforehand what Claude Code asks when it starts for the first time.
func (a *actor) welcome() error {
	settings := map[string]any{
		"hasCompletedOnboarding": true, "lastOnboardingVersion": clewtest.AgentVersion, "theme": "dark", "numStartups": 20,
		"customApiKeyResponses": map[string]any{"approved": []string{"clewtest"}, "rejected": []string{}},
		"projects": map[string]any{a.project: map[string]any{
			"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": []string{},
		}},
	}
	data, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	rules := `{"permissions":{"allow":["Bash(python3 test.py)"]}}`
	return errors.Join(
		os.WriteFile(filepath.Join(a.model.ConfigDir(), ".claude.json"), data, 0o600),
		os.WriteFile(filepath.Join(a.model.ConfigDir(), "settings.json"), []byte(rules), 0o600),
	)
}
