// Command testrun runs the tests of this repository, for "make test" and "make test-rest". It prints
// a line per step with its time, and a summary at the end. The output of failed tests comes last.
//
// No results are taken from Go's test cache: it does not notice changes of files in other modules. Arguments
// of "go test" can be passed in GOFLAGS, such as -shuffle=on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/memorydir"
	"github.com/clewdev/clew/internal/soak"
)

func main() {
	rest := flag.Bool("rest", false, `run what "make test" leaves out`)
	user := flag.Bool("user", false, "run the test binary in the arguments as an ordinary user")
	flag.Parse()
	if *user {
		os.Exit(asOrdinaryUser(flag.Args()))
	}
	os.Exit(testAll(*rest))
}

// testAll runs all steps and prints the report. It returns the exit code.
func testAll(rest bool) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := &run{report: newReport()}
	started := time.Now()
	remove, err := inMemory()
	if err == nil {
		err = errors.Join(lazyCollector(), r.all(ctx, rest))
	}
	err = errors.Join(err, remove())
	fmt.Print(r.report.text(time.Since(started), r.cpu))
	if err != nil {
		fmt.Println("testrun:", err)
	}
	if err != nil || r.report.failed() {
		return 1
	}
	return 0
}

// minMemory is four times what the tests need at once.
const minMemory = 2 << 30

// inMemory puts temporary files into memory where the system has enough of it, which saves a fifth of the
// time: the tests make many small files, and the linker large ones. TMPDIR in the environment comes first.
// The returned function removes them.
func inMemory() (remove func() error, err error) {
	none := func() error { return nil }
	if os.Getenv("TMPDIR") != "" {
		return none, nil
	}
	dir, err := memorydir.New("clew", minMemory)
	if dir == "" || err != nil {
		return none, err
	}
	return func() error { return os.RemoveAll(dir) }, os.Setenv("TMPDIR", dir)
}

// lazyCollector makes the garbage collector of the compiler, the linker and the tests run less often, up to a
// gigabyte each, which saves a fifth of their processor time. GOGC in the environment comes first.
func lazyCollector() error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	return errors.Join(os.Setenv("GOGC", "400"), os.Setenv("GOMEMLIMIT", "1GiB"))
}

// A run runs steps one after the other.
type run struct {
	report *report
	cpu    time.Duration // of all commands
}

// all runs all steps. It stops at the first step that fails before the tests, and runs all tests
// even if some fail.
func (r *run) all(ctx context.Context, rest bool) error {
	packages, err := list(ctx)
	if err != nil {
		return err
	}
	installed := r.install(ctx)
	if rest {
		if err := <-installed; err != nil {
			return err
		}
		return r.rest(ctx, packages)
	}
	for _, step := range []struct {
		name string
		args []string
	}{
		{"format", []string{"make", "-s", "fmtcheck"}},
		{"build", []string{"go", "build", "./cmd/clew/internal/cli"}}, // most packages, while the agent is installed
	} {
		if err := r.command(ctx, step.name, step.args...); err != nil {
			return err
		}
	}
	if err := <-installed; err != nil {
		return err
	}
	_, soon := packages.late()
	return r.tests(ctx, "tests", soon)
}

// rest runs the tests that start the agent again and again, the tests that are marked with soak.Rest,
// the examples that are separate modules, and the race detector.
func (r *run) rest(ctx context.Context, packages packages) error {
	plain, withRace := packages.rest()
	if err := r.command(ctx, "examples that are modules", "make", "-s", "test-modules"); err != nil {
		return err
	}
	err := os.Setenv(soak.RestVariable, "1")
	if err == nil {
		err = r.tests(ctx, "more of the agent, and long tests", plain)
	}
	if err == nil {
		err = os.Unsetenv(soak.RestVariable)
	}
	err = errors.Join(err, r.tests(ctx, "tests with the race detector", withRace, "-race"))
	if runtime.GOOS == "linux" && os.Geteuid() == 0 {
		err = errors.Join(err, r.bound(ctx))
	}
	return err
}

// bound runs the tests about permissions, which do not bind root, as an ordinary user.
func (r *run) bound(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var packages []string
	for _, dir := range bound.packages {
		packages = append(packages, "./"+dir)
	}
	return r.tests(ctx, "tests as an ordinary user", packages, "-exec="+program+" -user", "-run="+bound.tests)
}

// install starts to install the agent, the browser and axe-core. The channel gets the result.
func (r *run) install(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	targets := []string{"agent", "browser", "axe"}
	go func() {
		out, err := exec.CommandContext(ctx, "make", append([]string{"-s"}, targets...)...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("installing %s: %w\n%s", strings.Join(targets, ", "), err, out)
		}
		done <- err
	}()
	return done
}

// command runs a step that is one command, and prints its output if it fails.
func (r *run) command(ctx context.Context, name string, args ...string) error {
	done := r.step(name)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	out, err := cmd.CombinedOutput()
	r.count(cmd)
	if err != nil {
		done("failed")
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	done(lastLine(out))
	return nil
}

// lastLine returns the last line of the output of a step that passed.
func lastLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// tests runs the tests of packages, and adds their outcome to the report. Many tests wait, so that more of them
// run at once than there are processors. The linker is faster without debug information.
func (r *run) tests(ctx context.Context, name string, packages []string, flags ...string) error {
	done := r.step(name)
	args := append([]string{"test", "-json", "-count=1", "-vet=off", "-ldflags=-w", "-p=4", "-parallel=4", "-timeout=60m"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	readErr := r.report.read(out, func(failed string) { fmt.Println("FAIL", failed) })
	err = cmd.Wait()
	r.count(cmd)
	done(fmt.Sprintf("%d packages", len(packages)))
	var exit *exec.ExitError
	if errors.As(err, &exit) && r.report.failed() {
		err = nil // the report has it
	}
	return errors.Join(readErr, err)
}

// step prints the name of a step. The returned function prints its time and a remark.
func (r *run) step(name string) func(remark string) {
	started := time.Now()
	fmt.Printf("%s …\n", name)
	return func(remark string) {
		if remark != "" {
			remark = ", " + remark
		}
		fmt.Printf("%s: %.1f s%s\n", name, time.Since(started).Seconds(), remark)
	}
}

// count adds the processor time of a command that ended, and of the processes that it waited for.
func (r *run) count(cmd *exec.Cmd) {
	if cmd.ProcessState != nil {
		r.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
}
