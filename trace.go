package clew

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// A Trace observes what happens in sessions, for spans, metrics and logs: see [Options.Trace]. It
// changes nothing, except that Start may add variables and Asked may add values to a context. Fields
// that are nil are skipped. Package clewotel makes OpenTelemetry's spans and metrics from it.
//
// The functions are called for every way to run an agent: [Query], [Run], [Connect], a [Pool], any
// [Transport], and the agents of [Options.Reconnect].
//
// A function must return at once, since the session waits for it, and must not call methods of the
// session, which may wait for the function. If it panics, the session logs that to [Options.Logger]
// and continues. Everything that a function gets belongs to others: don't change it.
//
// Start comes first and End last, each once for a session; only a prompt that comes too late and a
// callback that returns too late are reported after End. The calls of Message and End never overlap
// for one session. All others come from other goroutines, at least sometimes, and may overlap with
// them. A Trace that is used by several sessions has to expect calls for all of them at once, unless
// its Start returns another one for each.
type Trace struct {
	// Start is called when valid options are about to start an agent, in the goroutine of [Connect]
	// or Query. Its context is theirs; for an agent of a Pool it has the values of the context of
	// [NewPool]. The options are the session's own copy: variables that Start appends to their Env
	// are set for every agent of the session, and nothing else of them may be changed. If Start
	// returns a Trace, that one gets the other calls for this session. Nil means this one.
	Start func(ctx context.Context, opts *Options) *Trace
	// Prompt is called before a prompt is sent that the agent has to answer, in the goroutine that
	// sends it. Its context is the context of [Session.Turn], [Session.Send] or Query. The UUID of
	// the prompt is set. Calls don't overlap, and they come in the order in which the agent gets
	// the prompts.
	Prompt func(ctx context.Context, prompt *wire.UserMessage)
	// Message is called with each message for the caller when it is read from the agent, which is
	// before the caller sees it, even if the caller never does. The context has the values of
	// Start's context, and does not end.
	Message func(ctx context.Context, msg wire.Message)
	// Settled is called when a prompt is done, after the Message with its result. The error is the
	// error of its turn: nil if the agent answered it, a [*ResultError] if its result is a failure,
	// a [*LostError] if it was lost with its agent, [ErrCanceled], or why it was not sent. A prompt
	// that is unanswered when the session ends is not settled. The context is like Message's.
	Settled func(ctx context.Context, promptID string, err error)
	// Asked is called before a request of the agent is answered, in the goroutine of its callback:
	// a permission, a question, a hook, a message for an in-process MCP server. The callback gets
	// the context that it returns, which must be derived from its argument, and so does a tool of
	// package tools. Nil means its argument.
	Asked func(ctx context.Context, req *TraceRequest) context.Context
	// Answered is called with the answer to such a request, or with the error that the agent gets
	// instead, in the same goroutine. The context is the callback's, and may have ended: then the
	// agent withdrew the request, or is gone.
	Answered func(ctx context.Context, req *TraceRequest, answer wire.JSON, err error)
	// End is called when the session is over and its last agent is gone, before [Session.Close]
	// returns, or when no agent could be started. The error is nil if the session was closed or the
	// agent exited normally, and otherwise what [Session.Messages] or Connect return. The context
	// is like Message's.
	End func(ctx context.Context, err error)
}

// A TraceRequest is a request of the agent.
type TraceRequest struct {
	// ID is the ID of the request.
	ID string
	// Subtype is its kind, such as "can_use_tool", "hook_callback" or "mcp_message".
	Subtype string
	// ToolUseID is the ID of the tool call that it is about, or empty.
	ToolUseID string
	// ToolName is the tool that a permission is about, or the name that a tool has at its MCP
	// server, or empty.
	ToolName string
	// Method is the method of a message for an MCP server, such as "tools/call", or the event of a
	// hook, such as "PreToolUse".
	Method string
}

