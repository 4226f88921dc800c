package fleetcli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/engine"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/gittest"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/timelimit"
)

// TestMain also makes the test binary the agent of a job, and the program.
func TestMain(m *testing.M) {
	timelimit.Lift()
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "agent that clears the environment": // as with env -i
			os.Exit(again(os.Args[2], []string{"GORACE=atexit_sleep_ms=0"}))
		case "agent that names another job":
			os.Exit(again(os.Args[2], append(os.Environ(), jobVariable+"=zzzzzzzzzzzz")))
		case "agent":
			os.Exit(again(os.Args[2], os.Environ()))
		case "program":
			os.Exit(runCommands(os.Args[2]))
		}
	}
	os.Exit(gittest.Main(m))
}

// again runs commands in a child.
func again(commands string, env []string) int {
	path, err := os.Executable()
	if err != nil {
		return 1
	}
	cmd := exec.Command(path, "program", commands) //nolint:noctx // the program gives up by itself
	cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stdout, os.Stderr
	if cmd.Run() != nil {
		return 1
	}
	return 0
}

// runCommands runs clew commands, and writes their errors, or "" for each that succeeds.
func runCommands(list string) int {
	var commands [][]string
	if json.Unmarshal([]byte(list), &commands) != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), polltest.Limit)
	defer cancel()
	errs := make([]string, len(commands))
	for i, args := range commands {
		var out bytes.Buffer
		p := Program{Streams: clikit.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard}}
		root := &cobra.Command{Use: "clew", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(Commands(p)...)
		root.SetArgs(args)
		if err := root.ExecuteContext(ctx); err != nil {
			errs[i] = err.Error()
		}
	}
	if json.NewEncoder(os.Stdout).Encode(errs) != nil {
		return 1
	}
	return 0
}

// runAs runs commands in a separate process, which starts as a role.
func runAs(t *testing.T, role, job string, commands [][]string) (errs []string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(commands)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, role, string(list))
	cmd.Env, cmd.Stderr = append(os.Environ(), jobVariable+"="+job), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", role, err)
	}
	if err := json.Unmarshal(out, &errs); err != nil || len(errs) != len(commands) {
		t.Fatalf("%s wrote %q, %v", role, out, err)
	}
	return errs
}

