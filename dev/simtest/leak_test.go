package simtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// quickly is a CloseTimeout for agents that don't end by themselves.
const quickly = 50 * time.Millisecond

// unhurried is a CloseTimeout for agents that must be given the time to end after SIGTERM, even on
// a busy machine.
const unhurried = 10 * time.Second

// longest is more than anything takes here, even on a slow machine.
const longest = 5 * time.Minute

// Whatever a caller does, no child, no file and no goroutine is left when it is over. Most agents
// here neither read nor write once they were asked.
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
			opts.Limits.CloseTimeout = quickly
			wantNothingLeft(t, func() { test.run(t, opts) })
		})
	}
}

func closesAtOnce(t *testing.T, opts *clew.Options) {
	opts.Limits.CloseTimeout = longest
	wantClosed(t, connectTo(t, opts))
}

func leavesTurn(t *testing.T, opts *clew.Options) {
	opts.Limits.CloseTimeout = longest
	closesInTurn(t, opts)
}

// closesInTurn leaves a turn after its first message, and closes the session then.
func closesInTurn(t *testing.T, opts *clew.Options) {
	s := connectTo(t, opts)
	for _, err := range s.Turn(t.Context(), clew.Text("Hi")) {
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
	for range s.Turn(t.Context(), clew.Text("Hi")) {
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
	opts.Limits.CloseTimeout = longest
	wantNoSession(t.Context(), t, opts, nil)
}

func neverAnswered(t *testing.T, opts *clew.Options) {
	opts.Limits.InitializeTimeout = quickly
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

// An agent ends soon after the process that started it dies without a word.
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

// Secrets. The first two look like ones; the others are known by where they are.
const (
	keySecret    = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz"
	bearerSecret = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	envSecret    = "correct-horse-battery"
	headerSecret = "staple-of-the-header"
)

// A lockedBuffer keeps everything that is logged.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// withSecrets returns options with secrets, and the log of their session.
func withSecrets(agent *clewtest.Agent) (*clew.Options, *lockedBuffer) {
	log := new(lockedBuffer)
	opts := asProcess(agent)
	opts.Env = append(opts.Env, "ANTHROPIC_API_KEY="+keySecret, "PASSPHRASE="+envSecret)
	opts.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts.Limits.CloseTimeout = quickly
	return opts, log
}

// wantHidden checks that texts for people contain no secret.
func wantHidden(t *testing.T, texts ...any) {
	t.Helper()
	for _, value := range texts {
		for _, text := range []string{fmt.Sprint(value), fmt.Sprintf("%+v", value), fmt.Sprintf("%#v", value)} {
			for _, secret := range []string{keySecret, bearerSecret, envSecret, headerSecret} {
				if strings.Contains(text, secret) {
					t.Errorf("%s is in %s", secret, text)
				}
			}
		}
	}
}

// secretStderr is an agent's standard error with secrets in it.
const secretStderr = "401 invalid key " + keySecret + "\n" +
	"Authorization: Bearer " + bearerSecret + "\n" +
	"ANTHROPIC_API_KEY=" + keySecret + "\n"

// An agent that does not come up may print the reason, with the key in it.
func TestSecretsOfAFailedStart(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]*clewtest.Scenario{
		"it dies":     new(clewtest.Scenario).Stderr(secretStderr).Exit(1),
		"it hangs":    new(clewtest.Scenario).Stderr(secretStderr).Do(clewtest.Hang()),
		"it refuses":  answering(`"subtype":"error","error":"not you"`).Stderr(secretStderr),
		"it is quiet": new(clewtest.Scenario).Stderr(secretStderr).Exit(0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts, log := withSecrets(clewtest.NewAgent(t, scenario))
			ctx, cancel := context.WithTimeout(t.Context(), longest)
			defer cancel()
			if name == "it hangs" {
				opts.Limits.InitializeTimeout = quickly
			}
			_, err := clew.Connect(ctx, opts)
			if err == nil {
				t.Fatal("the agent came up")
			}
			wantHidden(t, err, log.String(), opts.CommandLine())
		})
	}
}

// An agent may die, refuse and be silent with secrets all around.
func TestSecretsOfASession(t *testing.T) {
	t.Parallel()
	agent := clewtest.NewAgent(t, greeted().
		Expect(`{"type":"control_request","request_id":"1","request":{"subtype":"mcp_set_servers"}}`).
		Send(`{"type":"control_response","response":{"subtype":"error","request_id":"1","error":"no"}}`).
		Expect(aPrompt).Send(aWord).Stderr(secretStderr).Exit(1))
	opts, log := withSecrets(agent)
	s := connectTo(t, opts)
	_, refusal := s.SetMCPServers(t.Context(), map[string]clew.MCPServer{"calc": &clew.MCPHTTPServer{
		URL: "https://example.com", Headers: map[string]string{"X-Pass": headerSecret},
	}})
	_, death := readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
	exit := wantExit(t, death)
	if !strings.Contains(exit.Stderr, "401 invalid key sk-ant-***") {
		t.Errorf("stderr %q", exit.Stderr)
	}
	wantHidden(t, refusal, death, exit.Stderr, s.Err(), s.Close(), log.String())
}

// CommandLine is for people.
func TestSecretsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	opts, log := withSecrets(clewtest.NewAgent(t, nil))
	opts.MCPServers = map[string]clew.MCPServer{
		"web":   &clew.MCPHTTPServer{URL: "https://example.com", Headers: map[string]string{"X-Pass": headerSecret}},
		"local": &clew.MCPStdioServer{Command: "calc", Env: map[string]string{"PASSPHRASE": envSecret}},
	}
	opts.Settings.JSON = `{"env":{"PASSPHRASE":"` + envSecret + `"},"apiKeyHelper":"echo ` + keySecret + `"}`
	opts.ExtraArgs = []string{"--newer-token=" + envSecret, "--newer=" + bearerSecret}
	opts.Model = "opus\x00" // so that the options are refused, too
	_, err := clew.Connect(t.Context(), opts)
	wantHidden(t, err, opts.CommandLine(), log.String())
}
