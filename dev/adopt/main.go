// Command adopt lists what is new in a version of Claude Code, as work to be done.
//
// It installs the version, records the scenarios of dev/record with it, reads them with "clew
// inspect", runs the scenarios of dev/realtest/versions, and compares the type files and the
// help of the version with the pinned one. "make adopt VERSION=latest" runs it. It needs npm, and
// exits with 1 if there is work.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdev/clew/clewtest"
)

// errWork reports that the list is not empty.
var errWork = errors.New("there is work")

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: adopt VERSION|latest, in the directory of the repository")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "adopt:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, wanted string) error {
	version, err := output(ctx, "", nil, "npm", "view", "--loglevel=error", cli+"@"+wanted, "version")
	if err != nil {
		return err
	}
	if version = strings.TrimSpace(version); version == clewtest.AgentVersion {
		fmt.Printf("Claude Code %s is the pinned version.\n", version)
		return nil
	}
	temp, err := os.MkdirTemp("", "adopt-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	old, err := readRelease(ctx, temp, clewtest.AgentVersion)
	if err != nil {
		return err
	}
	fresh, err := readRelease(ctx, temp, version)
	if err != nil {
		return err
	}
	list := compare(old, fresh)
	found, err := recorded(ctx, temp, fresh)
	if err != nil {
		return err
	}
	list = append(list, found...)
	if failed := scenarios(ctx, fresh); failed != "" {
		list = append(list, work{"scenarios that fail", failed})
	}
	if len(list) == 0 {
		fmt.Printf("Claude Code %s has nothing new.\n", version)
	} else {
		fmt.Print(text(clewtest.AgentVersion, version, list))
		err = errWork
	}
	return err
}

const (
	cli = "@anthropic-ai/claude-code"
	sdk = "@anthropic-ai/claude-agent-sdk"
)

// A release holds the declarations of a version about itself.
type release struct {
	version string
	agent   string // the absolute path of the binary
	types   string // the declarations of its packages
	help    string
}

// readRelease installs a version, and reads its declarations.
func readRelease(ctx context.Context, temp, version string) (*release, error) {
	agent, err := install(ctx, version)
	if err != nil {
		return nil, err
	}
	r := &release{version: version, agent: agent}
	if r.help, err = output(ctx, "", home(temp), agent, "--help"); err != nil {
		return nil, err
	}
	if r.types, err = declarations(ctx, temp, cli+"@"+version, "sdk-tools.d.ts"); err != nil {
		return nil, err
	}
	name, err := sdkOf(version)
	if err != nil {
		return nil, err
	}
	more, err := declarations(ctx, temp, name, "sdk.d.ts")
	if err != nil {
		return nil, err
	}
	r.types += more
	return r, nil
}

// sdkOf returns the package of the official SDK that belongs to a version: 0.3.326 to 2.1.326.
func sdkOf(version string) (string, error) {
	patch, ok := strings.CutPrefix(version, "2.1.")
	if !ok {
		return "", fmt.Errorf("no SDK is known for Claude Code %s: look up its claudeCodeVersion", version)
	}
	return sdk + "@0.3." + patch, nil
}

// systems are the endings of the packages with a binary.
var systems = []string{"darwin-arm64", "darwin-x64", "linux-arm64", "linux-arm64-musl", "linux-x64", "linux-x64-musl"}

const hashes = ".ci/agent-integrity"

// install installs a version with .ci/install-agent, and returns the path of its binary. It adds the
// hashes of a version that is new to the list.
func install(ctx context.Context, version string) (string, error) {
	known, err := os.ReadFile(hashes)
	if err != nil {
		return "", err
	}
	if !bytes.Contains(known, []byte("\n"+version+" ")) {
		for _, system := range systems {
			name := cli + "-" + system
			hash, err := output(ctx, "", nil, "npm", "view", "--loglevel=error", name+"@"+version, "dist.integrity")
			if err != nil {
				return "", err
			}
			known = fmt.Appendf(known, "%s %s %s\n", version, name, strings.TrimSpace(hash))
		}
		if err := os.WriteFile(hashes, known, 0o644); err != nil { //nolint:gosec // a file of the repository
			return "", err
		}
	}
	path, err := filepath.Abs(filepath.Join(".cache", "agent", version, "claude"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	_, err = output(ctx, "", nil, ".ci/install-agent", version, path)
	return path, err
}

// declarations returns a file of a package of npm.
func declarations(ctx context.Context, temp, name, file string) (string, error) {
	dir, err := os.MkdirTemp(temp, "package-")
	if err != nil {
		return "", err
	}
	packed, err := output(ctx, dir, nil, "npm", "pack", "--ignore-scripts", "--loglevel=error", name)
	if err != nil {
		return "", err
	}
	return output(ctx, dir, nil, "tar", "-xzOf", strings.TrimSpace(packed), "package/"+file)
}

// recorded plays the scenarios of dev/record, and returns what "clew inspect" and package
// transcript do not know in the result.
func recorded(ctx context.Context, temp string, r *release) ([]work, error) {
	dir := filepath.Join(temp, "recorded")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	_, err := output(ctx, "", []string{"CLEW_AGENT=" + r.agent, "CLEW_RECORD_TO=" + dir},
		"go", "test", "-count=1", "-timeout", "30m", "-run", "^TestRecord$", "./dev/record")
	if err != nil {
		return nil, err
	}
	frames, err := framesOf(dir)
	if err != nil {
		return nil, err
	}
	stream := filepath.Join(dir, "frames.ndjson")
	if err := os.WriteFile(stream, frames, 0o600); err != nil {
		return nil, err
	}
	findings, err := output(ctx, "", nil, "go", "run", "./cmd/clew", "inspect", "--json", stream)
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) { // it exits with 1 if a frame has a problem
		return nil, err
	}
	list, err := inspected(findings)
	if err != nil {
		return nil, err
	}
	kept, err := framesOf(filepath.Join("testdata", "recorded", clewtest.AgentVersion))
	if err != nil {
		return nil, err
	}
	list = append(list, newMembers(kept, frames)...)
	drift, err := unknownEntries(filepath.Join(dir, "transcripts"))
	return append(list, drift...), err
}

// scenarios runs dev/realtest/versions, and returns its output if it fails.
func scenarios(ctx context.Context, r *release) string {
	report := filepath.Join(filepath.Dir(r.agent), "scenarios.txt")
	out, err := output(ctx, "", []string{"CLEW_AGENT=" + r.agent, "CLEW_VERSIONS_REPORT=" + report},
		"go", "test", "-count=1", "-parallel", "2", "-timeout", "60m", "./dev/realtest/versions")
	if err != nil {
		return out + err.Error()
	}
	return ""
}

// home returns an environment with a separate home.
func home(dir string) []string {
	return []string{"HOME=" + dir, "CLAUDE_CONFIG_DIR=" + dir, "DISABLE_AUTOUPDATER=1"}
}

// output runs a program in a directory, with more variables, and returns what it prints. The error
// has the end of it.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, slices.Concat(os.Environ(), env)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		said := out.String() + errs.String()
		return out.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said[max(len(said)-4000, 0):])
	}
	return out.String(), nil
}
