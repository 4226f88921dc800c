package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/soak"
)

func init() {
	roles["host"] = host
}

// host starts an agent that hangs, and copies its output.
func host([]string) int {
	p, err := Start(&Spec{Path: os.Args[0], Env: roleEnv("hang")})
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(os.Stdout, p)
	return 1
}

func TestAgentDiesWithItsHost(t *testing.T) {
	t.Parallel()
	line := newLifeline(t)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Env = append(roleEnv("host"), line.env())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	agent := line.connected()
	wantReady(t, stdout)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wantGone(t, agent)
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
	until(t, "the thread ends", func() bool {
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

func TestNothingIsLeft(t *testing.T) {
	rounds := soak.Size(30, 400)
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
	until(t, "two goroutines a process, and one for all", func() bool { return runtime.NumGoroutine() <= before+21 })
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
	// A goroutine that has done its work may not have returned yet.
	until(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// ownChildren counts the children of this process, including those that were not waited for.
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

// until polls for a condition that nothing signals.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(long); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to this: ", what)
		}
	}
}
