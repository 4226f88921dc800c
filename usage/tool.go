package usage

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
)

// A ToolCall is a tool call, with its result as far as the transcripts have it.
type ToolCall struct {
	// ID is the ID of the call, such as "toolu_01A…".
	ID string
	// Name is the name of the tool, such as "Bash" or "mcp__github__list_issues". It is "" if no
	// transcript has the call itself.
	Name string
	// Model is the model that called the tool, such as "claude-opus-5-5", or "" if it is not known.
	Model string
	// Time is the time of the line with the call, or the zero time if it has none.
	Time time.Time
	// InputTokens is about how many tokens the model wrote for the call, by the length of its input.
	InputTokens int
	// ResultTokens is about how many tokens the result added to the context, by its length. It is 0
	// for a call without a result.
	ResultTokens int
	// Failed reports whether the result is marked as an error. A call that the user denied failed
	// as well.
	Failed bool
}

// MCP returns the server and the tool of a call of an MCP tool. It returns false for other tools.
func (c *ToolCall) MCP() (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(c.Name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, _ = strings.Cut(rest, "__")
	return server, tool, true
}

// EstimatedCost estimates the cost that a call added to its conversation: the model's output for
// it, at the price of output, and its result, once, at the price of writing to the cache, as the
// agent does. Later answers read the result again from the cache, which is not included, and
// neither are the answers of a subagent that the call started. The API reports costs of answers,
// not of calls, so that this can't be exact. It returns false if the price of the model is not
// known.
func (p Prices) EstimatedCost(c *ToolCall) (Money, bool) {
	price, ok := p.Lookup(c.Model)
	if !ok {
		return 0, c.InputTokens == 0 && c.ResultTokens == 0
	}
	return price.of(&Usage{OutputTokens: c.InputTokens, CacheCreationTokens: c.ResultTokens}, 0), true
}

// A ToolTally counts each tool call once, however often it was written down. Its content does not
// depend on the order of the lines. The zero value is ready. It is for one goroutine at a time.
type ToolTally struct {
	calls map[string]*ToolCall
	lexer jsonlex.Lexer
}

// AddLine takes note of the calls and results in a line of a transcript. Lines without any, and
// lines that are not entries, change nothing.
func (t *ToolTally) AddLine(line []byte) {
	message := jsonlex.Lookup(line, 0, entrylex.KeyMessage)
	content := jsonlex.Lookup(message, 0, "content")
	if len(content) == 0 || content[0] != '[' {
		return
	}
	var at time.Time
	model := ""
	t.lexer.Reset(content)
	for ok := t.lexer.FirstElem(); ok; ok = t.lexer.NextElem() {
		block := t.lexer.Skip()
		kind := textOf(block, "type")
		switch {
		case strings.HasSuffix(kind, "tool_use"):
			if at.IsZero() {
				at, _ = time.Parse(time.RFC3339, textOf(line, entrylex.KeyTimestamp))
				model = textOf(message, "model")
			}
			t.add(ToolCall{
				ID: textOf(block, "id"), Name: textOf(block, "name"), Model: model, Time: at,
				InputTokens: entrylex.EstimateTokens(jsonlex.Lookup(block, 0, "input")),
			})
		case strings.HasSuffix(kind, "tool_result"):
			t.add(ToolCall{
				ID: textOf(block, "tool_use_id"), Failed: string(jsonlex.Lookup(block, 0, "is_error")) == "true",
				ResultTokens: entrylex.EstimateTokens(jsonlex.Lookup(block, 0, "content")),
			})
		}
	}
	t.lexer.Reset(nil)
}

func textOf(object []byte, name string) string {
	text, _ := jsonlex.Unquote(jsonlex.Lookup(object, 0, name))
	return string(text)
}

// add merges what is known of a call. Nothing can be said about a call without an ID.
func (t *ToolTally) add(c ToolCall) {
	if c.ID == "" {
		return
	}
	known := t.calls[c.ID]
	if known == nil {
		if t.calls == nil {
			t.calls = map[string]*ToolCall{}
		}
		t.calls[c.ID] = &c
		return
	}
	if known.Time.IsZero() || !c.Time.IsZero() && c.Time.Before(known.Time) {
		known.Time = c.Time
	}
	known.Name, known.Model = max(known.Name, c.Name), max(known.Model, c.Model)
	known.InputTokens = max(known.InputTokens, c.InputTokens)
	known.ResultTokens = max(known.ResultTokens, c.ResultTokens)
	known.Failed = known.Failed || c.Failed
}

// Merge adds all that o has. It leaves o as it is.
func (t *ToolTally) Merge(o *ToolTally) {
	for _, c := range o.calls {
		t.add(*c)
	}
}

// Calls returns each call once, by time, then by ID. Results whose calls are in no transcript are
// left out. The list is new at each call.
func (t *ToolTally) Calls() []ToolCall {
	var calls []ToolCall
	for _, c := range t.calls {
		if c.Name != "" {
			calls = append(calls, *c)
		}
	}
	slices.SortFunc(calls, func(a, b ToolCall) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID)) })
	return calls
}
