package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/timelimit"
)

const (
	// roleVariable makes the test binary a child that plays a role.
	roleVariable = "PROCESS_TEST_ROLE"
	// lifelineVariable has the address that a child connects to, so that the test sees when the
	// child ends.
	lifelineVariable = "PROCESS_TEST_LIFELINE"
)

// long is longer than anything takes here, even on a slow machine.
const long = 5 * time.Minute

// roles are the programs that a child can run. They return the exit code.
var roles = map[string]func(args []string) int{
	"exit": func(args []string) int { return number(args[0]) },
	"echo": func([]string) int {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 0
	},
	"folder": func([]string) int {
		dir, _ := os.Getwd()
		fmt.Print(dir)
		return 0
	},
	"frames": func(args []string) int {
		writeFrames(os.Stdout, number(args[0]))
		return number(args[1])
	},
	"frames at the end": func(args []string) int {
		_, _ = io.Copy(io.Discard, os.Stdin)
		writeFrames(os.Stdout, number(args[0]))
		return 0
	},
	"stderr": func(args []string) int {
		_, _ = io.WriteString(os.Stderr, strings.Join(args, ""))
		return 1
	},
	"hang":          func([]string) int { return hang() },
	"hang for good": func([]string) int { signal.Ignore(syscall.SIGTERM); return hang() },
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(roles[role](os.Args[1:]))
	}
	timelimit.Lift()
	if err := polltest.AtOnce(8); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// child returns a spec for a child that plays a role.
func child(t *testing.T, role string, args ...string) *Spec {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Spec{Path: path, Args: args, Env: roleEnv(role), CloseTimeout: long}
}

// roleEnv returns the environment of a child. It keeps the race detector from sleeping before the
// child exits.
func roleEnv(role string) []string {
	return append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
}

// start starts a child that ends when the test does.
func start(t *testing.T, spec *Spec) *Process {
	t.Helper()
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.signal((*group).kill)
		p.Close()
	})
	return p
}

func skipOnWindows(t *testing.T, reason string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip(reason)
	}
}

// hang writes that it runs, and then waits until it is killed or the test closes its lifeline.
func hang() int {
	address := os.Getenv(lifelineVariable)
	if address == "" {
		fmt.Println("ready")
		polltest.Forever()
	}
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, conn)
	return 1
}

// A lifeline is a listener to which a child connects. The connection breaks when the child ends.
type lifeline struct {
	t        *testing.T
	listener net.Listener
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return &lifeline{t, listener}
}

func (l *lifeline) env() string { return lifelineVariable + "=" + l.listener.Addr().String() }

// connected waits for a child to connect.
func (l *lifeline) connected() net.Conn {
	l.t.Helper()
	conn, err := l.listener.Accept()
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// wantGone waits until the connected child ends.
func wantGone(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(long)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the child is still there")
	}
}

// wantReady reads the line that a child prints before it hangs.
func wantReady(t *testing.T, r io.Reader) {
	t.Helper()
	line := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(r, line); err != nil || string(line) != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
}

func frame(i int) string { return fmt.Sprintf(`{"type":"keep_alive","number":%d}`, i) + "\n" }

func frames(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(frame(i))
	}
	return b.String()
}

func writeFrames(w io.Writer, n int) {
	for i := range n {
		_, _ = io.WriteString(w, frame(i))
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}
