package simtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/sandbox"
	"github.com/clewdev/clew/wire"
)

// mirrorVariable makes this test binary an agent that reports how it was started.
const mirrorVariable = "CLEWTEST_MIRROR"

// A mirrored is an agent's own view of its start.
type mirrored struct {
	Args, Env []string
	Dir       string
}

func init() {
	if os.Getenv(mirrorVariable) == "" {
		return
	}
	if err := mirror(); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}

// mirror is the whole of such an agent: it answers each request with its view, and ends with its
// input.
func mirror() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	answer, err := json.Marshal(mirrored{os.Args[1:], os.Environ(), dir})
	if err != nil {
		return err
	}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		if request, ok := wire.Decode(input.Bytes()).(*wire.ControlRequestMessage); ok {
			fmt.Println(controlSuccess(request.RequestID, string(answer)))
		}
	}
	return input.Err()
}

// started returns how the agent of these options is started.
func started(t *testing.T, opts *clew.Options) mirrored {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts.AgentPath = path
	opts.Env = append(opts.Env, mirrorVariable+"=1", "GORACE=atexit_sleep_ms=0")
	return decoded[mirrored](t, string(dial(t, opts).Info().Raw()))
}

func TestArgumentsOfTheProcess(t *testing.T) {
	t.Parallel()
	fixed := []string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}
	for name, test := range map[string]struct {
		opts clew.Options
		want []string
	}{
		"nothing": {clew.Options{}, nil},
		"empty lists": {
			clew.Options{Tools: []string{}, Settings: clew.SettingsOptions{Sources: []clew.SettingSource{}}},
			[]string{"--tools=", "--setting-sources="},
		},
		"values that look like something else": {
			clew.Options{
				Model: "a b\n\"c\"", Session: clew.SessionOptions{Resume: "--evil", ResumeAt: "m", ResumeDropsTurn: new("")}, ExtraArgs: []string{"--neg=-1"},
			},
			[]string{"--model=a b\n\"c\"", "--resume=--evil", "--resume-session-at=m", "--resume-drops-turn=", "--neg=-1"},
		},
		"skills": {
			clew.Options{AllowedTools: []string{"Read", "Skill(pdf)"}, Skills: []string{"pdf", "xlsx"}},
			[]string{"--allowedTools=Read,Skill(pdf),Skill(xlsx)"},
		},
		"a callback": {*withCallbacks(), []string{"--permission-prompt-tool=stdio"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := started(t, &test.opts).Args
			if diff := cmp.Diff(slices.Concat(fixed, test.want), got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

// Long and private values are in requests, never on the command line.
func TestNothingPrivateOnTheCommandLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 60_000)
	agent := clewtest.NewAgent(t, new(clewtest.Scenario).
		Expect(controlRequest("init", fmt.Sprintf(
			`{"subtype":"initialize","appendSystemPrompt":%q,"agents":{"a":{"prompt":%q}}}`, long, long))).
		Send(controlSuccess("init", `{}`)).
		Expect(controlRequest("set", `{"subtype":"mcp_set_servers","servers":{"s":{"headers":{"Authorization":"secret"}}}}`)).
		Send(controlSuccess("set", `{}`)).
		Expect(promptFrame("p", "-p --evil")).Send(resultFrame("done", "p")).CloseStdin().Exit(0))
	opts := &clew.Options{
		AgentPath: agent.Path(), Env: agent.Env(),
		SystemPrompt: &clew.SystemPrompt{Append: long},
		Agents:       map[string]clew.AgentDefinition{"a": {Description: "does it", Prompt: long}},
		MCPServers: map[string]clew.MCPServer{
			"s": &clew.MCPHTTPServer{URL: "https://example.com", Headers: map[string]string{"Authorization": "secret"}},
		},
	}
	if _, err := clew.Run(t.Context(), "-p --evil", opts); err != nil {
		t.Fatal(err)
	}
	want := []string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}
	if diff := cmp.Diff(want, agent.Args()); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// Settings are in a file that only the user can read, and that is gone when the session ends.
func TestSettingsAreNotOnTheCommandLine(t *testing.T) {
	t.Parallel()
	agent := clewtest.NewAgent(t, connected().CloseStdin().Exit(0))
	s, err := clew.Connect(t.Context(), &clew.Options{
		AgentPath: agent.Path(), Env: agent.Env(),
		Settings: clew.SettingsOptions{JSON: `{"env":{"DB_PASSWORD":"hush"}}`}, Sandbox: &sandbox.Settings{Enabled: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := ""
	for _, arg := range agent.Args() {
		if strings.Contains(arg, "hush") {
			t.Errorf("argument %s", arg)
		}
		if path, found := strings.CutPrefix(arg, "--settings="); found {
			file = path
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("mode %o", mode)
	}
	content, err := os.ReadFile(file)
	if want := `{"env":{"DB_PASSWORD":"hush"},"sandbox":{"enabled":true,"failIfUnavailable":true}}`; string(content) != want {
		t.Errorf("content %s, error %v", content, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the session: %v", err)
	}
}

func TestEnvironmentOfTheProcess(t *testing.T) {
	for _, entry := range []string{"CLAUDECODE=1", "CLEW_TOKEN=1", "NODE_OPTIONS=-x", "CLAUDE_CODE_ENTRYPOINT=cli",
		"CLAUDE_AGENT_SDK_VERSION=0", "KEPT=kept", "BOTH=inherited"} {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got := started(t, &clew.Options{Dir: dir, Env: []string{"BOTH=own", "CLAUDE_AGENT_SDK_VERSION=9"}})
	variables := make(map[string]string)
	for _, entry := range got.Env {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	want := map[string]string{
		"CLAUDECODE": "", "CLEW_TOKEN": "", "NODE_OPTIONS": "", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
		"KEPT": "kept", "BOTH": "own", "PWD": dir, "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
	}
	for name, value := range want {
		if variables[name] != value {
			t.Errorf("%s=%s, want %q", name, variables[name], value)
		}
	}
	if version := variables["CLAUDE_AGENT_SDK_VERSION"]; version == "" || version == "0" || version == "9" {
		t.Errorf("version %q", version)
	}
	if got.Dir != dir {
		t.Errorf("folder %q, want %q", got.Dir, dir)
	}
}

// The agent inherits nothing but what it is given.
func TestEnvironmentOfTheProcessAlone(t *testing.T) {
	t.Setenv("OTHER", "1")
	got := started(t, &clew.Options{InheritEnv: []string{"HOME"}, Env: []string{"A=1", "A=2", "CLAUDECODE=mine"}})
	for _, entry := range got.Env {
		switch name, _, _ := strings.Cut(entry, "="); name {
		case "OTHER", "PATH":
			t.Errorf("inherited %s", entry)
		}
	}
	for _, entry := range []string{"A=2", "CLAUDECODE=mine"} {
		if !slices.Contains(got.Env, entry) {
			t.Errorf("no %s in %q", entry, got.Env)
		}
	}
}

// Options that can't be used are refused before anything starts, by whatever the session is opened
// with.
func TestRefusedOptionsStartNothing(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	ask := func(context.Context, *permission.Request) (permission.Result, error) {
		return permission.Allow(), nil
	}
	for name, test := range map[string]struct {
		opts   clew.Options
		option string
		reason string // part of it
	}{
		"two who decide": {
			clew.Options{CanUseTool: ask, PermissionPromptTool: "mcp__a__b"}, "PermissionPromptTool", "CanUseTool",
		},
		"a skill that is a rule":  {clew.Options{Skills: []string{"x),Bash(*"}}, "Skills", "x),Bash(*"},
		"a folder that isn't":     {clew.Options{Dir: missing}, "Dir", missing},
		"a value with a NUL":      {clew.Options{Model: "a\x00b"}, "Model", "NUL"},
		"an argument without a -": {clew.Options{ExtraArgs: []string{"rm"}}, "ExtraArgs", "rm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := test.opts
			opts.AgentPath = missing // starting it would be another error
			_, connect := clew.Connect(t.Context(), &opts)
			_, run := clew.Run(t.Context(), "Hi", &opts)
			for _, err := range []error{connect, run} {
				refused, ok := errors.AsType[*clew.OptionsError](err)
				if !ok || refused.Option != test.option || !strings.Contains(refused.Reason, test.reason) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

func TestMissingAgent(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := clew.Connect(t.Context(), &clew.Options{AgentPath: missing})
	if _, ok := errors.AsType[*clew.NotFoundError](err); !ok || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v", err)
	}
}
