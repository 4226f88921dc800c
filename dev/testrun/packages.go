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
		"dev/browsertest", "cmd/clew/internal/cli", "dev/faulttest", "dev/realtest/versions", "cmd/clew/internal/tui", "sessions",
		"dev/simtest", "internal/worktree", "nats/natsfleet", "fleet/fleettest", "nats/natsstore", "dev/fleetsoak",
	}

	// still are the packages without the race detector: in most of them nothing runs at once, others
	// drive processes, and cmd/clew/internal/cli runs the program in the process of its tests, where variables
	// and the time zone belong to all goroutines. "make test-rest" tests all others with it.
	still = []string{
		"export", "redact", "settings", "tooluse", "usage", "wire", "cmd/clew/internal/agentcli", "dev/archtest", "dev/browsertest", "cmd/clew/internal/cli", "cmd/clew/internal/compose",
		"cmd/clew/internal/config", "internal/entryfacts", "internal/entrylex", "internal/highlight", "internal/jsonlex", "internal/markdown",
		"cmd/clew/internal/paint", "internal/rawjson", "dev/realtest/versions", "internal/render", "internal/rows",
		"internal/schemas", "internal/sessionfile", "dev/testrun", "internal/tty", "internal/version", "dev/wiregen",
	}

	// long are the packages that have tests for "make test-rest", marked with soak.Rest, or more of them there.
	long = []string{
		"cmd/clew/internal/agentcli", "dev/browsertest", "cmd/clew/internal/cli", "cmd/clew/internal/fleetcli", "internal/markdown", "dev/realtest/versions", "internal/render",
		"cmd/clew/internal/statusline", "cmd/clew/internal/tui",
	}

	// late are the directories of packages that only "make test-rest" tests. Those of the first line
	// start the pinned agent again and again, a second of processor time each: what they check, others
	// check with the simulated agent or with recordings, and dev/realtest/versions has scenarios
	// for the most important of it. The others are tools of this repository.
	late = []string{
		"examples", "dev/exampletest", "dev/record", "dev/realtest",
		"dev/bench", "internal/corpus", "dev/notices", "dev/pictures",
	}

	// bound are the tests in which permissions have to bind the user.
	bound = struct {
		packages []string
		tests    string
	}{
		[]string{"cmd/clew/internal/cli", "internal/tempconfig", "sessions"},
		"^TestFaultUnreadableFile$/^forbidden$|^TestScript$/^(doctor|search|stats)$|^TestCopySettingsSkips$|" +
			"^TestNamesForbiddenProject$|^TestTailForbidden$|^TestWatchForbidden$|^TestFolderWithoutPermission$",
	}
)

// packages are the import paths of the packages of this repository that have tests.
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

// dir returns the directory of a package in this repository. That of the development's module is not
// where its path says.
func dir(importPath string) string {
	dir := strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
	if below, ok := strings.CutPrefix(dir, "cmd/clew/dev/"); ok {
		return "dev/" + below
	}
	return dir
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
	return dir != "dev/realtest/versions" && dir != "dev/realtest/scene" &&
		within(late, dir)
}

// within reports whether a directory is one of others, or below one.
func within(trees []string, dir string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return dir == tree || strings.HasPrefix(dir, tree+"/") })
}
