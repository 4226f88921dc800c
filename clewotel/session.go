package clewotel

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// A session makes the spans of one session from the calls of its trace. Its lock protects
// everything below it.
type session struct {
	*telemetry
	provider  string
	agentName string
	parent    trace.SpanContext // of the session's span
	ctx       context.Context   //nolint:containedctx // it has the session's span, for the life of the session
	span      trace.Span

	// skip reports that turns run and nothing of them is recorded or measured, so that their
	// messages don't matter.
	skip atomic.Bool

	mu      sync.Mutex
	ended   bool
	id      string            // of the conversation
	model   string            // that the agent uses, as it reports it
	turns   []*agent          // whose prompts are not settled, oldest first
	current *agent            // the turn that the agent works on, or nil
	free    time.Time         // when it has left the one before
	names   bool              // the agent names the prompts that it answers
	agents  map[string]*agent // subagents by the ID of the call that started them
	tasks   map[string]*agent // the same by the ID of their task
	tools   map[string]*call  // calls without a result, by ID
	known   map[string]bool   // tools that exist
	ledger  ledger            // answers whose tokens are not known for certain
	totals  totals            // of the last result
	watched int               // turns and subagents that run and are recorded or measured
}

func newSession(ctx context.Context, t *telemetry, opts *clew.Options) *session {
	s := &session{
		telemetry: t, provider: providerOf(opts), agentName: cmp.Or(opts.Agent, "claude-code"),
		parent: trace.SpanContextFromContext(ctx), model: opts.Model,
		agents: make(map[string]*agent), tasks: make(map[string]*agent), tools: make(map[string]*call),
		known: make(map[string]bool),
	}
	s.ctx, s.span = t.tracer.Start(context.WithoutCancel(ctx), opSession, trace.WithAttributes(s.common(opSession)...))
	return s
}

// common returns the attributes that all spans have.
func (s *session) common(operation string, more ...attribute.KeyValue) []attribute.KeyValue {
	attrs := []attribute.KeyValue{keyProvider.String(s.provider)}
	if operation != opSession {
		attrs = append(attrs, keyOperation.String(operation))
	}
	if s.id != "" {
		attrs = append(attrs, keyConversation.String(s.id))
	}
	return append(attrs, more...)
}

// prompt starts a turn.
func (s *session) prompt(ctx context.Context, prompt *wire.UserMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	var start []trace.SpanStartOption
	if own := trace.SpanContextFromContext(ctx); !own.IsValid() || own.Equal(s.parent) {
		ctx = trace.ContextWithSpan(ctx, s.span)
	} else {
		start = append(start, trace.WithLinks(trace.Link{SpanContext: s.span.SpanContext()}))
	}
	t := s.newTurn(ctx, start...)
	t.prompt = prompt.UUID
	if s.Content == Texts {
		t.span.SetAttributes(message{Role: "user", Parts: s.parts(prompt.Content)}.attribute(keyInputTexts))
	}
	s.turns = append(s.turns, t)
	s.setSkip()
}

// setSkip sets skip after a change of the turns.
func (s *session) setSkip() {
	s.skip.Store(s.watched == 0 && (s.current != nil || len(s.turns) > 0))
}

// matters reports whether a message can change anything.
func (s *session) matters(msg wire.Message) bool {
	switch m := msg.(type) {
	case *wire.StreamEventMessage: // most messages are pieces of an answer
		return !s.skip.Load() && isBoundary(m.Event)
	case *wire.ResultMessage, *wire.InitMessage, *wire.SessionReconnectedMessage:
		return true
	}
	return !s.skip.Load()
}

// newTurn starts a turn whose parent is the span in ctx.
func (s *session) newTurn(ctx context.Context, options ...trace.SpanStartOption) *agent {
	t := s.newAgent(ctx, s.tracer, s.agentName, options...)
	t.isTurn = true
	return t
}

// turnOf returns the turn that a message of the session's own agent belongs to. named is the prompt
// that it names: newer agents name one in the first message of each turn that has one.
func (s *session) turnOf(named string) *agent {
	s.names = s.names || named != ""
	if s.current != nil {
		return s.current
	}
	for _, t := range s.turns {
		if t.prompt == named || named == "" && !s.names {
			s.current = t
			if t.last.Before(s.free) { // the prompt has waited
				t.last = s.free
			}
			return t
		}
	}
	return s.selfStarted()
}

