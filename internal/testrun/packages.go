package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

const module = "github.com/clewdev/clew"

var (
	// first are the packages whose tests take longest. They start first.
	first = []string{"internal/browsertest", "internal/cli", "internal/realtest/versions", "fleet/natsfleet", "internal/tui", "fleet"}

	// raced are the packages that "make test" tests with the race detector: the SDK and what runs
	// its goroutines. "make test-rest" tests all packages with it.
	raced = []string{"", "internal/backlog", "internal/control", "internal/mcphost", "internal/process", "fleet/memfleet", "tools"}

	// drift are the directories of packages whose tests start the pinned agent again and again, a
	// second of processor time each. What they check, others check with the simulated agent or with
	// recordings, and internal/realtest/versions has scenarios for the most important of it.
	drift = []string{"examples", "internal/record", "internal/realtest"}
)

// packages are the import paths of the packages of this module that have tests.
type packages []string

// list returns the packages with tests.
func list(ctx context.Context) (packages, error) {
	const format = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}`
	out, err := exec.CommandContext(ctx, "go", "list", "-f", format, module+"/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := strings.Fields(string(out))
	slices.SortStableFunc(all, func(a, b string) int { return rank(a) - rank(b) })
	return all, nil
}

// rank returns the place of a package in the order of tests.
func rank(importPath string) int {
	if i := slices.Index(first, dir(importPath)); i >= 0 {
		return i
	}
	return len(first)
}

// dir returns the directory of a package in this module.
func dir(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// split returns the packages that "make test" tests with and without the race detector.
func (p packages) split() (withRace, without []string) {
	_, others := p.drift()
	for _, importPath := range others {
		if slices.Contains(raced, dir(importPath)) {
			withRace = append(withRace, importPath)
		} else {
			without = append(without, importPath)
		}
	}
	return withRace, without
}

// drift returns the packages that start the pinned agent again and again, and the others.
func (p packages) drift() (agent, others []string) {
	for _, importPath := range p {
		if isDrift(dir(importPath)) {
			agent = append(agent, importPath)
		} else {
			others = append(others, importPath)
		}
	}
	return agent, others
}

func isDrift(dir string) bool {
	return dir != "internal/realtest/versions" && dir != "internal/realtest/scene" &&
		slices.ContainsFunc(drift, func(tree string) bool { return dir == tree || strings.HasPrefix(dir, tree+"/") })
}
