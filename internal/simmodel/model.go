// Package simmodel is a scripted model, a server on the loopback interface. It speaks the Messages
// API as Claude Code uses it, and answers from rules.
//
// The package does not import testing, so the program can link it. Package clewtest is the public
// interface to it.
package simmodel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// A Reporter gets what a model finds wrong. A testing.TB is one. Its methods may be called from
// several goroutines.
type Reporter interface {
	// Errorf reports a request that no rule matches or that cannot be read, and a rule that fails.
	Errorf(format string, args ...any)
	// Logf reports a background request that no rule matches. The model answers it nevertheless.
	Logf(format string, args ...any)
}

// A Model is a scripted model. All methods may be called from several goroutines.
type Model struct {
	reporter Reporter
	url      string
	home     string
	config   string
	temp     string

	server *http.Server
	served chan error    // receives the error of server.Serve
	done   chan struct{} // closed when the model ends
	active sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	rules    []*Rule
	fallback *Rule
	requests []*Request
	arrived  chan struct{} // closed and replaced whenever a request arrives
	serial   int
}

// Start starts a model without rules on a free port of 127.0.0.1. The agent's home, its settings
// and its temporary files get directories in dir, which must not have them yet. The caller has to
// close the model.
func Start(ctx context.Context, dir string, reporter Reporter) (*Model, error) {
	m := &Model{
		reporter: reporter, done: make(chan struct{}), arrived: make(chan struct{}), served: make(chan error, 1),
	}
	if err := m.makeDirectories(dir); err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m.url = "http://" + l.Addr().String()
	m.server = &http.Server{Handler: http.HandlerFunc(m.serve)}
	go func() { m.served <- m.server.Serve(l) }()
	return m, nil
}

// Close cuts all connections and waits for all requests to end: after it, the model reports
// nothing. It must be called once. It returns an error if the server did not end as it should.
func (m *Model) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	close(m.done)
	err := m.server.Close()
	if err != nil {
		err = fmt.Errorf("closing the model: %w", err)
	}
	m.active.Wait()
	if served := <-m.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("the model stopped early: %w", served))
	}
	return err
}

// enter registers a request that is being answered; the caller calls m.active.Done. It returns
// false after Close.
func (m *Model) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.active.Add(1)
	return true
}

// URL returns the address of the model, such as http://127.0.0.1:40123.
func (m *Model) URL() string { return m.url }

// Requests returns all requests so far, in the order of their arrival.
func (m *Model) Requests() []*Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// WaitRequest waits until there are n requests of the conversation and returns the nth, counted
// from 1. It blocks until then, or until ctx or the model ends, which is the error.
func (m *Model) WaitRequest(ctx context.Context, n int) (*Request, error) {
	if n < 1 {
		return nil, fmt.Errorf("requests count from 1, not %d", n)
	}
	for {
		m.mu.Lock()
		arrived := m.arrived
		m.mu.Unlock()
		list := slices.DeleteFunc(m.Requests(), func(r *Request) bool { return !r.FromConversation() })
		if len(list) >= n {
			return list[n-1], nil
		}
		select {
		case <-arrived:
		case <-m.done:
			return nil, fmt.Errorf("the test ended after %d of %d requests", len(list), n)
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d requests: %w", len(list), n, ctx.Err())
		}
	}
}

// record keeps a request and wakes the goroutines that wait for it.
func (m *Model) record(r *Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r)
	close(m.arrived)
	m.arrived = make(chan struct{})
}

// nextID returns an id that this model has not given out before.
func (m *Model) nextID(prefix string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serial++
	return fmt.Sprintf("%s_clewtest%06d", prefix, m.serial)
}

// noProxy is the value of NO_PROXY: this machine, by its usual names.
const noProxy = "127.0.0.1,localhost,::1"

// Env returns the whole environment for an agent over this model. Package clewtest describes it.
func (m *Model) Env() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + m.home,
		"TMPDIR=" + m.temp,
		"LANG=C.UTF-8",
		"CLAUDE_CONFIG_DIR=" + m.config,
		"ANTHROPIC_BASE_URL=" + m.url,
		"ANTHROPIC_API_KEY=clewtest",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
		"HTTP_PROXY=" + m.url,
		"HTTPS_PROXY=" + m.url,
		"NO_PROXY=" + noProxy,
	}
	if runtime.GOOS == "windows" {
		return append(env, m.windowsEnv()...)
	}
	// Some programs know the proxy variables by their lower-case names only.
	env = append(env, "http_proxy="+m.url, "https_proxy="+m.url, "no_proxy="+noProxy)
	if os.Geteuid() == 0 {
		// Without it, the agent refuses to skip permissions as root.
		env = append(env, "IS_SANDBOX=1")
	}
	return env
}

// windowsEnv returns the variables that only Windows needs.
func (m *Model) windowsEnv() []string {
	env := []string{
		"USERPROFILE=" + m.home,
		"APPDATA=" + filepath.Join(m.home, "AppData", "Roaming"),
		"LOCALAPPDATA=" + filepath.Join(m.home, "AppData", "Local"),
		"TMP=" + m.temp,
		"TEMP=" + m.temp,
	}
	for _, name := range []string{"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Home returns the HOME directory of [Model.Env].
func (m *Model) Home() string { return m.home }

// ConfigDir returns the CLAUDE_CONFIG_DIR directory of [Model.Env].
func (m *Model) ConfigDir() string { return m.config }

// makeDirectories makes the directories of the environment in root.
func (m *Model) makeDirectories(root string) error {
	m.home, m.config, m.temp = filepath.Join(root, "home"), filepath.Join(root, "config"), filepath.Join(root, "tmp")
	for _, dir := range []string{m.home, m.config, m.temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}
