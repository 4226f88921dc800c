package clewotel

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// noSpan is the span of anything that is not recorded. Within an agent whose span is not recorded,
// nothing is.
var noSpan = trace.SpanFromContext(context.Background())

// maxName is the length of the longest name of a tool or subagent. The model makes them up.
const maxName = 128

// An agent is a turn of the session's own agent, or a subagent.
type agent struct {
	span       trace.Span
	ctx        context.Context //nolint:containedctx // it has the span
	name       string
	prompt     string // the ID of the prompt of a turn, empty for others
	recorded   bool   // an ended span does not say so
	watched    bool   // it is recorded or measured
	isTurn     bool
	background bool
	ended      bool

	began time.Time
	last  time.Time // when it last had everything to ask the model
	chat  *chat     // the newest answer, or nil

	chats, calls int
	cost         float64
}

// A call is a tool call.
type call struct {
	id    string
	name  string
	agent *agent
	span  trace.Span
	ctx   context.Context //nolint:containedctx // it has the span
	began time.Time
}

// newAgent starts a turn or a subagent whose parent is the span in ctx.
func (s *session) newAgent(ctx context.Context, tracer trace.Tracer, name string, options ...trace.SpanStartOption) *agent {
	a := &agent{name: name, began: time.Now()}
	a.last = a.began
	attrs := s.common(opInvoke, keyAgentName.String(name))
	if s.model != "" {
		attrs = append(attrs, keyRequestModel.String(s.model))
	}
	options = append(options, trace.WithAttributes(attrs...), trace.WithTimestamp(a.began))
	a.ctx, a.span = tracer.Start(context.WithoutCancel(ctx), opInvoke+" "+name, options...)
	a.recorded = a.span.IsRecording()
	if a.watched = a.recorded || s.telemetry.agents.Enabled(ctx); a.watched {
		s.watched++
	}
	return a
}

// endAgent ends a turn or a subagent and its calls, unless it ended.
func (s *session) endAgent(a *agent, failure string) {
	if a.ended {
		return
	}
	a.ended = true
	if a.watched {
		s.watched--
	}
	s.endCalls(a, cmp.Or(failure, errorInterrupted))
	if s.id != "" {
		a.span.SetAttributes(keyConversation.String(s.id)) // it may not have been known at the start
	}
	if a.cost > 0 {
		a.span.SetAttributes(keyCost.Float64(a.cost))
		s.telemetry.cost.Add(a.ctx, a.cost, metric.WithAttributes(keyProvider.String(s.provider), keyAgentName.String(a.name)))
	}
	setFailure(a.span, failure)
	now := time.Now()
	a.span.End(trace.WithTimestamp(now))
	attrs := []attribute.KeyValue{keyOperation.String(opInvoke), keyProvider.String(s.provider), keyAgentName.String(a.name)}
	recordDuration(a.ctx, s.telemetry.agents, now.Sub(a.began), failure, attrs...)
	set := metric.WithAttributes(attrs...)
	s.inferenceCalls.Record(a.ctx, int64(a.chats), set)
	s.toolCalls.Record(a.ctx, int64(a.calls), set)
}

// endCalls ends the calls of an agent that have no result, and their subagents, and calls that came
// after the end of their agent.
func (s *session) endCalls(a *agent, failure string) {
	for _, c := range s.tools {
		if c.agent == a || c.agent.ended {
			s.endCall(c, failure)
			s.endSubagent(c.id, failure)
		}
	}
}

// endSubagent ends the subagent of a call unless it runs in the background.
func (s *session) endSubagent(callID, failure string) {
	if sub := s.agents[callID]; sub != nil && !sub.background {
		s.endAgent(sub, failure)
	}
}

// dropEnded forgets subagents that ended, except subagents whose call has no result.
func (s *session) dropEnded() {
	for id, a := range s.agents {
		if a.ended && s.tools[id] == nil {
			delete(s.agents, id)
		}
	}
	for id, a := range s.tasks {
		if a.ended {
			delete(s.tasks, id)
		}
	}
}

