//go:build linux

package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// A figures counts the findings of a matrix.
type figures struct {
	faults, runs                         int
	lost                                 int // messages that were sent whole and did not arrive
	hung                                 int // calls that did not return
	wrong                                int // outcomes that are neither the answer nor an error with the cause
	goroutines, files, temporary, family int // leftovers; family are processes
}

func (f figures) String() string {
	return fmt.Sprintf("%d faults, %d runs: lost %d, hung %d, wrong %d; left: goroutines %d, descriptors %d, temporary files %d, processes %d",
		f.faults, f.runs, f.lost, f.hung, f.wrong, f.goroutines, f.files, f.temporary, f.family)
}

// A matrix runs faults with callers.
type matrix struct {
	callers []caller
	runs    int           // of each fault
	limit   time.Duration // for a call to return
	known   figures       // what is left for good: more than that may need a moment to go
	report  func(format string, args ...any)
}

// batchRuns is the number of runs between two checks for leftovers, and workers the number of them
// that run at once.
const (
	batchRuns = 24
	workers   = 8
	logRuns   = 500 // between two lines about them
)

// run runs all faults, one after the other, and counts what is wrong.
func (m *matrix) run(t *testing.T, faults []*fault) figures {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	total := figures{faults: len(faults)}
	for batch := range slices.Chunk(faults, max(1, batchRuns/m.runs)) {
		family := fmt.Sprintf("batch-%d%s", total.runs, strings.ReplaceAll(temp, "/", "-")) // another name in each run and test
		files, goroutines, before := countFiles(t), goroutineIDs(), total.runs
		m.runBatch(t, batch, family, &total)
		left := func(what string, known int, count func() int) int {
			n := settled(known, count)
			if n > 0 {
				m.report("%d %s left by an agent that %s", n, what, names(batch))
			}
			return n
		}
		if n := left("processes", m.known.family, func() int { return len(rolesOf(t, family)) }); n > 0 {
			total.family += n
			m.report("processes left: %q", rolesOf(t, family))
		}
		total.goroutines += left("goroutines", m.known.goroutines, func() int { return countOthers(goroutineIDs(), goroutines) })
		total.files += left("descriptors", m.known.files, func() int { return countFiles(t) - files })
		total.temporary += left("temporary files", m.known.temporary, func() int { return countTemporary(t, temp) })
		if total.runs/logRuns > before/logRuns {
			t.Log("so far: ", total)
		}
	}
	return total
}

var goroutineHead = regexp.MustCompile(`(?m)^goroutine (\d+) `)

// goroutineIDs returns the IDs of the current goroutines. A difference of counts would miss a
// leftover if an earlier goroutine ended meanwhile.
func goroutineIDs() map[string]bool {
	stacks := make([]byte, 1<<16)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	ids := map[string]bool{}
	for _, head := range goroutineHead.FindAllSubmatch(stacks, -1) {
		ids[string(head[1])] = true
	}
	return ids
}

// countOthers returns how many of all are not among the known ones.
func countOthers(all, known map[string]bool) int {
	n := 0
	for id := range all {
		if !known[id] {
			n++
		}
	}
	return n
}

// names returns the names of faults, for a report.
func names(faults []*fault) string {
	var all []string
	for _, f := range faults {
		all = append(all, f.name)
	}
	return strings.Join(all, " or ")
}

// settled waits until count is not more than what is known to stay, and returns the last count.
func settled(known int, count func() int) (n int) {
	polltest.Eventually(func() bool {
		n = count()
		return n <= known
	})
	return max(n, 0)
}

// runBatch runs some faults, each with all callers in turn.
func (m *matrix) runBatch(t *testing.T, faults []*fault, family string, total *figures) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, workers)
	for _, f := range faults {
		for i := range m.runs {
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				c := m.callers[(i+len(f.name))%len(m.callers)]
				lost, hung, problem := m.runOnce(t, f, c, family)
				mu.Lock()
				defer mu.Unlock()
				total.add(lost, hung, problem)
				if lost > 0 || hung || problem != "" {
					m.report("%s of an agent that %s: lost %d, hung %v; %s", c.name, f.name, lost, hung, problem)
				}
			})
		}
	}
	all.Wait()
}

