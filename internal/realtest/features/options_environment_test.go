package features_test

import (
	"iter"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// A host that is a tool of an agent starts another one as if it were none: the inner agent inherits nothing of what the
// outer one gives its tools.
func TestRealOptionsInsideAnAgent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no env command")
	}
	outer, env := runForVariables(t)
	for name, value := range env {
		t.Setenv(name, value)
	}
	for _, name := range []string{"BUN_OPTIONS", "NODE_OPTIONS"} {
		t.Setenv(name, "--inspect") // with that, the agent would not start
	}
	inner, _ := runForVariables(t)
	if diff := cmp.Diff(namesOf(outer), namesOf(inner)); diff != "" {
		t.Errorf("variables of the agent (-outside +inside):\n%s", diff)
	}
}

// runForVariables runs an agent with the variables of this process, and returns those of its own that it was given, and
// those that it gave a tool.
func runForVariables(t *testing.T) (given, passedOn map[string]string) {
	t.Helper()
	model := clewtest.NewModel(t)
	model.On("Go").Reply(bash("env"))
	model.OnToolResult("CLAUDECODE=").Reply(clewtest.Text("Done."))
	opts := over(t, model, &clew.Options{PermissionMode: clew.PermissionModeBypassPermissions})
	opts.InheritEnv = nil
	opts.Transport = &clew.ProcessTransport{Wrap: func(launch *clew.Launch) error {
		given = agentVariables(slices.Values(launch.Env))
		return nil
	}}
	k := succeed(t, clew.Query(t.Context(), "Go", opts))
	userAgent := regexp.MustCompile(`\(external, sdk-cli, agent-sdk/[^)]+\)$`)
	if got := newest(model).Header.Get("User-Agent"); k.result.Result != "Done." || !userAgent.MatchString(got) {
		t.Fatalf("User-Agent %q, result %s", got, k.result.Raw())
	}
	return given, agentVariables(strings.Lines(only(t, k.toolResults()).Text()))
}

// agentVariables returns the variables that are about agents.
func agentVariables(entries iter.Seq[string]) map[string]string {
	variables := map[string]string{}
	for entry := range entries {
		name, value, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if strings.HasPrefix(name, "CLAUDE") || strings.HasPrefix(name, "AI_") || strings.HasSuffix(name, "_OPTIONS") {
			variables[name] = value
		}
	}
	return variables
}

func namesOf(variables map[string]string) []string { return slices.Sorted(maps.Keys(variables)) }
