package clew_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// quickly is a CloseTimeout for agents that don't end by themselves.
const quickly = 50 * time.Millisecond

// longest is more than anything takes here, also on a slow machine.
const longest = time.Minute

// Whatever a caller does, no child, no file and no goroutine is left when it is over. Most agents here neither read nor
// write once they were asked.
func TestNothingOutlives(t *testing.T) {
	hangs := func() *clewtest.Scenario { return asked().Send(aWord).Do(clewtest.Hang()) }
	obeys := func() *clewtest.Scenario { return asked().Send(aWord).Expect(aInterrupt) }
	floods := func() *clewtest.Scenario {
		return asked().Send(aWord).Do(clewtest.Flood(100_000)).Expect(aInterrupt)
	}
	for name, test := range map[string]struct {
		scenario *clewtest.Scenario
		run      func(t *testing.T, opts *clew.Options)
	}{
		"Close":                              {greeted(), closesAtOnce},
		"Close in the middle of a turn":      {hangs(), closesInTurn},
		"a turn that was left":               {obeys(), leavesTurn},
		"a flood that nobody reads":          {floods(), leavesTurn},
		"a query that was left":              {hangs(), leavesQuery},
		"a panic in the loop":                {hangs(), panicsInQuery},
		"a goroutine that ends in the loop":  {hangs(), exitsInQuery},
		"a panic in the loop of a turn":      {hangs(), panicsInTurn},
		"a context that ends during a query": {hangs(), cancelsQuery},
		"a context that ends during Connect": {new(clewtest.Scenario).Do(clewtest.Hang()), timesOut},
		"a context that has ended":           {nil, cancelledBefore},
		"an agent that dies":                 {new(clewtest.Scenario).Stderr("no key\n").Exit(1), refused},
		"an agent that refuses":              {answering(`"subtype":"error","error":"not you"`), refused},
		"an agent that answers nonsense":     {answering(`"subtype":"success","response":"yes"`), refused},
		"an agent that never answers":        {new(clewtest.Scenario).Do(clewtest.Hang()), neverAnswered},
		"an option that can't be used":       {nil, badModel},
		"a binary that is missing":           {nil, missing},
		"a binary that is none":              {nil, notABinary},
		"a transport that fails":             {nil, failingWrap},
	} {
		t.Run(name, func(t *testing.T) {
			opts := asProcess(clewtest.NewAgent(t, test.scenario))
			opts.CloseTimeout = quickly
			wantNothingLeft(t, func() { test.run(t, opts) })
		})
	}
}

func closesAtOnce(t *testing.T, opts *clew.Options) {
	opts.CloseTimeout = 0
	wantClosed(t, connectTo(t, opts))
}

func leavesTurn(t *testing.T, opts *clew.Options) {
	opts.CloseTimeout = 0
	closesInTurn(t, opts)
}

// closesInTurn leaves a turn after its first message, and closes the session then.
func closesInTurn(t *testing.T, opts *clew.Options) {
	s := connectTo(t, opts)
	for _, err := range s.Turn(t.Context(), "Hi") {
		if err != nil {
			t.Error(err)
		}
		break
	}
	_ = s.Close()
}

func leavesQuery(t *testing.T, opts *clew.Options) {
	for _, err := range clew.Query(t.Context(), "Hi", opts) {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

func panicsInQuery(t *testing.T, opts *clew.Options) {
	defer wantPanic(t, "in the loop")
	for range clew.Query(t.Context(), "Hi", opts) {
		panic("in the loop")
	}
}

func exitsInQuery(t *testing.T, opts *clew.Options) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range clew.Query(t.Context(), "Hi", opts) {
			runtime.Goexit()
		}
		t.Error("the loop has ended")
	}()
	<-done
}

func panicsInTurn(t *testing.T, opts *clew.Options) {
	defer wantPanic(t, "in the loop")
	s := connectTo(t, opts)
	defer s.Close()
	for range s.Turn(t.Context(), "Hi") {
		panic("in the loop")
	}
}

func wantPanic(t *testing.T, want string) {
	if got := recover(); got != want {
		t.Errorf("panic %v, want %v", got, want)
	}
}

func cancelsQuery(t *testing.T, opts *clew.Options) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range clew.Query(ctx, "Hi", opts) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("error %v", last)
	}
}

func timesOut(t *testing.T, opts *clew.Options) {
	ctx, cancel := context.WithTimeout(t.Context(), quickly)
	defer cancel()
	wantNoSession(ctx, t, opts, context.DeadlineExceeded)
}

func cancelledBefore(t *testing.T, opts *clew.Options) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantNoSession(ctx, t, opts, context.Canceled)
}

func refused(t *testing.T, opts *clew.Options) {
	opts.CloseTimeout = 0
	wantNoSession(t.Context(), t, opts, nil)
}

func neverAnswered(t *testing.T, opts *clew.Options) {
	opts.InitializeTimeout = quickly
	wantNoSession(t.Context(), t, opts, nil)
}

func badModel(t *testing.T, opts *clew.Options) {
	opts.Model = "opus\x00"
	wantNoSession(t.Context(), t, opts, nil)
}

func missing(t *testing.T, opts *clew.Options) {
	opts.AgentPath = filepath.Join(t.TempDir(), "claude")
	wantNoSession(t.Context(), t, opts, nil)
}

func notABinary(t *testing.T, opts *clew.Options) {
	opts.AgentPath = filepath.Join(t.TempDir(), "claude.exe")
	if err := os.WriteFile(opts.AgentPath, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantNoSession(t.Context(), t, opts, nil)
}

func failingWrap(t *testing.T, opts *clew.Options) {
	opts.Transport = &clew.ProcessTransport{Wrap: func(*clew.Launch) error { return io.ErrNoProgress }}
	wantNoSession(t.Context(), t, opts, io.ErrNoProgress)
}

// wantNoSession checks that Connect fails, with want in its error unless that is nil.
func wantNoSession(ctx context.Context, t *testing.T, opts *clew.Options, want error) {
	t.Helper()
	s, err := clew.Connect(ctx, opts)
	if s != nil || err == nil || want != nil && !errors.Is(err, want) {
		t.Errorf("session %v, error %v, want the error %v", s, err, want)
	}
}

// An agent ends soon after the process that started it has died without a word.
func TestAgentEndsWithItsHost(t *testing.T) {
	t.Parallel()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	host := startHost(t, listener.Addr().String())
	if err := listener.SetDeadline(time.Now().Add(longest)); err != nil {
		t.Fatal(err)
	}
	agent, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // it was killed
	if err := agent.SetReadDeadline(time.Now().Add(longest)); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the agent is still there")
	}
}

// startHost starts a process that has a session whose agent connects to address.
func startHost(t *testing.T, address string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.CommandContext(t.Context(), path)
	host.Env = append(append(os.Environ(), roleEnv("host")...), lifelineVariable+"="+address)
	host.Stderr = os.Stderr
	stdout, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	return host
}
