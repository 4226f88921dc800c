package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
)

func init() {
	roles["host"] = host
	roles["host that dies early"] = hostThatDiesEarly
}

// host starts an agent that plays a role, and copies its output.
func host(args []string) int {
	p, err := Start(&Spec{Path: os.Args[0], Args: args[1:], Env: roleEnv(args[0])})
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(os.Stdout, p)
	return 1
}

// hostThatDiesEarly starts an agent that plays a role, lets it exit, and dies before it ends the
// agent's leftovers.
func hostThatDiesEarly(args []string) int {
	p, err := Start(&Spec{Path: os.Args[0], Args: args[1:], Env: roleEnv(args[0])})
	if err != nil {
		panic(err)
	}
	_, _ = io.CopyN(os.Stdout, p, int64(len("ready\n")))
	_ = p.CloseWrite()
	<-p.gone
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	return hang()
}

// An agent ends with its host, even if it ignores SIGTERM, and so do the processes that it started.
func TestAgentDiesWithItsHost(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string][]string{
		"an agent":                      {"hang"},
		"an agent that ignores SIGTERM": {"hang for good"},
		"a command of an agent":         {"parent", "session", "hang"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := newLifeline(t)
			path, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), path, agent...)
			cmd.Env = append(roleEnv("host"), line.env())
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			conn := line.connected()
			wantReady(t, stdout)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			wantGone(t, conn)
		})
	}
}

// The watcher finds processes with its mark where the names of all processes are longer than the
// arguments of a command can be. The shell has a small stack, which makes that limit 128 KiB.
func TestWatcherFindsOneOfManyProcesses(t *testing.T) {
	t.Parallel()
	// Like /proc, the directory has no blank in its name. The temporary directory may have one.
	root, dir := t.TempDir(), strings.Repeat("x", 200)
	const count = 700
	for id := range count {
		process := filepath.Join(root, dir, strconv.Itoa(id))
		if err := os.MkdirAll(process, 0o700); err != nil {
			t.Fatal(err)
		}
		env := "A=1\x00"
		if id%400 == 7 {
			env += markVariable + "=ours.1\x00"
		}
		if err := os.WriteFile(process+"/environ", []byte(env), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := "ulimit -s 256\n" + markedScript + `marked "$1" "$2"`
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script, "sh", markVariable+"=ours.", dir)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	var found []string
	for line := range strings.Lines(string(out)) {
		found = append(found, strings.TrimPrefix(strings.TrimSpace(line), dir))
	}
	slices.Sort(found)
	if diff := cmp.Diff([]string{"/407/environ", "/7/environ"}, found); diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// A leftover process of an agent ends even if the host dies right after the agent.
func TestLeftoversEndWithTheHost(t *testing.T) {
	t.Parallel()
	line := newLifeline(t)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "parent", "session", "hang for good")
	cmd.Env = append(roleEnv("host that dies early"), line.env())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn := line.connected()
	_ = cmd.Wait()
	wantGone(t, conn)
}

// The agent belongs to this process, not to the thread that asked for it.
func TestAgentOutlivesTheThreadOfItsCaller(t *testing.T) {
	t.Parallel()
	var p *Process
	var err error
	spec := child(t, "echo")
	task := <-onThreadThatEnds(func() { p, err = Start(spec) })
	if err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "the thread ends", func() bool {
		_, err := os.Stat(task)
		return err != nil
	})
	if _, err := p.Write([]byte("ready\n")); err != nil {
		t.Error(err)
	}
	wantReady(t, p)
	if got := p.Close(); got != (Exit{}) {
		t.Errorf("got %+v", got)
	}
}

// An agent that is killed can't end its tools, which run in separate sessions.
func TestToolsOfAKilledAgentGo(t *testing.T) {
	t.Parallel()
	p, tool := startParent(t, "session")
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantGone(t, tool)
	if got := p.Close(); got.Signal != syscall.SIGKILL {
		t.Errorf("got %+v", got)
	}
}

// Commands in the background, which run in separate sessions, end with an agent that exits by
// itself.
func TestCommandsInTheBackgroundGo(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"hang", "hang for good"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			p, command := startParentOf(t, child(t, "parent", "session", role))
			if diff := cmp.Diff(Exit{Code: 3}, p.Close()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			wantGone(t, command)
		})
	}
}

// A process that a binary leaves running when it is asked for its version ends as well, and does not count as
// a failure if it keeps the output open.
func TestVersionLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, redirect := range map[string]string{"output closed": ">/dev/null 2>&1", "output open": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantNothingOfVersion(t, "sleep 600 "+redirect)
		})
	}
}

// wantNothingOfVersion asks a binary that starts command in the background for its version.
func wantNothingOfVersion(t *testing.T, command string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	writeScript(t, path, command+" &\necho $! >'"+path+".left'\necho '2.1.88 (Claude Code)'")
	if got, err := Version(t.Context(), path, "", os.Environ(), long); got != "2.1.88" || err != nil {
		t.Fatalf("version %q, %v", got, err)
	}
	text, err := os.ReadFile(path + ".left")
	if err != nil {
		t.Fatal(err)
	}
	left := number(strings.TrimSpace(string(text)))
	if env, _ := environment(left); len(env) > 0 {
		t.Errorf("process %d is left", left)
	}
}

