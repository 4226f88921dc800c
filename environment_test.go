package clew

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sandbox"
)

// ownVariables are set for every agent.
var ownVariables = []string{
	"CLAUDE_CODE_ENTRYPOINT=sdk-cli", "CLAUDE_CODE_SDK_READS_SESSION_STATE=1", "CLAUDE_AGENT_SDK_VERSION=" + sdkVersion(),
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inherited := []string{
		"PATH=/bin", "HOME=/h", "PWD=/w", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SSE_PORT=1",
		"NODE_OPTIONS=-x", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_SESSION_ID=s", "CLEW_AGENT=/a", "CLEW_=1",
		"CLAUDE_CONFIG_DIR=/c", "ANTHROPIC_API_KEY=k",
	}
	kept := []string{"PATH=/bin", "HOME=/h", "PWD=/w", "CLAUDE_CONFIG_DIR=/c", "ANTHROPIC_API_KEY=k"}
	tests := []struct {
		name string
		o    Options
		want []string
	}{
		{"as it is", Options{}, slices.Concat(kept, ownVariables)},
		{"nothing inherited", Options{InheritEnv: []string{}}, ownVariables},
		{"directories of its own", Options{InheritEnv: []string{}, Env: []string{"CLAUDE_CONFIG_DIR=/a,/b"}},
			slices.Concat([]string{"CLAUDE_CONFIG_DIR=/a,/b"}, ownVariables)},
		{"named ones inherited", Options{InheritEnv: []string{"HOME", "CLAUDECODE", "CLEW_AGENT", "NONE"}},
			slices.Concat([]string{"HOME=/h", "CLAUDECODE=1", "CLEW_AGENT=/a"}, ownVariables)},
		{"set again",
			Options{InheritEnv: []string{"HOME"}, Env: []string{"HOME=/x", "CLAUDECODE=2", "A=1", "A=2", "EMPTY="}},
			slices.Concat([]string{"HOME=/x", "CLAUDECODE=2", "A=2", "EMPTY="}, ownVariables)},
		{"own entrypoint", Options{InheritEnv: []string{}, Env: []string{"CLAUDE_CODE_ENTRYPOINT=mine"}},
			[]string{"CLAUDE_CODE_ENTRYPOINT=mine", ownVariables[1], ownVariables[2]}},
		{"no states", Options{InheritEnv: []string{}, Env: []string{"CLAUDE_CODE_SDK_READS_SESSION_STATE=0"}},
			[]string{"CLAUDE_CODE_SDK_READS_SESSION_STATE=0", ownVariables[0], ownVariables[2]}},
		{"version stays", Options{InheritEnv: []string{"CLAUDE_AGENT_SDK_VERSION"},
			Env: []string{"CLAUDE_AGENT_SDK_VERSION=9"}},
			[]string{ownVariables[2], ownVariables[0], ownVariables[1]}},
		{"folder", Options{InheritEnv: []string{"PWD"}, Dir: dir}, slices.Concat([]string{"PWD=" + dir}, ownVariables)},
		{"folder of a transport", Options{InheritEnv: []string{}, Dir: "there", Transport: nopTransport{}},
			slices.Concat(ownVariables, []string{"PWD=there"})},
		{"checkpoints", Options{InheritEnv: []string{}, EnableFileCheckpointing: true},
			slices.Concat(ownVariables, []string{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true"})},
		{"preview", Options{InheritEnv: []string{}, QuestionPreview: PreviewHTML},
			slices.Concat(ownVariables, []string{"CLAUDE_CODE_QUESTION_PREVIEW_FORMAT=html"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, agentEnv(&tt.o, inherited)); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEnvironHasOneConfigDir checks that an agent gets the first of several directories: it would take
// them for one name.
func TestEnvironHasOneConfigDir(t *testing.T) {
	t.Parallel()
	comma := filepath.Join(t.TempDir(), "a,b")
	if err := os.Mkdir(comma, 0o700); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"/c": "/c", "/c,/d": "/c", " /c , /d": "/c", ",/d": "/d", ",": ",", "": "",
		comma: comma, comma + ",/d": strings.TrimSuffix(comma, ",b"),
	} {
		env := agentEnv(&Options{}, []string{"CLAUDE_CONFIG_DIR=" + value})
		if !slices.Contains(env, "CLAUDE_CONFIG_DIR="+want) {
			t.Errorf("%q: got %q, want %q", value, env, want)
		}
	}
}

func TestEnvironIsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	want, err := filepath.Abs("sub")
	if err != nil {
		t.Fatal(err)
	}
	if env := agentEnv(&Options{Dir: "sub"}, nil); !slices.Contains(env, "PWD="+want) {
		t.Errorf("no PWD=%s in %q", want, env)
	}
}

func TestEnvironmentKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fold bool
		want []string
	}{
		{false, []string{"Path=a", "=C:=b", "PATH=c", "", "="}},
		{true, []string{"PATH=c", "=C:=b", "", "="}},
	} {
		env := environment{fold: tt.fold}
		for _, entry := range []string{"Path=a", "=C:=b", "PATH=c", "", "="} {
			env.set(entry)
		}
		env.setDefault("PATH=d")
		if diff := cmp.Diff(tt.want, env.entries); diff != "" {
			t.Errorf("fold %t (-want +got):\n%s", tt.fold, diff)
		}
	}
}

func TestModuleVersion(t *testing.T) {
	t.Parallel()
	module := func(path, version string) *debug.Module { return &debug.Module{Path: path, Version: version} }
	tests := []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"a release", debug.BuildInfo{Main: *module("app", "v9.0.0"), Deps: []*debug.Module{module(modulePath,
			"v1.2.3")}}, "1.2.3"},
		{"this module", debug.BuildInfo{Main: *module(modulePath, "v1.2.3")}, "1.2.3"},
		{"the program in a clone", debug.BuildInfo{Main: *module(modulePath+"/cmd/clew", "v1.2.3"), Deps: []*debug.Module{module(modulePath,
			"(devel)")}}, "1.2.3"},
		{"another program", debug.BuildInfo{Main: *module(modulePath+"er", "v1.2.3")}, "0.0.0-devel"},
		{"a checkout", debug.BuildInfo{Main: *module(modulePath, "(devel)")}, "0.0.0-devel"},
		{"unknown", debug.BuildInfo{}, "0.0.0-devel"},
	}
	for _, tt := range tests {
		if got := moduleVersion(&tt.info); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    *Options
		env  string // in front of what Clew sets
		args string // behind what is always there
	}{
		{"nil", nil, "", ""},
		{"variables", &Options{Env: []string{"PLAIN=visible", "API_KEY=sk-ant-abc"}}, "PLAIN='***' API_KEY='***' ", ""},
		{"rule", &Options{AllowedTools: []string{"Bash(git log:*)", "Read"}}, "",
			" '--allowedTools=Bash(git log:*),Read'"},
		{"numbers as they are", &Options{Session: SessionOptions{Resume: "12345678901234567890"}, Limits: Limits{MaxTurns: 3}}, "",
			" --max-turns=3 --resume=12345678901234567890"},
		{"quotes", &Options{Model: `it's`}, "", ` '--model=it'\''s'`},
		{"escape sequences", &Options{Model: "a\x1b[31m'b\"\n"}, "", ` $'--model=a\x1b[31m\'b"\n'`},
		{"members of settings", &Options{Settings: SettingsOptions{JSON: `{"apiKey":"hidden","maxTokens":5,"model":"m"}`}}, "",
			` '--settings={"apiKey":"***","maxTokens":5,"model":"m"}'`},
		{"variables of settings", &Options{Settings: SettingsOptions{JSON: `{"env":{"A":"hidden","B":1}}`}}, "",
			` '--settings={"env":{"A":"***","B":0}}'`},
		{"headers of settings", &Options{Settings: SettingsOptions{JSON: `{"nested":[{"headers":{"H":"hidden"}}]}`}}, "",
			` '--settings={"nested":[{"headers":{"H":"***"}}]}'`},
		{"addresses of settings", &Options{Settings: SettingsOptions{JSON: `{"proxy":"http://me:hidden@host/"}`}}, "",
			` '--settings={"proxy":"http://***@host/"}'`},
		{"settings that are null", &Options{Settings: SettingsOptions{JSON: `null`}, Sandbox: &sandbox.Settings{}}, "", " --settings=null"},
		{"settings that are no JSON", &Options{Settings: SettingsOptions{JSON: `{token: hidden`}}, "", ` '--settings={token: ***'`},
		{"extra", &Options{ExtraArgs: []string{"--brief", "--access-token=hidden"}}, "", " --brief '--access-token=***'"},
		{"odd entries", &Options{Env: []string{"sk-ant-x", ""}, ExtraArgs: []string{"sk-ant-x"}}, "", " 'sk-ant-***'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := tt.env + strings.Join(slices.Concat(ownVariables, []string{"claude"}, fixedArgs), " ") + tt.args
			if diff := cmp.Diff(want, tt.o.CommandLine()); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommandLineNamesTheBinary(t *testing.T) {
	t.Parallel()
	if got := (&Options{AgentPath: "/my tools/claude"}).CommandLine(); !strings.Contains(got, " '/my tools/claude' --") {
		t.Error(got)
	}
}

func TestQuoteIsUnderstoodByTheShell(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no bash here")
	}
	for _, word := range []string{"", "plain", "a b", "it's", `"`, `\`, "$HOME", "`x`", "*", "a\nb",
		"a\tb'c\"d\\e\x01", "ü", "~"} {
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q as %s: %q, %v", word, quote(word), out, err)
		}
	}
}

func TestFindAgent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.exe")
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := FindAgent(path); got != path || err != nil {
		t.Errorf("found %q, %v", got, err)
	}
	t.Setenv("CLEW_AGENT", path)
	if got, err := FindAgent(""); got != path || err != nil {
		t.Errorf("by the variable: %q, %v", got, err)
	}
	var missing *NotFoundError
	got, err := FindAgent(path + "x")
	if !errors.As(err, &missing) || got != "" || !strings.Contains(missing.Looked[0], "agent.exex") {
		t.Errorf("found %q, %v", got, err)
	}
}
