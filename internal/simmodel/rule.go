package simmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/wire"
)

// A Rule holds the [Model]'s answer to the requests that it matches, and limits how many it
// answers.
type Rule struct {
	model *Model
	match func(*Request) bool

	// The rest is guarded by model.mu.
	left   int // how many requests it may still answer; negative: any number
	answer Answer
}

// An Answer is a rule's reaction to a request. A request takes a copy of it, so that later changes
// do not reach that request.
type Answer struct {
	Kind   AnswerKind
	Blocks []wire.Block
	Usage  Usage
	Stop   wire.StopReason // "" is the usual one for the blocks
	Model  string          // "" is the model that was asked for

	Delay time.Duration // before the first byte
	Pace  time.Duration // before each event of a stream but the first
	Chunk int           // runes in each delta of a stream; 0 or less is all of a block at once
	Cut   int           // events before the connection is cut; negative: never
	// Before, if not nil, is called before each event of a stream and before the cut, with the number of events sent.
	Before func(ctx context.Context, sent int)

	Header map[string]string // that the answer has besides

	// The rest is for failures.
	Status     int
	Message    string        // "" is the usual one for the status
	RetryAfter time.Duration // 0 is a second for a 429 and nothing for others
}

// An AnswerKind is a kind of [Answer].
type AnswerKind int

// The kinds of answers. A rule with the first one matches nothing.
const (
	AnswerNothing AnswerKind = iota
	AnswerReply
	AnswerFail
	AnswerHang
)

// NewAnswer returns an answer of a kind with the defaults. Its usage makes runs cost something, so
// that sums over them can be checked.
func NewAnswer(kind AnswerKind, blocks ...wire.Block) Answer {
	return Answer{Kind: kind, Blocks: slices.Clone(blocks), Usage: Usage{Input: 10, Output: 5}, Cut: -1, Chunk: 20}
}

// Add adds a rule for the requests for which match returns true. It answers any number of them. The
// model calls match from several goroutines, and match must not change the request.
func (m *Model) Add(match func(*Request) bool, a Answer) *Rule {
	rule := &Rule{model: m, match: match, left: -1, answer: a}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = append(m.rules, rule)
	return rule
}

// SetFallback sets the answer to every request of the conversation that no rule matches.
func (m *Model) SetFallback(a Answer) {
	rule := &Rule{model: m, match: (*Request).FromConversation, left: -1, answer: a}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fallback = rule
}

// Change changes the answer under the lock of the model.
func (r *Rule) Change(change func(*Answer)) {
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	change(&r.answer)
}

// Times lets the rule answer n more requests.
func (r *Rule) Times(n int) {
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	r.left = max(n, 0)
}

// PromptContains matches requests of the conversation whose newest prompt contains words.
func PromptContains(words string) func(*Request) bool {
	return func(r *Request) bool { return r.FromConversation() && strings.Contains(r.Prompt(), words) }
}

// ToolResultContains matches requests of the conversation whose newest turn has a tool result that
// contains words.
func ToolResultContains(words string) func(*Request) bool {
	return func(r *Request) bool {
		for _, result := range r.ToolResults() {
			if strings.Contains(result.Text(), words) {
				return r.FromConversation()
			}
		}
		return false
	}
}

// errNoRule reports that no rule matches a request.
var errNoRule = errors.New("the scripted model has no rule for this request")

// take returns the answer of the first rule that matches, and counts it against the rule's limit.
// The error is errNoRule, or comes from a match function. The lock is not held while these run:
// they may call the model.
func (m *Model) take(req *Request) (Answer, error) {
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
			return Answer{}, err
		}
		if !matched {
			continue
		}
		if a, ok := rule.claim(); ok {
			return a, nil
		}
	}
	return Answer{}, errNoRule
}

// ask calls the rule's match function. A panic in it becomes an error, because the server would
// hide the panic.
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
	return r.left != 0 && r.answer.Kind != AnswerNothing
}

// claim takes one answer, unless another request took the last one since open.
func (r *Rule) claim() (Answer, bool) {
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	if r.left == 0 {
		return Answer{}, false
	}
	if r.left > 0 {
		r.left--
	}
	return r.answer, true
}

// ToolUse returns a tool call. The input is anything that marshals to a JSON object, and nil is an
// empty one. ToolUse panics if the input does not marshal.
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

// IsObject reports whether input can be a tool input. It may be empty: blocks that others
// made may have none.
func IsObject(input wire.JSON) bool {
	var members map[string]json.RawMessage
	return input == "" || json.Unmarshal([]byte(input), &members) == nil && members != nil
}

// withID returns block, or a copy with a new ID if it is a tool use without one. The blocks of a
// rule stay unchanged: it may answer again, and two calls of one conversation must not share an ID.
func (m *Model) withID(block wire.Block) wire.Block {
	use, ok := block.(*wire.ToolUseBlock)
	if !ok || use.ID != "" {
		return block
	}
	named := *use
	named.ID = m.nextID("toolu")
	return &named
}
