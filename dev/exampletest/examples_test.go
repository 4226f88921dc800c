// Package exampletest runs the example programs and compares them with their list.
package exampletest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/shelltest"
)

const root = "../.."

// directories have the examples. Those that need a database, a queue or telemetry are in the module with it.
var directories = []string{"examples", "clewotel/examples", "nats/examples", "sqlite/examples"}

// A run is one run of an example, with Claude Code over a scripted model.
type run struct {
	name  string
	args  []string
	stdin string
	model func(*clewtest.Model)
	want  string // the output, with ... for what differs from run to run
}

// TestExamples runs every example with Claude Code. It also plays the recording of the example
// record, without Claude Code.
func TestExamples(t *testing.T) {
	agent, bin := clewtest.RealAgent(t), build(t)
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if r.name == "transport" && runtime.GOOS == "windows" {
				t.Skip("the stand-in for docker is a shell script")
			}
			model := clewtest.NewModel(t)
			r.model(model)
			dir := exampleDir(t)
			r.check(t, bin, dir, append(model.Env(), "CLEW_AGENT="+agent, "AGENT="+agent))
			if r.name == "record" {
				played := clewtest.NewAgent(t, clewtest.LoadDialogue(t, filepath.Join(dir, r.args[0])))
				r.check(t, bin, dir, append(played.Env(), "CLEW_AGENT="+played.Path()))
			}
		})
	}
}

// build builds all examples, and returns the directory that they are in.
func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	target := bin + string(filepath.Separator)
	args := []string{"build", "-ldflags=-s -w", "-o", target} // links faster
	for _, dir := range directories {
		args = append(args, "./"+dir+"/...")
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// docker is a stand-in for the program of that name. It takes the container for this machine, and
// image for the image.
const docker = `while [ "$1 $2" != "image claude" ]; do shift; done
shift 2
exec "$AGENT" "$@"`

// exampleDir returns a directory for an example, with a picture and a stand-in for docker in it.
func exampleDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dot.png"), []byte(dot), 0o600); err != nil {
		t.Fatal(err)
	}
	shelltest.Write(t, filepath.Join(dir, "docker"), docker)
	return dir
}

// check runs the example in dir, and compares its output with the wanted one.
func (r *run) check(t *testing.T, bin, dir string, env []string) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, r.name), r.args...)
	cmd.Dir, cmd.Env = dir, slices.Concat(env, []string{"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(r.stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(r.want), regexp.QuoteMeta("..."), ".*")
	if !regexp.MustCompile("(?s)^" + pattern + "$").MatchString(stdout.String()) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(r.want, stdout.String()))
	}
}

// TestEveryExampleIsRun finds examples that are not run here, that are not in the list for readers,
// and that don't name the command that runs them.
func TestEveryExampleIsRun(t *testing.T) {
	t.Parallel()
	list := filepath.Join(root, "examples")
	var there, run []string
	for _, dir := range directories {
		paths, err := filepath.Glob(filepath.Join(root, dir, "*", "main.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%d examples in %s, %v", len(paths), dir, err)
		}
		for _, path := range paths {
			name := filepath.Base(filepath.Dir(path))
			there = append(there, name)
			find(t, path, "go run ./"+dir+"/"+name)
			link, err := filepath.Rel(list, path)
			if err != nil {
				t.Fatal(err)
			}
			find(t, filepath.Join(list, "README.md"), "\n| ["+name+"]("+filepath.ToSlash(link)+") | ")
		}
	}
	slices.Sort(there)
	for _, r := range runs {
		run = append(run, r.name)
	}
	slices.Sort(run)
	if diff := cmp.Diff(there, run); diff != "" {
		t.Errorf("(-there +run):\n%s", diff)
	}
}

// find fails the test if the file does not have the words.
func find(t *testing.T, path, words string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), words) {
		t.Errorf("%s does not have %q", path, words)
	}
}
