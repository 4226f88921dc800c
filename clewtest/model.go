package clewtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/wire"
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

// statusOverloaded is what the API answers when it has more to do than it can.
const statusOverloaded = 529

// An apiFault is a kind of error of the API: its type and its usual text.
type apiFault struct{ kind, message string }

var apiFaults = map[int]apiFault{
	http.StatusBadRequest:            {"invalid_request_error", "Invalid request"},
	http.StatusUnauthorized:          {"authentication_error", "invalid x-api-key"},
	http.StatusForbidden:             {"permission_error", "Permission denied"},
	http.StatusNotFound:              {"not_found_error", "Not found"},
	http.StatusRequestEntityTooLarge: {"request_too_large", "Request exceeds the maximum size"},
	http.StatusTooManyRequests:       {"rate_limit_error", "This request would exceed your rate limit"},
	http.StatusInternalServerError:   {"api_error", "Internal server error"},
	http.StatusGatewayTimeout:        {"timeout_error", "Request timed out"},
	statusOverloaded:                 {"overloaded_error", "Overloaded"},
}

// writeFailure answers with the error of a rule.
func (a *answer) writeFailure(w http.ResponseWriter) {
	after := a.retryAfter
	if after <= 0 && a.status == http.StatusTooManyRequests {
		after = time.Second
	}
	if after > 0 {
		seconds := (after + time.Second - 1) / time.Second
		w.Header().Set("retry-after", strconv.Itoa(int(seconds)))
	}
	writeError(w, a.status, a.message)
}

// errorBody is the JSON of an error.
type errorBody struct {
	Type      string      `json:"type"`
	Error     errorDetail `json:"error"`
	RequestID string      `json:"request_id"`
}

type errorDetail struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// writeError answers with an error of the API. An empty message means the usual one of the status.
func writeError(w http.ResponseWriter, status int, message string) {
	fault, ok := apiFaults[status]
	switch {
	case ok:
	case status >= 400 && status < 500:
		fault = apiFaults[http.StatusBadRequest]
	default:
		fault = apiFaults[http.StatusInternalServerError]
	}
	if message != "" {
		fault.message = message
	}
	writeJSON(w, status, errorBody{
		Type:      "error",
		Error:     errorDetail{Type: fault.kind, Message: fault.message},
		RequestID: w.Header().Get("request-id"),
	})
}

// Text returns a block of text, for [Rule.Reply].
func Text(text string) *wire.TextBlock { return &wire.TextBlock{Text: text} }

// Thinking returns a block of reasoning with its signature, for [Rule.Reply]. The agent sends both back unchanged; the
// signature may be any text.
func Thinking(text, signature string) *wire.ThinkingBlock {
	return &wire.ThinkingBlock{Thinking: text, Signature: signature}
}

// ToolUse returns a call of a tool, for [Rule.Reply]. The input is anything that marshals to a JSON object, such as a
// map or a struct; nil, also a nil map, is an empty one. ToolUse panics when it does not marshal, and a rule fails its
// test when the input is not an object. Each reply gives the call an ID of its own.
func ToolUse(name string, input any) *wire.ToolUseBlock {
	data, err := json.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("clewtest: the input of %s: %v", name, err))
	}
	if string(data) == "null" {
		data = []byte("{}")
	}
	return &wire.ToolUseBlock{Name: name, Input: wire.JSON(data)}
}

// isObject reports whether input can be that of a tool. Blocks that others made may have none.
func isObject(input wire.JSON) bool {
	var members map[string]json.RawMessage
	return input == "" || json.Unmarshal([]byte(input), &members) == nil && members != nil
}

// withID returns block, or a copy with a new ID if it is a tool use without one. A rule's blocks are not changed: it
// may answer again, and two calls of one conversation must not share an ID.
func (m *Model) withID(block wire.Block) wire.Block {
	use, ok := block.(*wire.ToolUseBlock)
	if !ok || use.ID != "" {
		return block
	}
	named := *use
	named.ID = m.nextID("toolu")
	return &named
}

// outputConfig is how an answer shall look.
type outputConfig struct {
	Format struct {
		Schema struct {
			Properties map[string]wire.JSON `json:"properties"`
		} `json:"schema"`
	} `json:"format"`
}

// probes are the whole prompts with which Claude Code looks whether a key or a model works: "quota" and "test" for a
// key, "Hi" and "." for a model.
var probes = []string{"quota", "test", "Hi", "."}

// aside reports whether Claude Code asked on its own behalf. Only what is known for certain counts: a request that
// merely looks unusual, such as one without tools, may be a turn of the conversation, and goes by the rules.
func (r *Request) aside(body *requestBody) bool {
	return strings.HasPrefix(r.Header.Get("User-Agent"), "claude-cli/") &&
		(r.isProbe() || r.isWebSearch() || r.isTitle(&body.OutputConfig))
}

// isProbe reports whether r wants one token, whole, for a fixed word that nothing stands around. A turn of the
// conversation is streamed, and brings reminders or tools.
func (r *Request) isProbe() bool {
	return r.MaxTokens == 1 && !r.Stream && len(r.Tools) == 0 && r.alone() && slices.Contains(probes, r.Turn().Text())
}

// isWebSearch reports whether r lets the API search. The agent's conversations offer its own tool WebSearch instead.
func (r *Request) isWebSearch() bool {
	return r.alone() && len(r.Tools) == 1 && strings.HasPrefix(r.Tools[0].Type, "web_search_")
}

// isTitle reports whether r wants an object with a title and nothing else, by instructions that speak of one. The
// schema that a host gives for its results is a tool of the conversation.
func (r *Request) isTitle(config *outputConfig) bool {
	properties := config.Format.Schema.Properties
	_, ok := properties["title"]
	return ok && len(properties) == 1 && len(r.Tools) == 0 && r.alone() && strings.Contains(r.System.Text(), "title")
}

// alone reports whether r is a single block of text from the user, without a conversation around it.
func (r *Request) alone() bool {
	return len(r.Messages) == 1 && r.Messages[0].Role == wire.RoleUser && len(r.Messages[0].Content) == 1
}

// Background reports whether the agent made the request on its own behalf, beside the conversation: for a title of the
// session, for a web search, to see whether a key or a model works. Such a request is answered "ok", and logged, unless
// a [Model.When] rule matches it. It is told by what it asks for, as Claude Code 2.1.325 does it; any other request,
// and any request of another client, belongs to the conversation.
func (r *Request) Background() bool { return r.background }
