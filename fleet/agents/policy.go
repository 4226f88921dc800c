package agents

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
)

// A Policy limits the requests of jobs. The zero policy allows repositories with a URL, all tools,
// and the permission modes default, acceptEdits, plan and dontAsk; no secrets and no MCP servers.
type Policy struct {
	// Repos are the repositories that jobs may use, as patterns of package path, in which a final
	// "*" also matches slashes. Nil means every repository with a URL. A path on this machine
	// always has to match a pattern.
	Repos []string `json:"repos,omitempty"`
	// Trusted are patterns of the repositories whose own settings, hooks and instructions count, such
	// as CLAUDE.md. These run commands and change what the agent may do.
	Trusted []string `json:"trusted,omitempty"`
	// Tools are the tools that jobs may use; nil means all.
	Tools []string `json:"tools,omitempty"`
	// Modes are the permission modes that jobs may ask for. bypassPermissions has to be named.
	Modes []string `json:"modes,omitempty"`
	// Secrets are the values of environment variables, by name.
	Secrets map[string]string `json:"secrets,omitempty"`
	// MCP are MCP servers, by name.
	MCP map[string]clew.MCPServer `json:"-"`
	// Copy are files that git ignores and that are copied into the working directory of a job whose
	// repository is a path on this machine.
	Copy []string `json:"copy,omitempty"`
	// Setup is a command that runs before the agent does in the working directory of a job whose
	// repository is trusted: a program and its arguments.
	Setup []string `json:"setup,omitempty"`
	// BudgetUSD, Wall and Turns are the maximum for a job, and the default for a job without
	// limits; 0 means no limit.
	BudgetUSD float64        `json:"budget_usd,omitempty"`
	Wall      fleet.Duration `json:"wall,omitempty"`
	Turns     int            `json:"turns,omitempty"`
	// Push allows results to be pushed to the branches that jobs name.
	Push bool `json:"push,omitempty"`
}

// usualModes are the permission modes that jobs may ask for if the policy says nothing.
var usualModes = []string{"default", "acceptEdits", "plan", "dontAsk"}

func (p *Policy) check() error {
	var errs []error
	for _, pattern := range slices.Concat(p.Repos, p.Trusted) {
		if _, err := path.Match(pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("the pattern %q: %w", pattern, err))
		}
	}
	if p.BudgetUSD < 0 || p.Wall < 0 || p.Turns < 0 {
		errs = append(errs, errors.New("a limit is less than 0"))
	}
	return errors.Join(errs...)
}

// allows returns what a job asks for and the policy does not allow.
func (p *Policy) allows(s *fleet.Spec) error {
	return errors.Join(p.allowsRepo(s.Repo), p.allowsAgent(&s.Agent))
}

func (p *Policy) allowsRepo(repo *fleet.Repo) error {
	switch {
	case repo == nil:
		return nil
	case repo.Branch != "" && !p.Push:
		return fmt.Errorf("the policy does not allow to push to %s", repo.Branch)
	case matches(p.Repos, repo.URL), p.Repos == nil && isRemote(repo.URL):
		return nil
	}
	return fmt.Errorf("the policy does not allow the repository %s", repo.URL)
}

func (p *Policy) allowsAgent(a *fleet.AgentSpec) error {
	var errs []error
	refuse := func(what, name string) {
		errs = append(errs, fmt.Errorf("the policy does not allow the %s %s", what, name))
	}
	if !slices.Contains(p.modes(), p.mode(a)) {
		refuse("permission mode", a.PermissionMode)
	}
	for _, rule := range slices.Concat(a.Tools, a.AllowedTools) {
		if tool := toolOf(rule); p.Tools != nil && !slices.Contains(p.Tools, tool) {
			refuse("tool", tool)
		}
	}
	for _, name := range a.Secrets {
		if _, ok := p.Secrets[name]; !ok {
			refuse("secret", name)
		}
	}
	for _, name := range a.MCP {
		if _, ok := p.MCP[name]; !ok {
			refuse("MCP server", name)
		}
	}
	return errors.Join(errs...)
}

// modes are the permission modes that jobs may ask for.
func (p *Policy) modes() []string {
	if p.Modes == nil {
		return usualModes
	}
	return p.Modes
}

// mode returns the permission mode of a job: the requested one, or acceptEdits if that is allowed,
// or the first allowed one.
func (p *Policy) mode(a *fleet.AgentSpec) string {
	switch modes := p.modes(); {
	case a.PermissionMode != "":
		return a.PermissionMode
	case len(modes) > 0 && !slices.Contains(modes, "acceptEdits"):
		return modes[0]
	}
	return "acceptEdits"
}

// toolOf returns the tool of a rule such as "Bash(git *)".
func toolOf(rule string) string {
	tool, _, _ := strings.Cut(rule, "(")
	return strings.TrimSpace(tool)
}

// isRemote reports whether a repository has a URL, or the short form of one for SSH.
func isRemote(repo string) bool {
	for _, scheme := range []string{"https://", "http://", "ssh://", "git://"} {
		if strings.HasPrefix(strings.ToLower(repo), scheme) {
			return true
		}
	}
	host, _, ok := strings.Cut(repo, ":")
	return ok && strings.Contains(host, "@") && !strings.ContainsAny(host, `/\`)
}

// matches reports whether one of some patterns matches a text.
func matches(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if start, ok := strings.CutSuffix(pattern, "*"); ok && !strings.ContainsAny(start, `*?[\`) {
			return strings.HasPrefix(text, start)
		}
		ok, err := path.Match(pattern, text)
		return err == nil && ok
	})
}

// limits returns the limits of a job, at most those in the policy.
func (p *Policy) limits(s *fleet.Spec) (budget float64, wall time.Duration, turns int) {
	return least(s.Limits.BudgetUSD, p.BudgetUSD), time.Duration(least(s.Limits.Wall, p.Wall)), least(s.Agent.MaxTurns, p.Turns)
}

// least returns the smaller one of two limits, of which 0 means none.
func least[T float64 | fleet.Duration | int](a, b T) T {
	a, b = max(a, 0), max(b, 0)
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