// selfStarted starts a turn that no prompt started.
func (s *session) selfStarted() *agent {
	s.current = s.newTurn(s.ctx, trace.WithAttributes(keySelfStarted.Bool(true)))
	return s.current
}

// resultTurn returns the turn that a result ends. It may be the first message of it.
func (s *session) resultTurn(m *wire.ResultMessage) *agent {
	if s.current != nil {
		return s.current
	}
	for _, t := range s.turns {
		if t.prompt == m.UserMessageUUID || slices.Contains(m.UserMessageUUIDs, t.prompt) {
			return t
		}
	}
	if len(s.turns) > 0 && (m.Origin == nil || m.Origin.Kind == "human") {
		return s.turns[0]
	}
	return s.selfStarted()
}

// settled ends the turn of a prompt.
func (s *session) settled(_ context.Context, id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.turns, func(t *agent) bool { return t.prompt == id })
	if i < 0 {
		return
	}
	t := s.turns[i]
	s.turns = slices.Delete(s.turns, i, i+1)
	if s.current == t {
		s.leave()
	}
	s.endAgent(t, failureOf(err))
	s.setSkip()
}

// failureOf returns the kind of an error, or "" for none.
func failureOf(err error) string {
	switch failed, ok := errors.AsType[*clew.ResultError](err); {
	case err == nil:
		return ""
	case ok:
		return resultFailure(failed.Result)
	case errors.Is(err, clew.ErrCanceled), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return errorCanceled
	case errors.Is(err, clew.ErrClosed):
		return errorEnded
	}
	if _, ok := errors.AsType[*clew.LostError](err); ok {
		return errorLost
	}
	if _, ok := errors.AsType[*clew.ExitError](err); ok {
		return errorEnded
	}
	return errorOther
}

// resultFailure returns the kind of a failure.
func resultFailure(m *wire.ResultMessage) string {
	if m.Subtype != wire.ResultSuccess {
		return string(m.Subtype)
	}
	return cmp.Or(m.APIErrorType, string(m.TerminalReason), errorOther)
}

// end ends the session, with everything that is still open.
func (s *session) end(_ context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.closeAll(errorEnded)
	setFailure(s.span, failureOf(err))
	s.span.End()
}

// closeAll ends all turns, subagents, calls and answers, with the attributes known so far.
func (s *session) closeAll(failure string) {
	for _, sub := range s.agents {
		s.endAgent(sub, failure)
	}
	if s.current != nil {
		s.endAgent(s.current, failure)
	}
	for _, t := range s.turns {
		s.endAgent(t, failure)
	}
	for _, c := range s.tools { // those of agents that had ended before
		s.endCall(c, failure)
	}
	s.turns, s.current = nil, nil
	clear(s.agents)
	clear(s.tasks)
	s.ledger.flush(s)
}

// message follows a message of the agent.
func (s *session) message(_ context.Context, msg wire.Message) {
	if !s.matters(msg) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.follow(msg) //nolint:contextcheck // spans have the contexts of their agents
	s.setSkip()
}

// follow follows a message that matters.
func (s *session) follow(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		s.assistant(m)
	case *wire.StreamEventMessage:
		s.streamEvent(m)
	case *wire.UserMessage:
		s.user(m)
	case *wire.ResultMessage:
		s.result(m)
	case *wire.InitMessage:
		s.init(m)
	case *wire.TaskStartedMessage:
		s.taskStarted(m)
	case *wire.TaskUpdatedMessage:
		s.taskUpdated(m)
	case *wire.TaskNotificationMessage:
		s.taskEnded(s.tasks[m.TaskID], m.Status)
	case *wire.SessionReconnectedMessage:
		s.reconnected(m)
	default:
		s.event(msg)
	}
}

// isBoundary reports whether an event starts or ends an answer.
func isBoundary(event wire.Event) bool {
	switch event.(type) {
	case *wire.MessageStartEvent, *wire.MessageDeltaEvent:
		return true
	}
	return false
}