// add adds a run.
func (f *figures) add(lost int, hung bool, problem string) {
	f.runs++
	f.lost += lost
	if hung {
		f.hung++
	}
	if problem != "" {
		f.wrong++
	}
}

// runOnce runs one fault with one caller.
func (m *matrix) runOnce(t *testing.T, f *fault, c caller, family string) (lost int, hung bool, problem string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if f.interrupts() && !c.reads {
		ctx, cancel = context.WithTimeout(t.Context(), patience)
	}
	defer cancel()
	done := make(chan outcome, 1)
	go func() { done <- c.call(ctx, newOptions(t, f, c, family), newReader(f, cancel)) }()
	timer := time.NewTimer(m.limit)
	defer timer.Stop()
	select {
	case got := <-done:
		lost, problem = f.judge(got, c)
		return lost, false, problem
	case <-timer.C:
		return 0, true, ""
	}
}

// judge returns the number of missing messages, and any other problem of the outcome.
func (f *fault) judge(got outcome, c caller) (lost int, problem string) {
	want := f.want
	if f.late() && !c.waitsForEnd {
		want = ""
	}
	switch {
	case want == "" && got.err != nil:
		problem = fmt.Sprintf("error %.300v", got.err)
	case want == "" && got.result != "done":
		problem = fmt.Sprintf("result %q", got.result)
	case want != "" && (got.err == nil || !regexp.MustCompile("(?s)"+want).MatchString(got.err.Error())):
		problem = fmt.Sprintf("error %.300v, want %s", got.err, want)
	}
	if !c.reads {
		return 0, problem
	}
	for n := 1; n <= f.words; n++ {
		if !slices.Contains(got.words, n) {
			lost++
		}
	}
	if !slices.IsSorted(got.words) || len(got.words) > f.words {
		problem += fmt.Sprintf("; messages %v", got.words)
	}
	return lost, problem
}

// newOptions returns options with callbacks for everything that the agent asks.
func newOptions(t *testing.T, f *fault, c caller, family string) *clew.Options {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts := &clew.Options{
		AgentPath: path, Limits: clew.Limits{MaxFrameBytes: maxFrame, CloseTimeout: long},
		Env: []string{faultVariable + "=" + f.name, familyVariable + "=" + family, "GORACE=atexit_sleep_ms=0"},
		CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
			return permission.Allow(), nil
		},
		Hooks: map[hook.Event][]hook.Matcher{hook.Stop: {{Hooks: []hook.Func{
			func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil },
		}}}},
		MCPServers: map[string]clew.MCPServer{"own": &clew.MCPInProcessServer{Handler: ownServer{}}},
	}
	if f.lives {
		opts.Limits.CloseTimeout = 50 * time.Millisecond
	}
	if f.stage == atVersion {
		askVersion(t, opts, filepath.Join(family, f.name))
	}
	switch {
	case f.silent && (f.stage == atStart || f.stage == atInitialize):
		opts.Limits.InitializeTimeout = patience
	case f.silent && !f.late() && (f.words == 0 || !c.reads): // others give up after they read everything, or have a result
		opts.Limits.IdleTimeout = patience
	}
	return opts
}

// askVersion makes sure that the agent is asked for its version by every caller, and not only the
// first of all faults: the answer is kept for the agents of one directory.
func askVersion(t *testing.T, opts *clew.Options, name string) {
	t.Helper()
	opts.ForwardSubagentText = true // not every version has it
	opts.Dir = filepath.Join(filepath.Dir(os.TempDir()), name)
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		t.Error(err)
	}
}

// patience is the time that a caller waits for an agent that sends nothing more.
const patience = 300 * time.Millisecond

// An ownServer answers every request with an empty result.
type ownServer struct{}

