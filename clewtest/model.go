package clewtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// A Model is a scripted model: an HTTP server on the loopback interface that speaks the Messages API as Claude Code
// uses it, and answers from rules. It needs no key and reaches no network, and it ends with its test.
//
// Rules are asked in the order in which they were made, and the first one that matches and is not used up answers.
// A request that no rule matches fails the test, and so does one that cannot be read; see [Model.Reply] for an answer
// to everything. Make a rule before the request that it is for. All methods may be called from several goroutines.
type Model struct {
	tb     testing.TB
	url    string
	home   string
	config string
	temp   string

	server *http.Server
	done   chan struct{} // closed when the test ends
	active sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	rules    []*Rule
	fallback *Rule
	requests []*Request
	arrived  chan struct{} // closed and replaced whenever a request arrives
	serial   int
}

// NewModel starts a model on a free port of 127.0.0.1. It has no rules yet. When the test ends, its connections are
// cut, also those of requests that still wait for an answer, and its folders are removed: end the programs that use
// them first.
func NewModel(tb testing.TB) *Model {
	tb.Helper()
	m := &Model{tb: tb, done: make(chan struct{}), arrived: make(chan struct{})}
	if err := m.makeFolders(tb.TempDir()); err != nil {
		tb.Fatalf("clewtest: %v", err)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(tb.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("clewtest: %v", err)
	}
	m.url = "http://" + l.Addr().String()
	m.server = &http.Server{Handler: http.HandlerFunc(m.serve)}
	served := make(chan error, 1)
	go func() { served <- m.server.Serve(l) }()
	tb.Cleanup(func() {
		m.close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			tb.Errorf("clewtest: the model stopped early: %v", err)
		}
	})
	return m
}

// close ends all requests and waits for them, so that none of them reports to a test that is over.
func (m *Model) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	close(m.done)
	if err := m.server.Close(); err != nil {
		m.tb.Errorf("clewtest: closing the model: %v", err)
	}
	m.active.Wait()
}

// enter registers a request that is being answered; the caller calls m.active.Done. It is false after close.
func (m *Model) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.active.Add(1)
	return true
}

// URL returns the address of the model, such as http://127.0.0.1:40123, for ANTHROPIC_BASE_URL; see [Model.Env].
func (m *Model) URL() string { return m.url }

// Reply sets the answer to every request of the conversation that no rule matches. It returns m, so that
// NewModel(t).Reply("hi") is a model that always says hi. A later call replaces the answer.
func (m *Model) Reply(text string) *Model {
	rule := m.newRule(fromConversation)
	rule.Reply(Text(text))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fallback = rule
	return m
}

// On adds a rule for requests whose newest prompt contains words, letter by letter; see [Request.Prompt] for what that
// is. Empty words match every request of the conversation. Background requests are not asked about; see
// [Request.Background].
func (m *Model) On(words string) *Rule {
	return m.addRule(func(r *Request) bool {
		return fromConversation(r) && strings.Contains(r.Prompt(), words)
	})
}

// OnToolResult adds a rule for requests whose newest turn brings the result of a tool that contains words, letter by
// letter. Empty words match every result.
func (m *Model) OnToolResult(words string) *Rule {
	return m.addRule(func(r *Request) bool {
		for _, result := range r.ToolResults() {
			if strings.Contains(result.Text(), words) {
				return fromConversation(r)
			}
		}
		return false
	})
}

// When adds a rule for requests for which match returns true. It is asked about every request for an answer, also
// those that the agent makes in the background, possibly from several goroutines at once, and it must not change the
// request.
func (m *Model) When(match func(*Request) bool) *Rule { return m.addRule(match) }

// Requests returns the requests for an answer so far, in the order of their arrival. Background requests are left
// out, because their number depends on the agent's version and settings; [Model.AllRequests] has them.
func (m *Model) Requests() []*Request {
	var list []*Request
	for _, r := range m.AllRequests() {
		if fromConversation(r) {
			list = append(list, r)
		}
	}
	return list
}

// AllRequests returns every request so far: for answers, in the background, for token counts, for anything else, and
// those that were refused because they were meant for another machine.
func (m *Model) AllRequests() []*Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*Request(nil), m.requests...)
}

// WaitRequest waits until [Model.Requests] has n requests and returns the nth, counted from 1. It blocks until then,
// or until ctx or the test ends, which is the error.
func (m *Model) WaitRequest(ctx context.Context, n int) (*Request, error) {
	if n < 1 {
		return nil, fmt.Errorf("clewtest: requests count from 1, not %d", n)
	}
	for {
		m.mu.Lock()
		arrived := m.arrived
		m.mu.Unlock()
		list := m.Requests()
		if len(list) >= n {
			return list[n-1], nil
		}
		select {
		case <-arrived:
		case <-m.done:
			return nil, fmt.Errorf("clewtest: the test ended after %d of %d requests", len(list), n)
		case <-ctx.Done():
			return nil, fmt.Errorf("clewtest: %d of %d requests: %w", len(list), n, ctx.Err())
		}
	}
}

// record keeps a request and wakes those who wait for it.
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
