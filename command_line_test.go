package clew

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		{"numbers as they are", &Options{Resume: "12345678901234567890", MaxTurns: 3}, "",
			" --max-turns=3 --resume=12345678901234567890"},
		{"quotes", &Options{Model: `it's`}, "", ` '--model=it'\''s'`},
		{"escape sequences", &Options{Model: "a\x1b[31m'b\"\n"}, "", ` $'--model=a\x1b[31m\'b"\n'`},
		{"members of settings", &Options{Settings: `{"apiKey":"hidden","maxTokens":5,"model":"m"}`}, "",
			` '--settings={"apiKey":"***","maxTokens":5,"model":"m"}'`},
		{"variables of settings", &Options{Settings: `{"env":{"A":"hidden","B":1}}`}, "",
			` '--settings={"env":{"A":"***","B":"***"}}'`},
		{"headers of settings", &Options{Settings: `{"nested":[{"headers":{"H":"hidden"}}]}`}, "",
			` '--settings={"nested":[{"headers":{"H":"***"}}]}'`},
		{"addresses of settings", &Options{Settings: `{"proxy":"http://me:hidden@host/"}`}, "",
			` '--settings={"proxy":"http://***@host/"}'`},
		{"settings that are null", &Options{Settings: `null`, Sandbox: &SandboxSettings{}}, "", " --settings=null"},
		{"settings that are no JSON", &Options{Settings: `{token: hidden`}, "", ` '--settings={token: ***'`},
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