// newTraceRequest returns a request as a trace sees it. Members that are missing or do not fit stay
// empty.
func newTraceRequest(req *wire.ControlRequestMessage) *TraceRequest {
	var body struct {
		ToolName  string `json:"tool_name"`
		ToolUseID string `json:"tool_use_id"`
		Input     struct {
			Event string `json:"hook_event_name"`
		} `json:"input"`
		Message struct {
			Method string `json:"method"`
			Params struct {
				Name string `json:"name"`
				Meta struct {
					ToolUseID string `json:"claudecode/toolUseId"`
				} `json:"_meta"`
			} `json:"params"`
		} `json:"message"`
	}
	_ = wire.JSON(req.Request.Raw()).Decode(&body) // the callback reports what is wrong with it
	out := &TraceRequest{
		ID: req.RequestID, Subtype: req.Request.Subtype, ToolUseID: body.ToolUseID, ToolName: body.ToolName,
	}
	switch out.Subtype {
	case "hook_callback":
		out.Method = body.Input.Event
	case "mcp_message":
		call := &body.Message
		out.Method, out.ToolName, out.ToolUseID = call.Method, call.Params.Name, call.Params.Meta.ToolUseID
	}
	return out
}

// A tracer calls the functions of a [Trace] for one session. A nil tracer does nothing.
type tracer struct {
	to  Trace
	ctx context.Context //nolint:containedctx // it has the values of Connect's for the life of the session
	log *slog.Logger

	mu      sync.Mutex
	ended   bool
	failure error // why Connect has failed
}

// startTrace starts the trace of a session, which may add variables to the options. It returns nil
// if there is none.
func (o *Options) startTrace(ctx context.Context) (t *tracer) {
	if o.Trace == nil {
		return nil
	}
	t = &tracer{to: *o.Trace, ctx: context.WithoutCancel(ctx), log: o.logger()}
	if t.to.Start == nil {
		return t
	}
	defer t.recover("Start")
	if to := t.to.Start(ctx, o); to != nil {
		t.to = *to
	}
	return t
}

// recover logs a panic in a function of the trace. It is deferred.
func (t *tracer) recover(name string) {
	if p := recover(); p != nil {
		t.log.Error("clew: panic in Trace."+name+": "+redact.Mask(fmt.Sprint(p)), "stack", string(debug.Stack()))
	}
}

// prompt reports a prompt that is about to be sent with this ID.
func (t *tracer) prompt(ctx context.Context, prompt *wire.UserMessage, id string) {
	if t == nil || t.to.Prompt == nil {
		return
	}
	defer t.recover("Prompt")
	sent := *prompt
	sent.UUID = id
	t.to.Prompt(ctx, &sent)
}

func (t *tracer) message(msg wire.Message) {
	if t == nil || t.to.Message == nil {
		return
	}
	if own, ok := msg.(*wire.CommandLifecycleMessage); ok && isOwnReport(own) {
		return
	}
	defer t.recover("Message")
	t.to.Message(t.ctx, msg)
}

// settled reports that prompts are done, all with the same error.
func (t *tracer) settled(err error, ids ...string) {
	if t == nil || t.to.Settled == nil {
		return
	}
	for _, id := range ids {
		t.settledOne(id, err)
	}
}

// settledOne reports one prompt. A panic costs the others nothing.
func (t *tracer) settledOne(id string, err error) {
	defer t.recover("Settled")
	t.to.Settled(t.ctx, id, err)
}

// asked reports a request of the agent, and returns the context of its callback. The request is nil
// if nobody wants to know of it.
func (t *tracer) asked(ctx context.Context, msg *wire.ControlRequestMessage) (within context.Context, req *TraceRequest) {
	if t == nil || t.to.Asked == nil && t.to.Answered == nil {
		return ctx, nil
	}
	within, req = ctx, newTraceRequest(msg)
	if t.to.Asked == nil {
		return within, req
	}
	defer t.recover("Asked")
	if changed := t.to.Asked(ctx, req); changed != nil {
		within = changed
	}
	return within, req
}

// answered reports the answer to a request, which may be nil.
func (t *tracer) answered(ctx context.Context, req *TraceRequest, answer wire.JSON, err error) {
	if req == nil || t.to.Answered == nil {
		return
	}
	defer t.recover("Answered")
	t.to.Answered(ctx, req, answer, err)
}

// fail keeps why Connect failed, for a session that ends because of that.
func (t *tracer) fail(err error) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failure = err
}

// end reports the end of the session, once.
func (t *tracer) end(err error) {
	if t == nil || !t.markEnded(&err) || t.to.End == nil {
		return
	}
	defer t.recover("End")
	t.to.End(t.ctx, err)
}

// markEnded reports whether this is the first end, and replaces err if there is a better one.
func (t *tracer) markEnded(err *error) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, t.ended = !t.ended, true
	if t.failure != nil {
		*err = t.failure
	}
	return first
}
