package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The names of the hosts in the report.
const (
	ours       = "clew"
	typeScript = "TypeScript"
	python     = "Python"
)

// A host is a program that asks an agent once and prints what it measured.
type host struct {
	name string
	// command is the program and its arguments, to which the path of the agent is appended.
	command []string
}

// A bench has all programs of the comparison in one folder, and the report that they fill.
type bench struct {
	dir    string
	rounds int
	agent  string // the simulated one
	host   string // ours, as a program
	clew   host
	reader host // ours, reading the text of what comes
	bare   host
	sdks   []host // of others, once they are installed
	report *report
}

// newBench builds our own programs. The bench must be closed.
func newBench(ctx context.Context, rounds int) (*bench, error) {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, rounds: rounds, report: newReport(rounds)}
	b.agent, b.host = b.path("agent"), b.path("host")
	b.clew = host{ours, []string{b.host, "query"}}
	b.reader = host{ours + ", text read", []string{b.host, "read"}}
	b.bare = host{"claude -p", []string{b.host, "bare"}}
	if err := b.build(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() {
	if err := os.RemoveAll(b.dir); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
	}
}

// path returns the place of something in the folder of the bench.
func (b *bench) path(names ...string) string {
	return filepath.Join(append([]string{b.dir}, names...)...)
}

func (b *bench) build(ctx context.Context) error {
	const packages = "github.com/clewdev/clew/internal/bench/peers/"
	for _, program := range []string{b.agent, b.host} {
		if _, err := output(ctx, "go", "build", "-o", program, packages+filepath.Base(program)); err != nil {
			return err
		}
	}
	return nil
}

// output runs a program and returns what it printed. The error has the last line that it complained with.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(complaints.String()), "\n")
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(name), err, lines[len(lines)-1])
	}
	return strings.TrimSpace(string(out)), nil
}
