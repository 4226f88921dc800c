package clewtest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/clewdev/clew/internal/simmodel"
	"github.com/clewdev/clew/wire"
)

// A Model is a scripted model: an HTTP server on the loopback interface that speaks the Messages
// API as Claude Code uses it, and answers from rules. It needs no key and no network, and it ends
// with its test.
//
// The model tries its rules in the order in which they were made, and the first match that is not
// used up answers. A request that no rule matches fails the test, and so does an unreadable one;
// see [Model.Reply] for an answer to everything. Make a rule before the request that it is for. All
// methods may be called from several goroutines.
type Model struct {
	tb     testing.TB
	engine *simmodel.Model

	mu       sync.Mutex
	requests map[*simmodel.Request]*Request // one for each request of the engine, so that pointers can be compared
}

// NewModel starts a model on a free port of 127.0.0.1. It has no rules yet. When the test ends, its
// connections are cut, even for requests that still wait for an answer, and its directories are
// removed: end the programs that use them first.
func NewModel(tb testing.TB) *Model {
	tb.Helper()
	engine, err := simmodel.Start(tb.Context(), tb.TempDir(), reporter{tb})
	if err != nil {
		tb.Fatalf("clewtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := engine.Close(); err != nil {
			tb.Errorf("clewtest: %v", err)
		}
	})
	return &Model{tb: tb, engine: engine, requests: map[*simmodel.Request]*Request{}}
}

// A reporter reports to a test what a model finds wrong.
type reporter struct{ tb testing.TB }

// Errorf fails the test.
func (r reporter) Errorf(format string, args ...any) { r.tb.Errorf("clewtest: "+format, args...) }

// Logf logs to the test.
func (r reporter) Logf(format string, args ...any) { r.tb.Logf("clewtest: "+format, args...) }

// URL returns the address of the model, such as http://127.0.0.1:40123, for ANTHROPIC_BASE_URL; see
// [Model.Env].
func (m *Model) URL() string { return m.engine.URL() }

// Reply sets the answer to every request of the conversation that no rule matches. It returns m, so
// that NewModel(t).Reply("hi") is a model that always says hi. A later call replaces the answer.
func (m *Model) Reply(text string) *Model {
	m.engine.SetFallback(simmodel.NewAnswer(simmodel.AnswerReply, Text(text)))
	return m
}

// On adds a rule for requests whose newest prompt contains words, letter by letter; see
// [Request.Prompt] for the definition of a prompt. Empty words match every request of the
// conversation. Background requests never match; see [Request.Background].
func (m *Model) On(words string) *Rule { return m.addRule(simmodel.PromptContains(words)) }

// OnToolResult adds a rule for requests whose newest turn has a tool result that contains words,
// letter by letter. Empty words match every result.
func (m *Model) OnToolResult(words string) *Rule {
	return m.addRule(simmodel.ToolResultContains(words))
}

// When adds a rule for requests for which match returns true. The model calls match for every
// request for an answer, including background requests of the agent, and possibly from several
// goroutines at once. It must not change the request. A panic in it fails the test.
func (m *Model) When(match func(*Request) bool) *Rule {
	return m.addRule(func(r *simmodel.Request) bool { return match(m.request(r)) })
}

// addRule adds a rule that has no answer yet.
func (m *Model) addRule(match func(*simmodel.Request) bool) *Rule {
	return &Rule{m.tb, m.engine.Add(match, simmodel.NewAnswer(simmodel.AnswerNothing))}
}

// Requests returns the requests for an answer so far, in the order of their arrival. Background
// requests are left out, because their number depends on the agent's version and settings;
// [Model.AllRequests] has them.
func (m *Model) Requests() []*Request {
	var list []*Request
	for _, r := range m.engine.Requests() {
		if r.FromConversation() {
			list = append(list, m.request(r))
		}
	}
	return list
}

// AllRequests returns every request so far: for answers, in the background, for token counts, for
// anything else, and requests that were refused because they were meant for another machine.
func (m *Model) AllRequests() []*Request {
	var list []*Request
	for _, r := range m.engine.Requests() {
		list = append(list, m.request(r))
	}
	return list
}

// WaitRequest waits until [Model.Requests] has n requests and returns the nth, counted from 1. It
// blocks until then. If ctx or the test ends first, it returns an error.
func (m *Model) WaitRequest(ctx context.Context, n int) (*Request, error) {
	r, err := m.engine.WaitRequest(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("clewtest: %w", err)
	}
	return m.request(r), nil
}

// Text returns a block of text, for [Rule.Reply].
func Text(text string) *wire.TextBlock { return &wire.TextBlock{Text: text} }

// Thinking returns a block of reasoning with its signature, for [Rule.Reply]. The agent sends both
// back unchanged; the signature may be any text.
func Thinking(text, signature string) *wire.ThinkingBlock {
	return &wire.ThinkingBlock{Thinking: text, Signature: signature}
}

// ToolUse returns a tool call, for [Rule.Reply]. The input is anything that marshals to a JSON
// object, such as a map or a struct; nil, also a nil map, is an empty object. ToolUse panics if the
// input does not marshal, and [Rule.Reply] fails the test if it is not an object. Each reply gives
// the call a new ID.
func ToolUse(name string, input any) *wire.ToolUseBlock { return simmodel.ToolUse(name, input) }

// Env returns the whole environment for a program that drives Claude Code, or for Claude Code
// itself, over this model. Use it as [os/exec.Cmd.Env]; a variable appended to it replaces an
// earlier one of the same name.
//
// Nothing of the caller's own settings, credentials or home is in it: of the caller's variables
// there is only PATH, and on Windows variables that programs cannot start without. HOME,
// CLAUDE_CONFIG_DIR and the directory for temporary files are below [testing.TB.TempDir]. Two
// things are out of its reach. The agent reads CLAUDE.md and .claude in its working directory and
// in all directories above it, so set [os/exec.Cmd.Dir] to a directory such as
// [testing.TB.TempDir]. And it obeys the settings that an administrator made for the whole machine,
// such as /etc/claude-code/managed-settings.json on Linux.
//
// Updates and telemetry are off. The proxy variables send every connection to another machine to
// the model, which refuses it: programs that respect these variables reach no network.
func (m *Model) Env() []string { return m.engine.Env() }

// Home returns the HOME directory of [Model.Env]. It is removed when the test ends.
func (m *Model) Home() string { return m.engine.Home() }

// ConfigDir returns the CLAUDE_CONFIG_DIR directory of [Model.Env]: it holds the agent's settings,
// and in its subdirectory projects the transcripts. It is removed when the test ends.
func (m *Model) ConfigDir() string { return m.engine.ConfigDir() }
