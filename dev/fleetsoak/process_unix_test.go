//go:build unix

package fleetsoak

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// setupVariable is the environment variable with which the test program is one of the processes.
const setupVariable = "CLEW_TEST_FLEET"

// A setup describes the work of a process.
type setup struct {
	Role role
	Dir  string // of the test

	// Of workers:
	Name    string
	URL     string // of the proxy
	Slots   int
	Lease   time.Duration
	MinFree int64 // on its disk, for jobs
	Slow    int   // how many times as long agents think, if not 0

	// Of the submitter: the first job, and the number of jobs.
	From, Jobs int

	// Of agents:
	Job, Session string
	Attempt      int
	Tools        int
	Think        time.Duration // before each tool
}

// A role is the purpose of a process.
type role string

const (
	serverRole    role = "server"
	workerRole    role = "worker"
	submitterRole role = "submitter"
	agentRole     role = "agent"
	claudeRole    role = "claude"
)

func TestMain(m *testing.M) {
	text := os.Getenv(setupVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	s := new(setup)
	err := json.Unmarshal([]byte(text), s)
	if err == nil {
		err = map[role]func() error{
			serverRole: s.serve, workerRole: s.work, submitterRole: s.submit, agentRole: s.act, claudeRole: s.imitate,
		}[s.Role]()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, s.Role, s.Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// ready reports that the process has started, and returns a channel that is closed when the input
// ends.
func ready() <-chan struct{} {
	fmt.Println("ready")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ended
}

// command returns the command that starts a process.
func (s *setup) command() (*exec.Cmd, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program) //nolint:noctx // its owner ends it
	cmd.Env = append(os.Environ(), setupVariable+"="+string(text))
	return cmd, nil
}

// A process is a child process of the test.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the process has ended

	mu     sync.Mutex
	killed bool
	err    error
}

// start starts a process and waits until it is ready. Its standard error goes to a file.
func start(t testing.TB, s *setup) *process {
	t.Helper()
	cmd, err := s.command()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(s.Dir, string(s.Role)+s.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	go func() {
		defer close(p.ended)
		err := cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err = err
	}()
	t.Cleanup(p.kill)
	if err != nil || line != "ready\n" {
		t.Fatalf("the %s does not start: %q, %v; see %s", s.Role, line, err, log.Name())
	}
	return p
}

// kill ends the process at once.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// signal sends a signal, unless the process has ended.
func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// end lets the process end by itself.
func (p *process) end(t testing.TB) {
	t.Helper()
	_ = p.stdin.Close()
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil && !p.killed {
		t.Errorf("a process has ended with %v", p.err)
	}
}