func (s *session) init(m *wire.InitMessage) {
	if m.SessionID != s.id {
		s.id = m.SessionID
		s.span.SetAttributes(keyConversation.String(s.id))
	}
	s.model = cmp.Or(m.Model, s.model)
	for _, name := range m.Tools {
		s.known[name] = true
	}
	s.known["Agent"] = s.known["Agent"] || s.known["Task"] // the list has the old name
	if m.Version != "" {
		s.span.SetAttributes(keyAgentVersion.String(m.Version))
	}
}

// working returns the span of the turn that the agent works on, or the session's span.
func (s *session) working() trace.Span {
	switch {
	case s.current != nil:
		return s.current.span
	case len(s.turns) > 0:
		return s.turns[0].span
	}
	return s.span
}

// event adds an event to the turn that is running, or to the session. Only a retry has a message
// that names its agent.
func (s *session) event(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.APIRetryMessage:
		if s.current != nil {
			s.current.cutChat(string(m.Error))
		}
		s.retried(s.working(), m.Attempt, m.RetryDelay, string(m.Error), m.ErrorStatus)
	case *wire.ToolProgressMessage:
		if a, r := s.agents[m.ParentToolUseID], m.SubagentRetry; a != nil && r != nil {
			a.cutChat(r.ErrorCategory)
			s.retried(a.span, r.Attempt, r.RetryDelay, r.ErrorCategory, r.ErrorStatus)
		}
	case *wire.RateLimitMessage:
		s.working().AddEvent(eventRateLimit, trace.WithAttributes(
			keyStatus.String(string(m.Info.Status)), keyLimit.String(string(m.Info.Type))))
	case *wire.CompactBoundaryMessage:
		s.working().AddEvent(eventCompaction, trace.WithAttributes(keyTrigger.String(string(m.Metadata.Trigger)),
			keyPreTokens.Int(m.Metadata.PreTokens), keyPostTokens.Int(m.Metadata.PostTokens)))
	}
}

// retried adds the event of a request that failed and is sent again.
func (s *session) retried(span trace.Span, attempt int, delay wire.Millis, kind string, status int) {
	attrs := []attribute.KeyValue{
		keyAttempt.Int(attempt), keyErrorType.String(kind), keyDelay.Int64(delay.Duration().Milliseconds()),
	}
	if status != 0 {
		attrs = append(attrs, keyStatusCode.Int(status))
	}
	span.AddEvent(eventRetry, trace.WithAttributes(attrs...))
}

// reconnected follows the start of another agent: what the old one was doing is over.
func (s *session) reconnected(m *wire.SessionReconnectedMessage) {
	waiting := s.turns // they were not sent to the old agent
	s.turns = nil
	s.closeAll(errorLost)
	s.turns = waiting
	s.totals = totals{} // the new process counts from zero
	s.span.AddEvent(eventReconnected, trace.WithAttributes(keyAttempts.Int(m.Attempts),
		keyDowntime.Int64(m.Downtime.Duration().Milliseconds()), keyLost.Int(len(m.LostPrompts))))
}

// result follows the end of a turn. [session.settled] ends the spans of its prompts.
func (s *session) result(m *wire.ResultMessage) {
	t := s.resultTurn(m)
	goesOn := m.TerminalReason == wire.TerminalReasonBackgroundRequested
	if !goesOn {
		s.endCalls(t, errorInterrupted)
	}
	if c := t.chat; c != nil && c.failure == "" {
		c.finish = cmp.Or(c.finish, string(m.StopReason))
	}
	used, cost := s.totals.since(m)
	s.ledger.settle(s, t, m, used)
	if m.StopReason != "" {
		t.span.SetAttributes(keyFinishReasons.StringSlice([]string{string(m.StopReason)}))
	}
	t.cost += cost
	s.dropEnded()
	if goesOn {
		return
	}
	if t.prompt == "" {
		s.endAgent(t, failureOf(resultError(m)))
	}
	s.leave()
}

// leave follows the end of the agent's work on the current turn.
func (s *session) leave() { s.current, s.free = nil, time.Now() }

func resultError(m *wire.ResultMessage) error {
	if m.Failed() {
		return &clew.ResultError{Result: m}
	}
	return nil
}

// setFailure marks a span as failed unless the kind of failure is empty. The description has no text
// of the conversation.
func setFailure(span trace.Span, failure string) {
	if failure != "" {
		span.SetAttributes(keyErrorType.String(failure))
		span.SetStatus(codes.Error, failure)
	}
}
