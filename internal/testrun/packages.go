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
	// first are the packages whose tests take longest, most of them because they wait. They start first.
	first = []string{
		"internal/browsertest", "internal/cli", "internal/faulttest", "internal/realtest/versions", "internal/tui", "sessions",
		"internal/simtest", "internal/worktree", "fleet/natsfleet", "fleet/fleettest", "sessions/natsstore", "internal/fleetsoak",
	}

	// still are the packages without the race detector: in most of them nothing runs at once, others
	// drive processes, and internal/cli runs the program in the process of its tests, where variables
	// and the time zone belong to all goroutines. "make test-rest" tests all others with it.
	still = []string{
		"export", "redact", "settings", "tooluse", "usage", "wire", "internal/agentcli", "internal/archtest", "internal/browsertest", "internal/cli", "internal/compose",
		"internal/config", "internal/entryfacts", "internal/entrylex", "internal/highlight", "internal/jsonlex", "internal/markdown",
		"internal/paint", "internal/rawjson", "internal/realtest/versions", "internal/render", "internal/rows",
		"internal/schemas", "internal/sessionfile", "internal/testrun", "internal/tty", "internal/version", "internal/wiregen",
	}

	// long are the packages that have tests for "make test-rest", marked with soak.Rest, or more of them there.
	long = []string{
		"internal/agentcli", "internal/browsertest", "internal/cli", "internal/fleetcli", "internal/markdown", "internal/realtest/versions", "internal/render",
		"internal/statusline", "internal/tui",
	}

	// late are the directories of packages that only "make test-rest" tests. Those of the first line
	// start the pinned agent again and again, a second of processor time each: what they check, others
	// check with the simulated agent or with recordings, and internal/realtest/versions has scenarios
	// for the most important of it. The others are tools of this repository.
	late = []string{
		"examples", "internal/record", "internal/realtest",
		"internal/bench", "internal/corpus", "internal/notices", "internal/pictures",
	}

	// bound are the tests in which permissions have to bind the user.
	bound = struct {
		packages []string
		tests    string
	}{
		[]string{"internal/cli", "internal/tempconfig", "sessions"},
		"^TestFaultUnreadableFile$/^forbidden$|^TestScript$/^(doctor|search|stats)$|^TestCopySettingsSkips$|" +
			"^TestNamesForbiddenProject$|^TestTailForbidden$|^TestWatchForbidden$|^TestFolderWithoutPermission$",
	}
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

// rest returns what "make test-rest" tests without the race detector, and with it.
func (p packages) rest() (plain, withRace []string) {
	plain, others := p.late()
	for _, importPath := range others {
		switch d := dir(importPath); {
		case slices.Contains(long, d):
			plain = append(plain, importPath)
			if !slices.Contains(still, d) {
				withRace = append(withRace, importPath)
			}
		case !within(still, d):
			withRace = append(withRace, importPath)
		}
	}
	return plain, withRace
}

// late returns the packages that only "make test-rest" tests, and the others.
func (p packages) late() (later, others []string) {
	for _, importPath := range p {
		if isLate(dir(importPath)) {
			later = append(later, importPath)
		} else {
			others = append(others, importPath)
		}
	}
	return later, others
}

func isLate(dir string) bool {
	return dir != "internal/realtest/versions" && dir != "internal/realtest/scene" &&
		within(late, dir)
}

// within reports whether a directory is one of others, or below one.
func within(trees []string, dir string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return dir == tree || strings.HasPrefix(dir, tree+"/") })
}
