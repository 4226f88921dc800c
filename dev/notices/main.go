// Command notices writes THIRD_PARTY_NOTICES, the licenses of the modules in the program clew.
package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

const (
	// program is the package whose modules are listed.
	program = "github.com/clewdev/clew/cmd/clew"
	// output is the file, in the current directory.
	output = "THIRD_PARTY_NOTICES"
	line   = "================================================================================"
)

const head = `Third-party notices

The program clew contains parts of these modules, and of Go's standard library.
"make notices" writes this file.
`

// systems are the operating systems for which the program is built.
var systems = []string{"linux", "darwin", "windows"}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	modules, err := linked(ctx)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(head)
	if err := section(&b, "Go standard library", runtime.GOROOT()); err != nil { //nolint:staticcheck // go run sets it
		return err
	}
	for _, m := range modules {
		if err := section(&b, m.String(), m.dir); err != nil {
			return err
		}
	}
	return os.WriteFile(output, b.Bytes(), 0o644) //nolint:gosec // everyone may read it
}

// A module is a dependency of the program.
type module struct{ path, version, dir string }

func (m module) String() string { return m.path + " " + m.version }

// linked returns the modules that the program links on any system, in order.
func linked(ctx context.Context) ([]module, error) {
	var all []module
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}"
	for _, system := range systems {
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, program)
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for text := range strings.Lines(string(out)) {
			parts := strings.Split(strings.TrimSpace(text), "\t")
			if len(parts) != 3 {
				continue
			}
			if m := (module{parts[0], parts[1], parts[2]}); !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

var license = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)`)

// section writes the licenses in a directory below a heading.
func section(b *bytes.Buffer, heading, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "\n%s\n%s\n%s\n", line, heading, line)
	found := false
	for _, entry := range entries {
		if entry.IsDir() || !license.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		found = true
		text = bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\r\n"), []byte("\n"))
		fmt.Fprintf(b, "\n%s:\n\n%s\n", entry.Name(), text)
	}
	if !found {
		return fmt.Errorf("%s has no license in %s", heading, dir)
	}
	return nil
}
