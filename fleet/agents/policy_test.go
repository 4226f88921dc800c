package agents

import (
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/wire"
)

func TestPolicyAllows(t *testing.T) {
	t.Parallel()
	strict := &Policy{
		Repos: []string{"https://git.example.com/team/*", "/srv/repos/*"}, Tools: []string{"Read", "Bash"}, Modes: []string{"plan"},
		Secrets: map[string]string{"TOKEN": "x"}, MCP: map[string]clew.MCPServer{"docs": nil},
	}
	repo := func(url string) fleet.Spec { return fleet.Spec{Prompt: "p", Repo: &fleet.Repo{URL: url}} }
	agent := func(a fleet.AgentSpec) fleet.Spec { return fleet.Spec{Prompt: "p", Agent: a} }
	for _, tt := range []struct {
		name   string
		policy *Policy
		spec   fleet.Spec
		want   bool
	}{
		{"a URL", new(Policy), repo("https://git.example.com/a.git"), true},
		{"a short URL", new(Policy), repo("git@git.example.com:a.git"), true},
		{"a path", new(Policy), repo("/home/me/secret"), false},
		{"a path with a colon", new(Policy), repo("/home/me@x:y"), false},
		{"another transport", new(Policy), repo("ext::sh -c id"), false},
		{"a file URL", new(Policy), repo("file:///home/me/secret"), false},
		{"an allowed URL", strict, repo("https://git.example.com/team/a.git"), true},
		{"another team", strict, repo("https://git.example.com/other/a.git"), false},
		{"another host", strict, repo("https://git.example.com.evil.com/team/a.git"), false},
		{"an allowed path", strict, repo("/srv/repos/a"), true},
		{"a way out", strict, repo("/srv/repos/../../home/me/secret"), false},
		{"a way out of a URL", strict, repo("https://git.example.com/team/../other/a.git"), false},
		{"an encoded way out", strict, repo("https://git.example.com/team/%2e%2E/other/a.git"), false},
		{"a token", new(Policy), repo("https://token@git.example.com/a.git"), false},
		{"a password", new(Policy), repo("ssh://me:secret@git.example.com/a.git"), false},
		{"a user of SSH", new(Policy), repo("ssh://git@git.example.com/a.git"), true},
		{"a tool", strict, agent(fleet.AgentSpec{Tools: []string{"Bash"}}), true},
		{"a rule", strict, agent(fleet.AgentSpec{AllowedTools: []string{"Bash(git *)"}}), true},
		{"another tool", strict, agent(fleet.AgentSpec{AllowedTools: []string{"Write(x)"}}), false},
		{"a tool of MCP", strict, agent(fleet.AgentSpec{AllowedTools: []string{"mcp__docs__search"}}), false},
		{"no mode", strict, agent(fleet.AgentSpec{}), true},
		{"another mode", strict, agent(fleet.AgentSpec{PermissionMode: "acceptEdits"}), false},
		{"no rules at all", new(Policy), agent(fleet.AgentSpec{PermissionMode: "bypassPermissions"}), false},
		{"a secret", strict, agent(fleet.AgentSpec{Secrets: []string{"TOKEN"}}), true},
		{"another secret", strict, agent(fleet.AgentSpec{Secrets: []string{"PATH"}}), false},
		{"a server", strict, agent(fleet.AgentSpec{MCP: []string{"docs"}}), true},
		{"another server", strict, agent(fleet.AgentSpec{MCP: []string{"shell"}}), false},
		{"a push", new(Policy), fleet.Spec{Prompt: "p", Repo: &fleet.Repo{URL: "https://git.example.com/a.git", Branch: "main"}}, false},
	} {
		err := tt.spec.Check()
		if err == nil {
			err = tt.policy.allows(&tt.spec)
		}
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if got := strict.mode(new(fleet.AgentSpec)); got != "plan" {
		t.Errorf("the mode is %q", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ job, policy, want float64 }{{0, 0, 0}, {3, 0, 3}, {0, 5, 5}, {3, 5, 3}, {7, 5, 5}, {-1, 5, 5}} {
		p := &Policy{BudgetUSD: tt.policy}
		if got, _, _ := p.limits(&fleet.Spec{Limits: fleet.Limits{BudgetUSD: tt.job}}); got != tt.want {
			t.Errorf("%v of %v is %v, want %v", tt.job, tt.policy, got, tt.want)
		}
	}
}

// A person who continues a job has to know which of its limits was reached.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	for subtype, want := range map[wire.ResultSubtype]fleet.Cause{
		wire.ResultErrorMaxTurns: fleet.ByTurns, wire.ResultErrorMaxBudgetUSD: fleet.ByBudget, wire.ResultErrorDuringExecution: fleet.ByAgent,
	} {
		if got := causeOf(&wire.ResultMessage{Subtype: subtype}); got != want {
			t.Errorf("%s: %s, want %s", subtype, got, want)
		}
	}
}