// HandleMCP answers one message.
func (ownServer) HandleMCP(_ context.Context, message wire.JSON) (wire.JSON, error) {
	var request struct{ ID wire.JSON }
	if err := message.Decode(&request); err != nil || request.ID == "" {
		return "", err
	}
	return `{"jsonrpc":"2.0","id":` + request.ID + `,"result":{}}`, nil
}

// An outcome has the messages, the result and the error that a caller got.
type outcome struct {
	words  []int
	result string
	err    error
}

// A reader reads the messages of a caller. It gives up a silent agent after it read everything that
// the agent sends.
type reader struct {
	fault  *fault
	giveUp func()
	got    outcome
}

func newReader(f *fault, giveUp func()) *reader { return &reader{fault: f, giveUp: giveUp} }

// readAll reads a sequence to its end.
func (r *reader) readAll(messages iter.Seq2[wire.Message, error]) {
	for msg, err := range messages {
		r.got.err = errors.Join(r.got.err, err)
		switch m := msg.(type) {
		case *wire.AssistantMessage:
			var n int
			if _, err := fmt.Sscanf(m.UUID, "w-%d", &n); err == nil {
				r.got.words = append(r.got.words, n)
			}
		case *wire.ResultMessage:
			r.got.result = m.Result
		}
		if r.mayGiveUp() && len(r.got.words) == r.fault.words {
			r.giveUp()
		}
	}
}

// interrupt interrupts the agent of a session by a request. It does not wait long for the answer of
// a silent one, and then cancels the turn.
func (r *reader) interrupt(ctx context.Context, s *clew.Session, cancel func()) {
	r.giveUp = func() {} // once is enough
	if r.fault.silent {
		time.AfterFunc(patience, cancel)
	}
	_, err := s.Interrupt(ctx, nil)
	r.got.err = errors.Join(r.got.err, err)
}

// mayGiveUp reports whether the caller gives the agent up, or interrupts it.
func (r *reader) mayGiveUp() bool {
	return r.fault.interrupts() || r.fault.silent && r.fault.words > 0 && !r.fault.late()
}

// A caller is a way to ask an agent.
type caller struct {
	name        string
	reads       bool // it sees the messages
	waitsForEnd bool // it waits for the end of the agent
	call        func(ctx context.Context, opts *clew.Options, r *reader) outcome
}

var callers = []caller{
	{"Run", false, true, func(ctx context.Context, opts *clew.Options, _ *reader) outcome {
		result, err := clew.Run(ctx, "Hi", opts)
		if result == nil {
			return outcome{err: err}
		}
		return outcome{result: result.Result, err: err}
	}},
	{"Query", true, true, func(ctx context.Context, opts *clew.Options, r *reader) outcome {
		r.readAll(clew.Query(ctx, "Hi", opts))
		return r.got
	}},
	{"Turn", true, false, func(ctx context.Context, opts *clew.Options, r *reader) outcome {
		s, err := clew.Connect(ctx, opts)
		if err != nil {
			return outcome{err: err}
		}
		if r.fault.interrupts() {
			cancel := r.giveUp
			r.giveUp = func() { r.interrupt(ctx, s, cancel) }
		}
		r.readAll(s.Turn(ctx, clew.Text("Hi")))
		_ = s.Close() // how the agent ends is not the outcome
		return r.got
	}},
	{"Pool", true, false, func(ctx context.Context, opts *clew.Options, r *reader) outcome {
		p, err := clew.NewPool(ctx, opts, &clew.PoolOptions{MaxAgents: 1})
		if err != nil {
			return outcome{err: err}
		}
		r.readAll(p.Query(ctx, clew.Text("Hi")))
		_ = p.Close()
		return r.got
	}},
}

// rolesOf returns what the processes with the mark of a fault were started as: agents with a fault,
// or sleepers.
func rolesOf(t *testing.T, family string) (roles []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte(family)) {
			continue
		}
		_, role, _ := strings.Cut(string(env), faultVariable+"=")
		role, _, _ = strings.Cut(role, "\x00")
		roles = append(roles, role)
	}
	return roles
}

// countFiles counts the open files of this process.
func countFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func countTemporary(t *testing.T, dir string) int {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}
