// Command shake looks for tests that depend on luck. It builds the test binaries of this repository once,
// and runs them again and again under conditions that differ: processors, order, busy processes
// beside them, time zone, locale, niceness, the home directory, a temporary directory on the disk or in
// memory, with a blank in its name or without, and the garbage collector's target. It prints each
// failure with its conditions.
//
//	go run ./dev/shake -minutes 30 -race -only '^sessions'
//
// Interrupt it to end early.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/memorydir"
)

func main() {
	s := &shaker{counts: map[string]*count{}}
	minutes := flag.Float64("minutes", 30, "duration of the runs, after the build")
	flag.IntVar(&s.jobs, "jobs", 2, "number of runs at once")
	flag.IntVar(&s.busy, "busy", 20, "most busy processes beside a run")
	flag.BoolVar(&s.race, "race", false, "build with the race detector")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "seed of the conditions")
	only := flag.String("only", "", "run only the packages whose directory matches this regular expression")
	skip := flag.String("skip", "^$", "leave out the packages whose directory matches this regular expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := s.run(ctx, *only, *skip, time.Duration(*minutes*float64(time.Minute)))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shake:", err)
		os.Exit(1)
	}
}

// minMemory is more than the tests of two packages need at once.
const minMemory = 2 << 30

// A binary is the test binary of a package.
type binary struct{ name, dir, path string }

// A count has the runs of a package.
type count struct{ runs, failures int }

// A shaker runs binaries.
type shaker struct {
	jobs int
	busy int
	race bool
	seed uint64

	dir      string // for binaries and temporary directories
	memory   string // for temporary directories in memory; dir if there is none
	mu       sync.Mutex
	rnd      *rand.Rand
	binaries []binary
	next     int
	counts   map[string]*count
	shown    time.Time // when progress was last shown
}

// run builds the binaries and runs them until the time is over.
func (s *shaker) run(ctx context.Context, only, skip string, limit time.Duration) error {
	var err error
	if s.dir, err = os.MkdirTemp("", "shake"); err != nil {
		return err
	}
	if s.memory, err = memorydir.New("shake", minMemory); err != nil {
		return err
	}
	if s.memory == "" {
		s.memory = s.dir
	}
	defer os.RemoveAll(s.memory)                  //nolint:errcheck // nothing depends on it
	defer os.RemoveAll(s.dir)                     //nolint:errcheck // nothing depends on it
	if err = os.Chmod(s.dir, 0o755); err != nil { // tests may run binaries as other users
		return err
	}
	if err = s.build(ctx, only, skip); err != nil {
		return err
	}
	fmt.Printf("seed %d, %d packages\n", s.seed, len(s.binaries))
	s.rnd = rand.New(rand.NewPCG(s.seed, 0))
	end := time.Now().Add(limit)
	var all sync.WaitGroup
	for range s.jobs {
		all.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				b, c := s.pick()
				s.once(ctx, b, c)
			}
		})
	}
	all.Wait()
	return s.summary()
}