// The agent of a job can't decide about jobs, even with another environment. Somebody else can.
func TestAgentsDecideNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := engine.Place{Name: dir}.Serve(t.Context(), engine.Server{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	f := fleet.Open(e, "tester")
	j, err := f.Submit(t.Context(), &fleet.Spec{Prompt: "Fix the build.", Agent: fleet.AgentSpec{AllowedTools: []string{"Bash"}}})
	if err != nil {
		t.Fatal(err)
	}
	q, err := json.Marshal(&fleet.Question{Job: j.ID, ID: "q1", Attempt: 1, Tool: "Write", Input: json.RawMessage(`{}`), Until: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Set(t.Context(), fleet.Questions, fleet.Record{Key: j.ID + ".q1", Label: "open", Data: q}); err != nil {
		t.Fatal(err)
	}
	at := []string{"--fleet", dir}
	decisions := [][]string{
		append([]string{"jobs", "approve", j.ID, "--question", "q1", "--allow"}, at...),
		append([]string{"fleet", "account", fleet.DefaultAccount, "--daily", "5"}, at...),
		append([]string{"submit", "Write.", "--allowed-tools", "Write"}, at...),
		append([]string{"jobs", "cancel", j.ID}, at...),
		append([]string{"jobs", "drop", j.ID}, at...),
	}
	others := [][]string{
		append([]string{"jobs", "resume", j.ID}, at...),
		append([]string{"jobs", "retry", j.ID}, at...),
		append([]string{"fleet", "account", fleet.DefaultAccount, "--release"}, at...),
		append([]string{"worker"}, at...),
	}
	allowed := [][]string{
		append([]string{"jobs", "show", j.ID}, at...),
		append([]string{"submit", "Look.", "--allowed-tools", "Bash"}, at...),
	}
	roles := []string{"agent"}
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" { // the environment of ancestors is known
		roles = append(roles, "agent that clears the environment", "agent that names another job")
	}
	for _, role := range roles {
		for i, err := range runAs(t, role, j.ID, append(decisions, others...)) {
			if !strings.Contains(err, "this command was started by the agent of job "+j.ID) {
				t.Errorf("%s: command %d: %q", role, i, err)
			}
		}
		for i, err := range runAs(t, role, j.ID, allowed) {
			if err != "" {
				t.Errorf("%s: allowed command %d: %s", role, i, err)
			}
		}
	}
	for q, err := range f.Questions(t.Context(), j.ID) {
		if err != nil || q.Answer != nil {
			t.Errorf("the question is %+v, %v", q, err)
		}
	}
	for i, err := range runAs(t, "agent", "jobofanother", decisions) { // which is no job of this fleet
		if err != "" {
			t.Errorf("command %d of somebody else: %s", i, err)
		}
	}
}

// A record that can't be read is taken for one of a job that exists.
func TestCallerUnreadable(t *testing.T) {
	t.Parallel()
	c, e := newConnection(t)
	if _, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "damaged", Data: []byte("damaged")}); err != nil {
		t.Fatal(err)
	}
	for ids, want := range map[string]string{"": "", "zzz": "", "zzz damaged": "damaged"} {
		j, err := caller(t.Context(), c.Fleet, strings.Fields(ids))
		if got := j != nil; err != nil || got != (want != "") || got && j.ID != want {
			t.Errorf("%q: %v, %v", ids, j, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if j, err := caller(ctx, fleet.Open(canceledEngine{e}, "tester"), []string{"a"}); err == nil {
		t.Errorf("a canceled command has the caller %v", j)
	}
}

// A canceledEngine returns context errors.
type canceledEngine struct{ *memfleet.Engine }

func (canceledEngine) Get(ctx context.Context, _ fleet.Table, _ string) (fleet.Record, error) {
	return fleet.Record{}, errors.Join(ctx.Err(), errors.New("no connection"))
}

func TestWider(t *testing.T) {
	t.Parallel()
	than := fleet.Spec{
		Agent:  fleet.AgentSpec{Tools: []string{"Bash", "Read"}, AllowedTools: []string{"Bash"}, DisallowedTools: []string{"WebFetch"}, PermissionMode: "acceptEdits", MaxTurns: 9},
		Limits: fleet.Limits{BudgetUSD: 2, Wall: fleet.Duration(time.Hour)}, Ask: &fleet.Ask{Tools: []string{"Write"}},
	}
	for _, tt := range []struct {
		want   string
		change func(s *fleet.Spec)
	}{
		{"", func(*fleet.Spec) {}},
		{"", func(s *fleet.Spec) {
			s.Agent.Tools, s.Agent.AllowedTools, s.Agent.PermissionMode, s.Account = []string{"Read"}, nil, "plan", fleet.DefaultAccount
			s.Limits.BudgetUSD = 1
		}},
		{"the permission mode", func(s *fleet.Spec) { s.Agent.PermissionMode = "bypassPermissions" }},
		{"tools", func(s *fleet.Spec) { s.Agent.Tools = nil }},
		{"tools", func(s *fleet.Spec) { s.Agent.Tools = []string{"Read", "Write"} }},
		{"tools that run without asking", func(s *fleet.Spec) { s.Agent.AllowedTools = []string{"Bash", "Write"} }},
		{"tools that are denied to it", func(s *fleet.Spec) { s.Agent.DisallowedTools = nil }},
		{"tools that it has to ask for", func(s *fleet.Spec) { s.Ask = nil }},
		{"secrets", func(s *fleet.Spec) { s.Agent.Secrets = []string{"NPM_TOKEN"} }},
		{"MCP servers", func(s *fleet.Spec) { s.Agent.MCP = []string{"db"} }},
		{"the branch", func(s *fleet.Spec) { s.Repo = &fleet.Repo{URL: "https://git.example.com/app.git", Branch: "main"} }},
		{"the account", func(s *fleet.Spec) { s.Account = "other" }},
		{"the budget", func(s *fleet.Spec) { s.Limits.BudgetUSD = 0 }},
		{"the budget", func(s *fleet.Spec) { s.Limits.BudgetUSD = 3 }},
		{"the duration", func(s *fleet.Spec) { s.Limits.Wall = 0 }},
		{"the number of answers", func(s *fleet.Spec) { s.Agent.MaxTurns = 10 }},
	} {
		s := than
		tt.change(&s)
		if diff := cmp.Diff(tt.want, wider(&than, &s)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
