package clew_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// A value that looks like a flag, or has several lines, arrives as the value of its own flag.
func TestValuesAreNoFlags(t *testing.T) {
	t.Parallel()
	agent := clewtest.NewAgent(t, greeted())
	opts := asProcess(agent)
	opts.Model = "--evil"
	opts.FallbackModels = []string{"-e", "--evil=1"}
	opts.Agent = "one\n--evil"
	opts.Resume = "--evil"
	opts.Tools = []string{"--evil"}
	opts.AllowedTools = []string{"--evil(--more)"}
	opts.DisallowedTools = []string{"-e"}
	opts.AddDirs = []string{"--evil", "-"}
	opts.ExtraArgs = []string{"--newer=--evil"}
	wantClosed(t, connectTo(t, opts))
	want := []string{
		"--output-format=stream-json", "--verbose", "--input-format=stream-json", "--model=--evil", "--agent=one\n--evil",
		"--resume=--evil", "--allowedTools=--evil(--more)", "--disallowedTools=-e", "--tools=--evil",
		"--fallback-model=-e,--evil=1", "--add-dir=--evil", "--add-dir=-", "--newer=--evil",
	}
	if diff := cmp.Diff(want, agent.Args()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A prompt is never on the command line, and arrives as it is.
func TestPromptsAreNoArguments(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"-p", "--dangerously-skip-permissions", "a\nb", "a\x00b", "/clear", `{"type":"x"}`} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			agent := clewtest.NewAgent(t, greeted().Expect(map[string]any{
				"type":    "user",
				"message": map[string]any{"content": []any{map[string]any{"type": "text", "text": prompt}}},
			}).Send(aResult))
			if _, err := clew.Run(t.Context(), prompt, asProcess(agent)); err != nil {
				t.Fatal(err)
			}
			want := []string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}
			if diff := cmp.Diff(want, agent.Args()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What no argument or variable can hold is refused before anything starts.
func TestValuesThatAreRefused(t *testing.T) {
	t.Parallel()
	for option, opts := range map[string]*clew.Options{
		"SessionID":    {SessionID: "--evil"},
		"Model":        {Model: "a\x00b"},
		"Resume":       {Resume: "a\x00b"},
		"Tools":        {Tools: []string{"a\nb"}},
		"AllowedTools": {AllowedTools: []string{"Read --evil"}},
		"AddDirs":      {AddDirs: []string{"a\x00b"}},
		"ExtraArgs":    {ExtraArgs: []string{"evil"}},
		"Env":          {Env: []string{"A=a\x00B=b"}},
		"Dir":          {Dir: "a\x00b"},
		"AgentPath":    {AgentPath: "a\x00b"},
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			agent := clewtest.NewAgent(t, nil)
			opts.Env = append(opts.Env, agent.Env()...)
			if opts.AgentPath == "" {
				opts.AgentPath = agent.Path()
			}
			_, err := clew.Connect(t.Context(), opts)
			if bad, ok := errors.AsType[*clew.OptionsError](err); !ok || bad.Option != option {
				t.Errorf("error %v", err)
			}
			if args := agent.Args(); args != nil {
				t.Errorf("an agent was started with %q", args)
			}
		})
	}
}

// An agent does not take itself for a part of the one that this process may be a part of.
func TestAgentEnvironment(t *testing.T) {
	inherited := []string{"CLAUDECODE", "CLAUDE_CODE_SSE_PORT", "NODE_OPTIONS", "CLEW_PRIVATE", "OTHER"}
	for _, name := range inherited {
		t.Setenv(name, "inherited")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	opts := &clew.Options{
		AgentPath: path,
		Env:       append(roleEnv("environment"), "CLEW_GIVEN=a=b", "EMPTY="),
		Stderr:    func(line string) { lines = append(lines, line) },
	}
	if _, err := clew.Connect(t.Context(), opts); err == nil {
		t.Fatal("the agent came up")
	}
	looked := slices.Concat(inherited, []string{"CLEW_GIVEN", "EMPTY", "CLAUDE_CODE_ENTRYPOINT"})
	got := slices.DeleteFunc(lines, func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return !slices.Contains(looked, name)
	})
	slices.Sort(got)
	want := []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli", "CLEW_GIVEN=a=b", "EMPTY=", "OTHER=inherited"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
