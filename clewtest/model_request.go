package clewtest

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/simmodel"
	"github.com/clewdev/clew/wire"
)

// A Request is a request that a [Model] received. It is not changed after it was recorded, and
// callers must not change it.
type Request struct {
	// Method is the HTTP method, such as POST.
	Method string
	// Host is the host that the client meant to reach, with its port. If it is another machine, the
	// client took the model for a proxy, see [Model.Env], and the request was refused.
	Host string
	// Path is the path without the query, such as /v1/messages.
	Path string
	// RawQuery is the query without its question mark, such as beta=true.
	RawQuery string
	// Header holds the headers of the request, except Host.
	Header http.Header
	// Body is the body of the request, byte for byte. If it is a request for an answer or a token
	// count, the fields below are read from it. Otherwise they are zero.
	Body []byte

	// Model is the model that was asked for, such as claude-opus-4-1.
	Model string
	// MaxTokens is the most tokens that the answer may have.
	MaxTokens int
	// Stream reports whether the client wants the answer as a stream of events.
	Stream bool
	// System is the system prompt. It need not be all of it: Claude Code also puts instructions
	// into Messages, with the role "system".
	System wire.Content
	// Messages is the conversation so far, the oldest message first.
	Messages []RequestMessage
	// Tools are the tools that the model may use.
	Tools []RequestTool

	engine *simmodel.Request
}

// A RequestMessage is one message of the conversation that a [Request] carries.
type RequestMessage struct {
	// Role is "user", "assistant" or "system".
	Role wire.Role
	// Content holds the blocks of the message. A content that was sent as a string is one block of
	// text.
	Content wire.Content
}

// A RequestTool is a tool that a [Request] offers to the model.
type RequestTool struct {
	// Type is empty or "custom" for a tool that the client runs. Otherwise it names a tool of the
	// API, such as web_search_20250305.
	Type string `json:"type"`
	// Name is the name that the model calls the tool by, such as Bash.
	Name string `json:"name"`
	// Description describes the tool, for the model.
	Description string `json:"description"`
	// InputSchema is the JSON schema of the tool's input. It is empty for a tool of the API.
	InputSchema wire.JSON `json:"input_schema"`
}

// request returns the request of the engine with the type of this package.
func (m *Model) request(r *simmodel.Request) *Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.requests[r]; ok {
		return known
	}
	req := &Request{
		Method: r.Method, Host: r.Host, Path: r.Path, RawQuery: r.RawQuery, Header: r.Header, Body: r.Body,
		Model: r.Model, MaxTokens: r.MaxTokens, Stream: r.Stream, System: r.System, engine: r,
	}
	for _, msg := range r.Messages {
		req.Messages = append(req.Messages, RequestMessage(msg))
	}
	for _, tool := range r.Tools {
		req.Tools = append(req.Tools, RequestTool(tool))
	}
	m.requests[r] = req
	return req
}

// Turn returns the blocks of the newest user turn: the blocks of all user messages after the last
// answer.
func (r *Request) Turn() wire.Content { return r.engine.Turn() }

// Prompt returns the text of the newest user turn, its blocks joined by line breaks. It leaves out
// tool results, and text that Claude Code adds between system-reminder tags. It is "" for a turn
// that has nothing else.
func (r *Request) Prompt() string { return r.engine.Prompt() }

// ToolResults returns the tool results in the newest user turn.
func (r *Request) ToolResults() []*wire.ToolResultBlock { return r.engine.ToolResults() }

// Background reports whether the agent made the request on its own behalf, beside the conversation:
// for a title of the session, for a web search, or to check that a key or a model works. The model
// answers such a request "ok" and logs it, unless a [Model.When] rule matches it. It is recognized
// by its wording, as in Claude Code 2.1.326. Any other request, and any request of another client,
// belongs to the conversation.
func (r *Request) Background() bool { return r.engine.Background() }

// A Rule determines which requests it is for, how many of them, and the answer of the [Model]. Its
// methods return the rule itself, so that calls can be chained:
//
//	model.On("list the files").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "ls"})).Once()
//	model.On("list the files").Fail(529).Times(2)
//
// A rule matches nothing until it has an answer: one of Reply, Fail and Hang. The last of them
// counts. [Model.On], [Model.OnToolResult] and [Model.When] make rules.
type Rule struct {
	tb     testing.TB
	engine *simmodel.Rule
}

// set changes the answer of the rule.
func (r *Rule) set(change func(*simmodel.Answer)) *Rule {
	r.engine.Change(change)
	return r
}

// Reply answers with blocks, in order: blocks from [Text], [Thinking] and [ToolUse], or any other
// block of package wire. A tool use without an ID gets a new one each time the rule answers. A tool
// use whose input is not an object fails the test.
func (r *Rule) Reply(blocks ...wire.Block) *Rule {
	r.tb.Helper()
	for _, use := range wire.Content(blocks).ToolUses() {
		if !simmodel.IsObject(use.Input) {
			r.tb.Errorf("clewtest: the input of the tool %s must be an object, not %s", use.Name, use.Input)
		}
	}
	return r.set(func(a *simmodel.Answer) { a.Kind, a.Blocks = simmodel.AnswerReply, slices.Clone(blocks) })
}

