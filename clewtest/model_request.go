package clewtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/wire"
)

// A Request is one that a [Model] has received. It is not changed after it was recorded, and must not be.
type Request struct {
	Method string
	// Host is the host that the client meant to reach, with its port. Unless it is this machine, the model was taken
	// for a proxy, see [Model.Env], and refused.
	Host string
	// Path is the path alone; the query is in RawQuery.
	Path     string
	RawQuery string
	Header   http.Header
	// Body is what was sent, byte for byte. The fields below are read from it, where it is a request for an answer or
	// a token count, and otherwise zero.
	Body []byte

	Model     string
	MaxTokens int
	Stream    bool
	// System is the system prompt. Since Claude Code also puts instructions into Messages, with the role "system",
	// it need not be all of it.
	System   wire.Content
	Messages []RequestMessage
	Tools    []RequestTool

	background bool
	refused    bool
}

// A RequestMessage is one message of the conversation that a [Request] carries.
type RequestMessage struct {
	Role    wire.Role
	Content wire.Content
}

// A RequestTool is a tool that a [Request] offers to the model.
type RequestTool struct {
	// Type is empty for a tool that the client runs, or "custom", and otherwise names a tool of the API, such as
	// web_search_20250305.
	Type        string    `json:"type"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	InputSchema wire.JSON `json:"input_schema"`
}

// requestBody is the JSON of a request for an answer.
type requestBody struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	Stream       bool          `json:"stream"`
	System       wire.JSON     `json:"system"`
	Messages     []messageBody `json:"messages"`
	Tools        []RequestTool `json:"tools"`
	OutputConfig outputConfig  `json:"output_config"`
}

// messageBody is the JSON of a message of a conversation. Its content is a string or a list of blocks.
type messageBody struct {
	Role    wire.Role `json:"role"`
	Content wire.JSON `json:"content"`
}

// decodeContent is wire.DecodeContent, with nil for a content that is not there.
func decodeContent(raw wire.JSON) (wire.Content, error) {
	if raw == "" || raw == "null" {
		return nil, nil
	}
	return wire.DecodeContent(raw)
}

// decode fills the fields that are read from the body.
func (r *Request) decode() error {
	var body requestBody
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return err
	}
	r.Model, r.MaxTokens, r.Stream, r.Tools = body.Model, body.MaxTokens, body.Stream, body.Tools
	var err error
	if r.System, err = decodeContent(body.System); err != nil {
		return fmt.Errorf("system: %w", err)
	}
	for i, msg := range body.Messages {
		content, err := decodeContent(msg.Content)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		r.Messages = append(r.Messages, RequestMessage{msg.Role, content})
	}
	r.background = r.aside(&body)
	return nil
}

// fromConversation reports whether r asks for an answer in a conversation.
func fromConversation(r *Request) bool { return r.forAnswer() && !r.background }

// forAnswer reports whether r asks for an answer.
func (r *Request) forAnswer() bool {
	return !r.refused && r.Method == http.MethodPost && strings.TrimSuffix(r.Path, "/") == messagesPath
}

// Turn returns the blocks of the newest user turn: all that users said after the last answer.
func (r *Request) Turn() wire.Content {
	start := 0
	for i, msg := range r.Messages {
		if msg.Role == wire.RoleAssistant {
			start = i + 1
		}
	}
	var turn wire.Content
	for _, msg := range r.Messages[start:] {
		if msg.Role == wire.RoleUser {
			turn = append(turn, msg.Content...)
		}
	}
	return turn
}

// Prompt returns the text of the newest user turn, its blocks joined by line breaks. What Claude Code adds between
// system-reminder tags is left out, and so are the results of tools: it is "" for a turn that brings nothing else.
func (r *Request) Prompt() string {
	var texts []string
	for _, block := range r.Turn() {
		if text, ok := block.(*wire.TextBlock); ok {
			if said := withoutReminders(text.Text); strings.TrimSpace(said) != "" {
				texts = append(texts, said)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// ToolResults returns the results of tools that the newest user turn brings.
func (r *Request) ToolResults() []*wire.ToolResultBlock { return r.Turn().ToolResults() }

// withoutReminders returns text without what stands between the tags of a reminder. A tag that is not closed stays.
func withoutReminders(text string) string {
	const begin, end = "<system-reminder>", "</system-reminder>"
	var kept strings.Builder
	for {
		before, rest, found := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			kept.WriteString(text)
			return kept.String()
		}
		kept.WriteString(before)
		text = after
	}
}

// A Rule says which requests it is for, how often, and what the [Model] answers. Its methods return the rule itself,
// so that they chain:
//
//	model.On("list the files").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "ls"})).Once()
//	model.On("list the files").Fail(529).Times(2)
//
// A rule matches nothing until it has an answer: one of Reply, Fail and Hang. The last of them counts.
type Rule struct {
	model *Model
	match func(*Request) bool

	// The rest is guarded by model.mu.
	left   int // how often it may still answer; negative: always
	answer answer
}

// answer is what a rule does. It is copied when a request takes it, so that later changes do not reach that request.
type answer struct {
	kind       answerKind
	blocks     []wire.Block
	usage      tokens
	stop       wire.StopReason
	model      string
	delay      time.Duration
	pace       time.Duration
	chunk      int
	cut        int // events before the connection is cut; negative: never
	status     int
	message    string
	retryAfter time.Duration
}

type answerKind int

const (
	answerNothing answerKind = iota
	answerReply
	answerFail
	answerHang
)

// defaultUsage makes runs cost something, so that sums over them can be checked.
var defaultUsage = tokens{Input: 10, Output: 5}

func (m *Model) newRule(match func(*Request) bool) *Rule {
	return &Rule{model: m, match: match, left: -1, answer: answer{usage: defaultUsage, cut: -1, chunk: 20}}
}

func (m *Model) addRule(match func(*Request) bool) *Rule {
	rule := m.newRule(match)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = append(m.rules, rule)
	return rule
}

// set changes the rule under the lock of its model.
func (r *Rule) set(change func(*answer)) *Rule {
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	change(&r.answer)
	return r
}

// Reply answers with blocks, in order. Besides [Text], [Thinking] and [ToolUse] any block of package wire will do.
// A tool use without an ID gets a new one each time the rule answers; one whose input is not an object fails the test.
func (r *Rule) Reply(blocks ...wire.Block) *Rule {
	r.model.tb.Helper()
	for _, use := range wire.Content(blocks).ToolUses() {
		if !isObject(use.Input) {
			r.model.tb.Errorf("clewtest: the input of the tool %s must be an object, not %s", use.Name, use.Input)
		}
	}
	return r.set(func(a *answer) { a.kind, a.blocks = answerReply, slices.Clone(blocks) })
}

// Fail answers with an HTTP status and the error body that the API sends with it: 400, 401, 403, 404, 413, 429, 500,
// 504 and 529 each have their own type of error. The agent repeats some requests that fail: see [Rule.Times], and
// CLAUDE_CODE_MAX_RETRIES in its environment.
func (r *Rule) Fail(status int) *Rule {
	return r.set(func(a *answer) { a.kind, a.status = answerFail, status })
}

// Hang accepts the request and never answers: until the client goes away or the test ends.
func (r *Rule) Hang() *Rule { return r.set(func(a *answer) { a.kind = answerHang }) }

// Once lets the rule answer one request. After that, later rules are asked.
func (r *Rule) Once() *Rule { return r.Times(1) }

// Times lets the rule answer n requests more. Without it, a rule answers any number.
func (r *Rule) Times(n int) *Rule { return r.set(func(*answer) { r.left = max(n, 0) }) }

// Usage sets the tokens that a reply reports: input, output, read from the cache and written to the cache. Without it
// they are 10, 5, 0 and 0.
func (r *Rule) Usage(input, output, cacheRead, cacheWrite int) *Rule {
	usage := tokens{Input: input, Output: output, CacheRead: cacheRead, CacheWrite: cacheWrite}
	return r.set(func(a *answer) {
		usage.more = a.usage.more
		a.usage = usage
	})
}

// UsageMember sets one more member of the usage that a reply reports, such as "speed" or "cache_creation". The value is
// anything that marshals to JSON.
func (r *Rule) UsageMember(name string, value any) *Rule {
	return r.set(func(a *answer) {
		more := maps.Clone(a.usage.more)
		if more == nil {
			more = make(map[string]any)
		}
		more[name] = value
		a.usage.more = more
	})
}

// Stop sets the stop reason of a reply. Without it, it is "tool_use" for a reply that uses a tool, and "end_turn" for
// any other.
func (r *Rule) Stop(reason wire.StopReason) *Rule { return r.set(func(a *answer) { a.stop = reason }) }

// Model sets the name of the model that a reply claims to come from. Without it, it is the one that was asked for.
func (r *Rule) Model(name string) *Rule { return r.set(func(a *answer) { a.model = name }) }

// Delay waits before the first byte of the answer, be it a reply or a failure.
func (r *Rule) Delay(d time.Duration) *Rule { return r.set(func(a *answer) { a.delay = d }) }

// Pace waits before each event of a streamed reply but the first.
func (r *Rule) Pace(d time.Duration) *Rule { return r.set(func(a *answer) { a.pace = d }) }

// ChunkSize sets how many characters (runes) each delta of a streamed reply carries; 0 or less means all of a block
// at once. Without it, it is 20.
func (r *Rule) ChunkSize(n int) *Rule { return r.set(func(a *answer) { a.chunk = n }) }

// Cut cuts the connection in mid-reply: after so many events of a stream, which may be none, or after half of a
// plain answer. A client may drop events that came just before: [Rule.Pace] also passes between the last one and the
// cut.
func (r *Rule) Cut(afterEvents int) *Rule {
	return r.set(func(a *answer) { a.cut = max(afterEvents, 0) })
}

// Message sets the text of the error that [Rule.Fail] sends.
func (r *Rule) Message(text string) *Rule { return r.set(func(a *answer) { a.message = text }) }

// RetryAfter sets the retry-after header of a failure, in whole seconds, rounded up. Without it, a 429 has one of a
// second and the others have none.
func (r *Rule) RetryAfter(d time.Duration) *Rule { return r.set(func(a *answer) { a.retryAfter = d }) }

// errNoRule says that no rule matches a request.
var errNoRule = errors.New("the scripted model has no rule for this request")

// take returns the answer of the first rule that matches, and uses the rule up by one. The error is errNoRule, or that
// of a function of a rule. These run outside of the lock: they are the caller's, and may ask the model for something.
func (m *Model) take(req *Request) (answer, error) {
	m.mu.Lock()
	rules := slices.Clone(m.rules)
	if m.fallback != nil {
		rules = append(rules, m.fallback)
	}
	m.mu.Unlock()
	for _, rule := range rules {
		if !rule.open() {
			continue
		}
		matched, err := rule.ask(req)
		if err != nil {
			return answer{}, err
		}
		if !matched {
			continue
		}
		if a, ok := rule.claim(); ok {
			return a, nil
		}
	}
	return answer{}, errNoRule
}

// ask calls the rule's function. A panic in it is an error: the server would hide it from the test.
func (r *Rule) ask(req *Request) (matched bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a rule panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return r.match(req), nil
}

// open reports whether the rule has an answer left.
func (r *Rule) open() bool {
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	return r.left != 0 && r.answer.kind != answerNothing
}

// claim takes one answer, unless another request took the last one since open.
func (r *Rule) claim() (answer, bool) {
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	if r.left == 0 {
		return answer{}, false
	}
	if r.left > 0 {
		r.left--
	}
	return r.answer, true
}