// agentOf returns the agent that a message belongs to. parent is the call that started it, or empty
// for the session's own agent, kind its kind, and named the prompt that the message answers.
func (s *session) agentOf(parent, kind, named string) *agent {
	if parent == "" {
		return s.turnOf(named)
	}
	if a := s.agents[parent]; a != nil {
		return a
	}
	ctx := s.ctx
	switch c := s.tools[parent]; {
	case c != nil:
		ctx = c.ctx
	case s.current != nil: // its call is not known
		ctx = s.current.ctx
	}
	a := s.newAgent(ctx, s.inner, cmp.Or(prefix(kind, maxName), "subagent"))
	s.agents[parent] = a
	return a
}

func (s *session) taskStarted(m *wire.TaskStartedMessage) {
	if m.ToolUseID == "" || m.SubagentType == "" && m.TaskType != wire.TaskTypeLocalAgent && m.TaskType != wire.TaskTypeRemoteAgent {
		return
	}
	if old := s.agents[m.ToolUseID]; old != nil && old.ended { // it is resumed
		delete(s.agents, m.ToolUseID)
	}
	a := s.agentOf(m.ToolUseID, m.SubagentType, "")
	a.span.SetAttributes(keyAgentID.String(m.TaskID))
	s.tasks[m.TaskID] = a
	s.setBackground(a, m.Backgrounded)
}

func (s *session) setBackground(a *agent, background bool) {
	if background {
		a.background = true
		a.span.SetAttributes(keyBackground.Bool(true))
	}
}

func (s *session) taskUpdated(m *wire.TaskUpdatedMessage) {
	a := s.tasks[m.TaskID]
	if a == nil {
		return
	}
	if m.Patch.Backgrounded != nil {
		s.setBackground(a, *m.Patch.Backgrounded)
	}
	s.taskEnded(a, m.Patch.Status)
}

// taskEnded ends a subagent, which may be nil, if its task is over.
func (s *session) taskEnded(a *agent, status wire.TaskStatus) {
	switch {
	case a == nil || !status.Terminal():
	case status == wire.TaskStatusCompleted:
		s.endAgent(a, "")
	case status == wire.TaskStatusFailed:
		s.endAgent(a, errorTask)
	default:
		s.endAgent(a, errorInterrupted)
	}
}

func (s *session) assistant(m *wire.AssistantMessage) {
	a := s.agentOf(m.ParentToolUseID, m.SubagentType, m.UserMessageUUID)
	now := time.Now()
	switch {
	case m.Error != "" || m.APIErrorMessage:
		c := s.chatOf(a, m.ID, s.model)
		c.failure = cmp.Or(m.APIErrorType, string(m.Error), errorOther)
		c.last = now
		return
	case m.Model == "<synthetic>" || m.LocalCommandRun != nil:
		return // the agent itself speaks
	}
	c := s.chatOf(a, m.ID, m.Model)
	c.see(m.Usage, m.StopReason)
	c.last = now
	c.length += contentLength(m.Content)
	if m.Aborted {
		c.failure = errorInterrupted
	}
	if s.Content == Texts {
		c.parts = append(c.parts, s.parts(m.Content)...)
	}
	for _, block := range m.Content {
		if use, ok := block.(*wire.ToolUseBlock); ok {
			s.beginCall(a, use, now)
		}
	}
}

func (s *session) streamEvent(m *wire.StreamEventMessage) {
	named := ""
	if m.Details != nil {
		named = m.Details.UserMessageUUID
	}
	a := s.agentOf(m.ParentToolUseID, "", named)
	switch event := m.Event.(type) {
	case *wire.MessageStartEvent:
		if event.Message != nil {
			c := s.chatOf(a, event.Message.ID, event.Message.Model)
			c.see(event.Message.Usage, "")
			c.last = time.Now()
		}
	case *wire.MessageDeltaEvent:
		c := a.chat
		if c == nil || m.APIMessageID != "" && m.APIMessageID != c.id {
			return
		}
		c.last = time.Now()
		if event.Delta != nil {
			c.see(nil, event.Delta.StopReason)
		}
		if event.Usage != nil {
			c.see(event.Usage, "")
			c.exact = true
		}
	}
}