// A process without an environment may still be starting, and must not be missed. The lines come
// from real processes.
func TestProcessThatStarts(t *testing.T) {
	t.Parallel()
	const (
		head     = "10217 (a b) c) R 1 10217 10217 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 1250362 4096 0 18446744073709551615 "
		starting = head + "0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 140729979042486 0 0 0 0\n"
		started  = head + "4 9 6 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 93 94 95 140721257908921 140721257908941 140721257908941 140721257910251 0\n"
	)
	for name, test := range map[string]struct {
		env, stat string
		program   bool
		want      bool
	}{
		"starting":                      {"", starting, true, true},
		"without variables":             {"", started, true, false},
		"a thread of the kernel":        {"", starting, false, false},
		"with variables":                {"A=b\x00", started, true, false},
		"gone before its line was read": {"", "", true, false},
		"from an older kernel":          {"", "7 (x) R 1 2", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			err := os.WriteFile(dir+"/environ", []byte(test.env), 0o600)
			if test.stat != "" {
				err = errors.Join(err, os.WriteFile(dir+"/stat", []byte(test.stat), 0o600))
			}
			if test.program {
				err = errors.Join(err, os.Symlink("/bin/sh", dir+"/exe"))
			}
			if err != nil {
				t.Fatal(err)
			}
			env, got := environmentIn(dir)
			if got != test.want || string(env) != test.env {
				t.Errorf("starting %v, environment %q; want %v, %q", got, env, test.want, test.env)
			}
		})
	}
}

// onThreadThatEnds calls f on a thread that ends right after that, and sends the path at which the
// system lists the thread. The main thread of a process does not end.
func onThreadThatEnds(f func()) <-chan string {
	task := make(chan string, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if id := syscall.Gettid(); id != syscall.Getpid() {
			f()
			task <- fmt.Sprintf("/proc/self/task/%d", id)
			return
		}
		task <- <-onThreadThatEnds(f)
		runtime.UnlockOSThread()
	}()
	return task
}

// No other process is started before the files of an agent are closed.
func TestFilesAreClosedBeforeTheWatcherStarts(t *testing.T) {
	before, closed := ownChildren(t), 0
	var s starter
	spec := child(t, "hang")
	cmd := &exec.Cmd{Path: spec.Path, Env: spec.Env}
	if err := s.start(cmd, func() { closed = ownChildren(t) }); err != nil {
		t.Fatal(err)
	}
	if closed != before+1 {
		t.Errorf("%d processes before, %d when the files are closed", before, closed)
	}
	polltest.Until(t, "the watcher starts", func() bool { return ownChildren(t) == before+2 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	s.exited()
}

func TestNothingIsLeft(t *testing.T) {
	rounds := soak.Size(12, 400)
	spec := child(t, "exit", "0")
	quickOnes := func() {
		var some sync.WaitGroup
		for range 4 {
			some.Go(func() {
				p, err := Start(spec)
				if err != nil {
					t.Error(err)
					return
				}
				p.Close()
			})
		}
		some.Wait()
	}
	wantNothingLeft(t, func() {
		for range rounds / 4 {
			quickOnes()
		}
	})
}

func TestNothingIsLeftOfAFailedStart(t *testing.T) {
	wantNothingLeft(t, func() {
		for range 20 {
			for _, spec := range []*Spec{{Path: "/no/such/agent"}, {Path: "/bin/sh", Dir: "/no/such/folder"}} {
				if _, err := Start(spec); err == nil {
					t.Error("it started")
				}
			}
		}
	})
}

func TestIdleCost(t *testing.T) {
	start(t, child(t, "echo")).Close()
	before := runtime.NumGoroutine()
	for range 10 {
		start(t, child(t, "echo"))
	}
	polltest.Until(t, "two goroutines a process, and one for all", func() bool { return runtime.NumGoroutine() <= before+21 })
}

// wantNothingLeft checks that f leaves no file, goroutine or child.
func wantNothingLeft(t *testing.T, f func()) {
	t.Helper()
	start(t, child(t, "exit", "0")).Close() // opens what the runtime keeps open
	files, goroutines, children := openFiles(t), runtime.NumGoroutine(), ownChildren(t)
	f()
	if got := openFiles(t); got > files {
		t.Errorf("%d files before, %d after", files, got)
	}
	if got := ownChildren(t); got > children {
		t.Errorf("%d children before, %d after", children, got)
	}
	// A goroutine may not have returned yet although its work is done.
	polltest.Until(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// ownChildren counts the children of this process, including zombies.
func ownChildren(t *testing.T) int {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, task := range tasks {
		if ids, err := os.ReadFile(task); err == nil { // the thread may have ended meanwhile
			count += len(strings.Fields(string(ids)))
		}
	}
	return count
}