// Fail answers with an HTTP status and the error body that the API sends with it: 400, 401, 403,
// 404, 413, 429, 500, 504 and 529 each have their own type of error. The agent repeats some
// requests that fail: limit the failures with [Rule.Times], or its retries with
// CLAUDE_CODE_MAX_RETRIES in its environment.
func (r *Rule) Fail(status int) *Rule {
	return r.set(func(a *simmodel.Answer) { a.Kind, a.Status = simmodel.AnswerFail, status })
}

// Hang accepts the request and never answers it. It waits until the client goes away or the test
// ends.
func (r *Rule) Hang() *Rule { return r.set(func(a *simmodel.Answer) { a.Kind = simmodel.AnswerHang }) }

// Once lets the rule answer one request. After that, the model continues to later rules.
func (r *Rule) Once() *Rule { return r.Times(1) }

// Times lets the rule answer n more requests. Without it, a rule answers any number.
func (r *Rule) Times(n int) *Rule {
	r.engine.Times(n)
	return r
}

// Usage sets the tokens that a reply reports: input, output, read from the cache and written to the
// cache. The defaults are 10, 5, 0 and 0.
func (r *Rule) Usage(input, output, cacheRead, cacheWrite int) *Rule {
	usage := simmodel.Usage{Input: input, Output: output, CacheRead: cacheRead, CacheWrite: cacheWrite}
	return r.set(func(a *simmodel.Answer) {
		usage.More = a.Usage.More
		a.Usage = usage
	})
}

// UsageMember sets one more member of the usage that a reply reports, such as "speed" or
// "cache_creation". The value is anything that marshals to JSON.
func (r *Rule) UsageMember(name string, value any) *Rule {
	return r.set(func(a *simmodel.Answer) {
		more := maps.Clone(a.Usage.More)
		if more == nil {
			more = make(map[string]any)
		}
		more[name] = value
		a.Usage.More = more
	})
}

// Stop sets the stop reason of a reply. The default is "tool_use" for a reply that uses a tool, and
// "end_turn" for any other.
func (r *Rule) Stop(reason wire.StopReason) *Rule {
	return r.set(func(a *simmodel.Answer) { a.Stop = reason })
}

// Model sets the name of the model that a reply claims to come from. The default is the model of
// the request.
func (r *Rule) Model(name string) *Rule { return r.set(func(a *simmodel.Answer) { a.Model = name }) }

// Delay waits before the first byte of the answer, whether it is a reply or a failure.
func (r *Rule) Delay(d time.Duration) *Rule { return r.set(func(a *simmodel.Answer) { a.Delay = d }) }

// Pace waits before each event of a streamed reply but the first.
func (r *Rule) Pace(d time.Duration) *Rule { return r.set(func(a *simmodel.Answer) { a.Pace = d }) }

// ChunkSize sets how many characters (runes) each delta of a streamed reply carries; 0 or less
// means all of a block at once. The default is 20.
func (r *Rule) ChunkSize(n int) *Rule { return r.set(func(a *simmodel.Answer) { a.Chunk = n }) }

// Before has f called before each event of a streamed reply, and before a cut of the stream, with
// the number of events that were sent. The stream waits for it: f must return when ctx ends, which
// it does with the request and with the model.
func (r *Rule) Before(f func(ctx context.Context, sent int)) *Rule {
	return r.set(func(a *simmodel.Answer) { a.Before = f })
}

// Cut cuts the connection in mid-reply: after so many events of a stream, which may be none, or
// after half of a plain answer. A client may drop events that came just before it: [Rule.Before] can
// wait until they were seen.
func (r *Rule) Cut(afterEvents int) *Rule {
	return r.set(func(a *simmodel.Answer) { a.Cut = max(afterEvents, 0) })
}

// Message sets the text of the error that [Rule.Fail] sends. The default is a usual one for the
// status.
func (r *Rule) Message(text string) *Rule {
	return r.set(func(a *simmodel.Answer) { a.Message = text })
}

// Header adds a header to the answer, such as a header about the account's limits.
func (r *Rule) Header(name, value string) *Rule {
	return r.set(func(a *simmodel.Answer) {
		a.Header = maps.Clone(a.Header)
		if a.Header == nil {
			a.Header = make(map[string]string)
		}
		a.Header[name] = value
	})
}

// RetryAfter sets the retry-after header of a failure, in whole seconds, rounded up. The default is
// one second for a 429 and no header for others.
func (r *Rule) RetryAfter(d time.Duration) *Rule {
	return r.set(func(a *simmodel.Answer) { a.RetryAfter = d })
}