func (s *session) user(m *wire.UserMessage) {
	if m.Replay {
		return
	}
	results := m.Content.ToolResults()
	for _, result := range results {
		c := s.tools[result.ToolUseID]
		if c == nil {
			continue
		}
		failure := ""
		if result.Failed() {
			failure = errorTool
		}
		if s.Content == Texts {
			c.span.SetAttributes(keyToolResult.String(s.text(result.Text())))
		}
		c.agent.last = time.Now()
		s.endSubagent(c.id, failure)
		s.endCall(c, failure)
	}
	if len(results) == 0 && m.ParentToolUseID != "" {
		s.agentOf(m.ParentToolUseID, m.SubagentType, "").last = time.Now()
	}
}

func (s *session) beginCall(a *agent, use *wire.ToolUseBlock, now time.Time) {
	if s.tools[use.ID] != nil {
		return // the same block again
	}
	a.calls++
	c := &call{id: use.ID, name: prefix(use.Name, maxName), agent: a, began: now}
	s.tools[use.ID] = c
	if c.ctx, c.span = a.ctx, noSpan; !a.recorded {
		return
	}
	attrs := s.common(opTool, keyToolName.String(c.name), keyToolCallID.String(use.ID), keyToolType.String("function"))
	if s.Content == Texts {
		attrs = append(attrs, keyToolArguments.String(s.json(use.Input)))
	}
	c.ctx, c.span = s.inner.Start(a.ctx, opTool+" "+c.name, trace.WithAttributes(attrs...), trace.WithTimestamp(now))
}

func (s *session) endCall(c *call, failure string) {
	delete(s.tools, c.id)
	setFailure(c.span, failure)
	c.span.End()
	if h := s.telemetry.tools; h.Enabled(c.ctx) {
		recordDuration(c.ctx, h, time.Since(c.began), failure, keyOperation.String(opTool),
			keyToolName.String(s.measuredTool(c.name, failure)), keyAgentName.String(c.agent.name))
	}
}

// measuredTool returns the name of a tool for a metric. The model makes up names, of which each
// would be a series that stays. A tool exists if the agent lists it or a call of it succeeded: some
// are loaded later than the list.
func (s *session) measuredTool(name, failure string) string {
	if failure == "" {
		s.known[name] = true
	}
	if s.known[name] {
		return name
	}
	return errorOther
}

// askedKey is the key of the span that has the events of a request, in the context of its callback.
type askedKey struct{ s *session }

// asked gives callbacks the span of the call that they are about as parent, or else the span of the
// turn or of the session, and adds an event to it. The messages with which the agent only gets to
// know an MCP server are not events.
func (s *session) asked(ctx context.Context, req *clew.TraceRequest) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	span, c := s.working(), s.tools[req.ToolUseID]
	if c != nil {
		span = c.span
		ctx = trace.ContextWithSpan(ctx, trace.SpanFromContext(c.ctx))
	} else {
		ctx = trace.ContextWithSpan(ctx, span)
	}
	if c == nil && req.Subtype == "mcp_message" {
		return ctx
	}
	span.AddEvent(eventAsked, trace.WithAttributes(requestAttributes(req)...))
	return context.WithValue(ctx, askedKey{s}, span)
}

func requestAttributes(req *clew.TraceRequest) []attribute.KeyValue {
	attrs := []attribute.KeyValue{keyRequest.String(req.Subtype)}
	if req.Method != "" {
		attrs = append(attrs, keyMethod.String(req.Method))
	}
	return attrs
}

// answered adds the answer of a callback to the span that has the question.
func (s *session) answered(ctx context.Context, req *clew.TraceRequest, answer wire.JSON, err error) {
	span, ok := ctx.Value(askedKey{s}).(trace.Span)
	if !ok || !span.IsRecording() {
		return
	}
	attrs := requestAttributes(req)
	var decision struct {
		Behavior string `json:"behavior"`
	}
	if req.Subtype == "can_use_tool" && answer.Decode(&decision) == nil && decision.Behavior != "" {
		attrs = append(attrs, keyDecision.String(decision.Behavior))
	}
	switch {
	case ctx.Err() != nil:
		attrs = append(attrs, keyErrorType.String(errorCanceled))
	case err != nil:
		attrs = append(attrs, keyErrorType.String(errorOther))
	}
	span.AddEvent(eventAnswered, trace.WithAttributes(attrs...))
}
