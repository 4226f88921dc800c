package simtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/polltest"
)

const (
	// roleVariable makes the test binary another process than a test. Agents don't inherit it,
	// since it starts with CLEW_.
	roleVariable = "CLEW_TEST_ROLE"
	// lifelineVariable has the address that a plain agent connects to, so that a test sees when it
	// is gone.
	lifelineVariable = "CLEW_TEST_LIFELINE"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if slices.Equal(os.Args[1:], []string{"--version"}) {
			fmt.Println(clewtest.AgentVersion, "(Claude Code)")
			os.Exit(0)
		}
		os.Exit(playRole(role))
	}
	code := m.Run()
	if left := leftBehind(); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the tests leave %d goroutines behind\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

func playRole(role string) int {
	switch role {
	case "agent":
		return plainAgent()
	case "waiting agent":
		return waitingAgent()
	case "deaf agent":
		return deafAgent()
	case "environment":
		fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n"))
		return 1
	case "host":
		return plainHost()
	}
	fmt.Fprintln(os.Stderr, "no such role:", role)
	return 2
}

// plainAgent answers initialize and waits for the end of its input. The simulated agent costs its
// test a connection and a goroutine; this one costs nothing but itself.
func plainAgent() int {
	if address := os.Getenv(lifelineVariable); address != "" {
		if _, err := new(net.Dialer).DialContext(context.Background(), "tcp", address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	in := bufio.NewReader(os.Stdin)
	var request struct {
		ID string `json:"request_id"`
	}
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &request)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf(`{"type":"control_response","response":{"subtype":"success","request_id":%q}}`+"\n", request.ID)
	_, _ = io.Copy(io.Discard, in)
	return 0
}

// waitingAgent is a plain agent that ends only on request, and then in order, as older agents do
// while a command runs in the background.
func waitingAgent() int {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	if code := plainAgent(); code != 0 {
		return code
	}
	<-told
	return 128 + int(syscall.SIGTERM)
}

// deafAgent answers initialize, or the prompt after it if it has an argument for that, and closes
// its input before. It never exits.
func deafAgent() int {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadString('\n')
	var request struct {
		ID string `json:"request_id"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(line), &request)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	answer := fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q}}`, request.ID)
	if slices.Contains(os.Args, "--"+afterPrompt) {
		fmt.Println(answer)
		_, _ = in.ReadString('\n')
		answer = aWord
	}
	_ = os.Stdin.Close()
	fmt.Println(answer)
	polltest.Forever()
	return 1
}

// afterPrompt is a flag of a deaf agent.
const afterPrompt = "after-prompt"

// plainHost opens a session, reports it, and does nothing more.
func plainHost() int {
	opts, err := plainOptions()
	if err == nil {
		opts.Env = append(opts.Env, lifelineVariable+"="+os.Getenv(lifelineVariable))
		_, err = clew.Connect(context.Background(), opts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	select {}
}

// plainOptions are those for a plain agent.
func plainOptions() (*clew.Options, error) {
	path, err := os.Executable()
	return &clew.Options{AgentPath: path, Env: roleEnv("agent")}, err
}

// roleEnv makes the test binary play a role. It also keeps the race detector from sleeping before a
// process exits.
func roleEnv(role string) []string {
	return []string{roleVariable + "=" + role, "GORACE=atexit_sleep_ms=0"}
}

// stacks returns the stack of every goroutine, the caller's first.
func stacks() []string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n")
		}
		buf = make([]byte, 2*len(buf))
	}
}

// bubbleOf returns the synctest bubble that a stack is of, or "". The first line of a stack is like
// "goroutine 7 [running, synctest bubble 1]:".
func bubbleOf(stack string) string {
	head, _, _ := strings.Cut(stack, "\n")
	_, name, _ := strings.Cut(head, "synctest bubble ")
	return strings.TrimSuffix(name, "]:")
}

// ofSessions returns the stacks of goroutines that the package under test started: in the caller's
// bubble, or, if it is in none, outside of all.
func ofSessions() []string {
	all := stacks()
	bubble := bubbleOf(all[0])
	return slices.DeleteFunc(all, func(stack string) bool {
		return bubbleOf(stack) != bubble || !strings.Contains(stack, "\ncreated by github.com/clewdev/clew.") &&
			!strings.Contains(stack, "\ncreated by github.com/clewdev/clew/internal/")
	})
}

// ofRuntime are words in the stacks of permanent goroutines: of package testing, of signals once
// they were needed, and of a profile.
var ofRuntime = []string{"\ntesting.(*M).Run(", "\ncreated by testing.", "\ncreated by os/signal.", "\ncreated by runtime/pprof."}

// ofTests returns the stacks of all goroutines but the caller's and the permanent ones.
func ofTests() []string {
	return slices.DeleteFunc(stacks()[1:], func(stack string) bool {
		return slices.ContainsFunc(ofRuntime, func(words string) bool { return strings.Contains(stack, words) })
	})
}

// leftBehind returns the stacks of the goroutines of tests that don't end.
func leftBehind() (left []string) {
	polltest.Eventually(func() bool {
		left = ofTests()
		return len(left) == 0
	})
	return left
}

// wantNothingLeft checks that no child, file or goroutine of a session remains after f. Nothing
// else may run meanwhile.
func wantNothingLeft(t *testing.T, f func()) {
	t.Helper()
	children, files := countChildren(t), countFiles(t)
	f()
	if got := countChildren(t); got > children {
		t.Errorf("%d children before, %d after", children, got)
	}
	// A finished goroutine may still have to return, and the simulated agent to hang up.
	if !polltest.Eventually(func() bool { return len(ofSessions()) == 0 }) {
		t.Errorf("goroutines are left:\n%s", strings.Join(ofSessions(), "\n\n"))
	}
	if !polltest.Eventually(func() bool { return countFiles(t) <= files }) {
		t.Errorf("%d files before, %d after", files, countFiles(t))
	}
}

// countFiles counts the open files of this process, on systems that list them.
func countFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(files)
}

// countChildren counts the children of this process, on systems that list them, including zombies.
func countChildren(t *testing.T) int {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, task := range tasks {
		if ids, err := os.ReadFile(task); err == nil { // and not of a thread that ended meanwhile
			count += len(strings.Fields(string(ids)))
		}
	}
	return count
}

// The checks of this file would be worth nothing if they saw nothing.
func TestLeaksAreSeen(t *testing.T) {
	if left := leftBehind(); len(left) > 0 { // by the test before, whose last goroutine may not have returned yet
		t.Fatalf("before the test: %q", left)
	}
	stop := make(chan struct{})
	go func() { <-stop }()
	if left := ofTests(); len(left) != 1 || !strings.Contains(left[0], "TestLeaksAreSeen") {
		t.Errorf("got %q", left)
	}
	close(stop)
	if left := leftBehind(); len(left) > 0 {
		t.Errorf("got %q", left)
	}

	opts, err := plainOptions()
	if err != nil {
		t.Fatal(err)
	}
	children, files := countChildren(t), countFiles(t)
	s := connectTo(t, opts)
	children, files = countChildren(t)-children, countFiles(t)-files
	if runtime.GOOS == "linux" && (children != 2 || files < 3) { // the other one is the watcher
		t.Errorf("a session has %d children and %d files", children, files)
	}
	if len(ofSessions()) == 0 {
		t.Error("the session has no goroutine")
	}
	wantClosed(t, s)
}
