package clewtest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// The example of the package comment, under the SDK.
func TestGreeting(t *testing.T) {
	agent := clewtest.NewAgent(t, new(clewtest.Scenario).Initialize().Prompt("Hi").Answer("Hello"))

	opts := &clew.Options{AgentPath: agent.Path(), Env: agent.Env()}
	result, err := clew.Run(t.Context(), "Hi", opts)
	if err != nil || result.Result != "Hello" {
		t.Errorf("result %v, error %v", result, err)
	}
}

// A session has several prompts, and the content of a prompt may be written as a text or as a list.
func TestGreetings(t *testing.T) {
	agent := clewtest.NewAgent(t, new(clewtest.Scenario).Initialize().
		Prompt(clewtest.Any).Answer("Hello").
		Expect(`{"type":"user","message":{"content":"Again"}}`).Answer("Hello again").
		Expect(`{"type":"user","message":{"content":[{"type":"text","text":"Bye"}]}}`).Answer("Bye"))
	s, err := clew.Connect(t.Context(), &clew.Options{AgentPath: agent.Path(), Env: agent.Env()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the turns are over
	for _, turn := range [][2]string{{"Hi", "Hello"}, {"Again", "Hello again"}, {"Bye", "Bye"}} {
		var text string
		for msg, err := range s.Turn(t.Context(), clew.Text(turn[0])) {
			if err != nil {
				t.Fatal(err)
			}
			switch m := msg.(type) {
			case *clew.AssistantMessage:
				text += m.Content.Text()
			case *clew.ResultMessage:
				text += "; " + m.Result
			}
		}
		if want := turn[1] + "; " + turn[1]; text != want {
			t.Errorf("%s: got %q", turn[0], text)
		}
	}
}

// The package comment shows TestGreeting as it is.
func TestGreetingIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("agent_sdk_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, test, _ := strings.Cut(string(code), "func TestGreeting(")
	test, _, _ = strings.Cut("func TestGreeting("+test, "\n}\n")
	if !strings.Contains(strings.ReplaceAll(string(doc), "\n//\n", "\n//\t\n"), "//\t"+strings.ReplaceAll(test, "\n", "\n//\t")+"\n") {
		t.Errorf("doc.go does not have\n%s", test)
	}
}