// build builds the test binaries.
func (s *shaker) build(ctx context.Context, only, skip string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	unwanted, err := regexp.Compile(skip)
	if err != nil {
		return err
	}
	const format = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}	{{.Dir}}{{end}}`
	out, err := exec.CommandContext(ctx, "go", "list", "-f", format, "github.com/clewdev/clew/...").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		importPath, dir, _ := strings.Cut(line, "\t")
		name, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		if !wanted.MatchString(name) || unwanted.MatchString(name) {
			continue
		}
		b := binary{name, dir, filepath.Join(s.dir, strconv.Itoa(i)+".test")}
		args := []string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", b.path}
		if s.race {
			args = append(args, "-race")
		}
		fmt.Fprintf(os.Stderr, "building %s\n", name)
		if out, err := exec.CommandContext(ctx, "go", append(args, importPath)...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, out)
		}
		s.binaries = append(s.binaries, b)
	}
	if len(s.binaries) == 0 {
		return errors.New("no package with tests")
	}
	return nil
}

// A condition is the environment of a run.
type condition struct {
	args []string
	env  []string
	busy int
	nice int
	tmp  string
}

// pick returns the next package and its conditions. Each package is run once before one is run again.
func (s *shaker) pick() (binary, condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next%len(s.binaries) == 0 {
		s.rnd.Shuffle(len(s.binaries), func(i, j int) { s.binaries[i], s.binaries[j] = s.binaries[j], s.binaries[i] })
	}
	b := s.binaries[s.next%len(s.binaries)]
	s.next++
	number := strconv.Itoa(s.next)
	c := condition{
		args: []string{
			"-test.cpu=" + one(s.rnd, "1", "1", "2", "2", "3", "4", "8"), "-test.shuffle=" + strconv.Itoa(s.rnd.IntN(1<<31)),
			"-test.timeout=30m", "-test.failfast",
		},
		busy: min(s.busy, one(s.rnd, 0, 0, 2, 6, 12, 20)), nice: one(s.rnd, 0, 0, 10, 19),
		tmp: filepath.Join(one(s.rnd, s.dir, s.memory, s.memory), one(s.rnd, "tmp", "t m p ")+number),
	}
	// In /sys nobody makes files, root neither.
	home := one(s.rnd, os.Getenv("HOME"), filepath.Join(c.tmp, "home"), "/sys", "/nonexistent", "")
	c.env = []string{
		"TMPDIR=" + c.tmp, "HOME=" + home, "LANG=", "LC_ALL=" + one(s.rnd, "C", "C.UTF-8", "en_US.UTF-8", "ja_JP.UTF-8", ""),
		"TZ=" + one(s.rnd, "UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"),
		"GOGC=" + one(s.rnd, "100", "100", "20", "400"),
	}
	return b, c
}

// one returns one of some values.
func one[T any](rnd *rand.Rand, values ...T) T { return values[rnd.IntN(len(values))] }

// once runs a package once.
func (s *shaker) once(ctx context.Context, b binary, c condition) {
	defer os.RemoveAll(c.tmp) //nolint:errcheck // nothing depends on it
	if err := errors.Join(os.MkdirAll(filepath.Join(c.tmp, "home"), 0o755), os.Chmod(c.tmp, 0o777)); err != nil {
		fmt.Println(err)
		return
	}
	busy, stop := context.WithCancel(ctx)
	var load sync.WaitGroup
	for range c.busy {
		load.Go(func() { _ = exec.CommandContext(busy, "sh", "-c", "while :; do :; done").Run() })
	}
	started := time.Now()
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", strconv.Itoa(c.nice), b.path}, c.args...)...)
	cmd.Dir, cmd.Env = b.dir, environment(ctx, c.env)
	out, err := cmd.CombinedOutput()
	stop()
	load.Wait()
	if ctx.Err() != nil {
		return // it was interrupted
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts[b.name] == nil {
		s.counts[b.name] = &count{}
	}
	s.counts[b.name].runs++
	if time.Since(s.shown) > time.Minute {
		s.shown = time.Now()
		fmt.Fprintf(os.Stderr, "%d runs\n", s.next)
	}
	if err != nil {
		s.counts[b.name].failures++
		fmt.Printf("\nFAIL %s after %.0f s: %v\n  %s %s, beside %d busy processes\n%s\n", b.name, time.Since(started).Seconds(), err,
			strings.Join(c.env, " "), strings.Join(cmd.Args, " "), c.busy, excerpt(string(out)))
	}
}

// environment returns the variables of this process with others in their place. Go's own directories
// stay where they are, wherever the home directory is.
func environment(ctx context.Context, changed []string) []string {
	env := os.Environ()
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if dirs := strings.Fields(string(out)); err == nil && len(dirs) == 3 {
		env = append(env, "GOCACHE="+dirs[0], "GOMODCACHE="+dirs[1], "GOPATH="+dirs[2])
	}
	env = append(env, changed...)
	return slices.DeleteFunc(env, func(v string) bool {
		return v == "HOME=" || strings.HasPrefix(v, "HOME=") && slices.Contains(changed, "HOME=")
	})
}

// failure matches the lines of the output of tests that say what failed.
var failure = regexp.MustCompile(`^\s*(--- FAIL|\S+_test\.go:\d+:|panic:|fatal error:|WARNING: DATA RACE)`)

// excerpt returns the lines of an output that say what failed, and the last ones.
func excerpt(output string) string {
	const most = 40
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	start := max(0, len(lines)-most)
	found := slices.DeleteFunc(slices.Clone(lines[:start]), func(line string) bool { return !failure.MatchString(line) })
	return strings.Join(append(found[max(0, len(found)-most):], lines[start:]...), "\n")
}

// summary prints the counts, the packages with failures first.
func (s *shaker) summary() error {
	var names []string
	runs, failures := 0, 0
	for name, c := range s.counts {
		names = append(names, name)
		runs += c.runs
		failures += c.failures
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.counts[b].failures, s.counts[a].failures), strings.Compare(a, b))
	})
	for _, name := range names {
		fmt.Printf("%4d runs, %d failures  %s\n", s.counts[name].runs, s.counts[name].failures, name)
	}
	fmt.Printf("%d runs, %d failures, seed %d\n", runs, failures, s.seed)
	if failures > 0 {
		return fmt.Errorf("%d of %d runs failed", failures, runs)
	}
	return nil
}
