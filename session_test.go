package clew

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/wire"
)

// How a session ended follows from one struct.
func TestEndState(t *testing.T) {
	t.Parallel()
	gaveUp := &ReconnectError{Attempts: 5, Exit: new(ExitError), Last: errors.New("no")}
	failed := &wire.ResultMessage{Subtype: wire.ResultErrorDuringExecution, IsError: true}
	died := func() *ExitError { return &ExitError{Code: 3} }
	silenced := func() *ExitError { return &ExitError{Reason: "closed its output"} }
	const (
		ended    = "clew: the agent has ended"
		early    = "clew: the agent exited with code 0 before it was ready"
		noResult = "clew: the agent ended without a result"
		noOutput = "clew: the agent closed its output"
		code3    = "clew: the agent exited with code 3"
		turn     = "clew: the turn failed: error_during_execution"
	)
	tests := []struct {
		name            string
		state           endState
		calls, messages string
	}{
		{"the agent exits", endState{initialized: true}, ended, ""},
		{"the agent exits before it is ready", endState{}, early, ""},
		{"the agent dies", endState{initialized: true, failure: died()}, code3, code3},
		{"the agent dies with words", endState{initialized: true, failure: died(), stderr: "oh\n"},
			code3 + "; stderr ends with: oh", code3 + "; stderr ends with: oh"},
		{"the error has words already", endState{failure: &ExitError{Code: 3, Stderr: "first"}, stderr: "second"},
			code3 + "; stderr ends with: first", code3 + "; stderr ends with: first"},
		{"the agent exits after its output", endState{initialized: true, failure: silenced(), exitedLate: true}, noOutput, ""},
		{"the agent closes its output in a turn", endState{
			initialized: true, failure: silenced(), exitedLate: true, turns: turnsState{open: true},
		}, noOutput, noOutput},
		{"the agent closes its output before it is ready", endState{failure: silenced(), exitedLate: true}, noOutput, noOutput},
		{"a prompt has no result", endState{initialized: true, turns: turnsState{open: true}}, noResult, noResult},
		{"the last turn failed", endState{initialized: true, turns: turnsState{failed: failed}}, turn, turn},
		{"the last turn failed and the agent dies", endState{initialized: true, failure: died(), turns: turnsState{failed: failed}},
			code3, turn},
		{"the start failed with a result", endState{failure: died(), turns: turnsState{failed: failed}}, turn, turn},
		{"closed", endState{closed: true, initialized: true, failure: died(), turns: turnsState{open: true}},
			ErrClosed.Error(), ""},
		{"silent", endState{silent: true, closed: true, failure: died()}, ErrIdle.Error(), ErrIdle.Error()},
		{"silent, not closed yet", endState{silent: true, failure: died()}, ErrIdle.Error(), ErrIdle.Error()},
		{"not replaced", endState{initialized: true, gaveUp: gaveUp, failure: died(), overdue: true}, gaveUp.Error(), gaveUp.Error()},
		{"closed while it is replaced", endState{closed: true, gaveUp: gaveUp}, ErrClosed.Error(), ""},
		{"overdue", endState{initialized: true, overdue: true, failure: died()}, ended, ""},
		{"overdue after a failed turn", endState{initialized: true, overdue: true, failure: died(), turns: turnsState{failed: failed}},
			turn, turn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls, messages := tt.state.decide()
			if got := errorText(calls); got != tt.calls {
				t.Errorf("calls return %q, want %q", got, tt.calls)
			}
			if got := errorText(messages); got != tt.messages {
				t.Errorf("Messages ends with %q, want %q", got, tt.messages)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestEnding(t *testing.T) {
	t.Parallel()
	e := newEnding()
	if e.err() != nil || e.closing() {
		t.Errorf("a new session has ended: %v", e.err())
	}
	if !e.beginClose(false) || e.beginClose(true) || !e.closing() || !errors.Is(e.err(), ErrClosed) {
		t.Errorf("while it is closed: %v", e.err())
	}
	exit := &ExitError{Forced: true}
	e.settle(exit, endState{failure: exit})
	close(e.over)
	if e.exit != exit || !errors.Is(e.err(), ErrClosed) || !errors.Is(e.wait(), ErrClosed) || e.messages != nil {
		t.Errorf("after it was closed: %v, %v", e.err(), e.messages)
	}

	e = newEnding()
	if !e.beginClose(true) || e.beginClose(false) || !errors.Is(e.err(), ErrIdle) {
		t.Errorf("a silent one that is closed: %v", e.err())
	}

	e = newEnding()
	e.settle(nil, endState{})
	close(e.over)
	if e.beginClose(false); errors.Is(e.err(), ErrClosed) {
		t.Error("Close changes how the session ended")
	}
}

func TestWatchdog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var expected atomic.Bool
		var silences, longest atomic.Int64
		w := newWatchdog(time.Second, expected.Load, func(d time.Duration) {
			silences.Add(1)
			longest.Store(max(longest.Load(), int64(d)))
		})
		step := func(d time.Duration, want int64, when string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := silences.Load(); got != want {
				t.Errorf("%s: %d silences, want %d", when, got, want)
			}
		}
		step(5*time.Second+time.Millisecond, 0, "nothing is expected")
		w.markActive()
		expected.Store(true)
		step(900*time.Millisecond, 0, "before the limit")
		w.markActive()
		step(900*time.Millisecond, 0, "active again")
		step(200*time.Millisecond, 1, "after the limit")
		if d := time.Duration(longest.Load()); d < time.Second || d > 1100*time.Millisecond {
			t.Errorf("silent for %v", d)
		}
		step(time.Second, 2, "and again")
		w.hold()
		step(3*time.Second, 2, "held")
		w.release()
		step(900*time.Millisecond, 2, "released")
		w.stop()
		step(5*time.Second, 2, "stopped")
	})
	if w := newWatchdog(0, nil, nil); w != nil {
		t.Error("a watchdog without a limit")
	}
}

// discard is an agent's input.
type discard struct{ closed atomic.Bool }

func (*discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) CloseWrite() error         { d.closed.Store(true); return nil }

// grace is the time an agent may take to exit in these tests.
const grace = 5 * time.Second

// A one-shot run closes the input when all is answered, and ends an agent that does not exit then.
func TestOneShot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, needsInput := range []bool{true, false} {
			var ended atomic.Int64
			input, progress := new(discard), new(progress)
			out := control.NewOutbox(input, func(error) {})
			o := &oneShot{
				log: slog.New(slog.DiscardHandler), progress: progress, needsInput: needsInput,
				endInput: out.End, endAgent: func() { ended.Add(1) }, grace: grace,
			}
			progress.sent("p")
			o.update()
			time.Sleep(2 * turnTimeout)
			synctest.Wait()
			if input.closed.Load() || ended.Load() > 0 {
				t.Errorf("%v: ended before all was sent", needsInput)
			}
			o.allSent()
			synctest.Wait()
			if got := input.closed.Load(); got == needsInput {
				t.Errorf("needs input %v, and it is closed: %v", needsInput, got)
			}
			progress.see(&wire.ResultMessage{UserMessageUUID: "p"})
			o.update()
			time.Sleep(grace - time.Second)
			o.update() // something came, so the time starts again
			time.Sleep(grace - time.Second)
			synctest.Wait()
			if !input.closed.Load() || ended.Load() > 0 {
				t.Errorf("after the result: input closed %v, agent ended %d times", input.closed.Load(), ended.Load())
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if !o.stop() || ended.Load() != 1 {
				t.Errorf("after %v: agent ended %d times", grace, ended.Load())
			}
		}
	})
}

// A one-shot run waits for background work that starts another turn, and for that turn.
func TestOneShotWaits(t *testing.T) {
	t.Parallel()
	idle, running := wire.SessionStateIdle, wire.SessionStateRunning
	for name, test := range map[string]struct {
		msgs []wire.Message
		want time.Duration // until the agent is ended; 0 means that it is not
	}{
		"nothing":                           {nil, grace},
		"idle":                              {states(running, idle), grace},
		"a subagent":                        {messages(&wire.TaskStartedMessage{TaskID: "t", TaskType: "local_agent"}), 0},
		"a subagent of an idle":             {append(states(idle), &wire.TaskStartedMessage{TaskID: "t", TaskType: "local_agent"}), 0},
		"a command of one that is not idle": {append(states(running), &wire.ResultMessage{}), grace},
		"a command":                         {messages(&wire.TaskStartedMessage{TaskID: "t", TaskType: "local_bash"}), grace},
		"a turn of its own":                 {messages(new(wire.AssistantMessage)), turnTimeout},
		"a turn that is reported":           {states(running), turnTimeout},
		"a turn for a task":                 {messages(new(wire.TaskNotificationMessage)), turnTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, ended := time.Now(), time.Duration(0)
				o := &oneShot{
					log: slog.New(slog.DiscardHandler), progress: new(progress), grace: grace,
					endInput: func() {}, endAgent: func() { ended = time.Since(begin) },
				}
				o.progress.sent("p")
				o.allSent()
				o.progress.see(&wire.ResultMessage{UserMessageUUID: "p"})
				o.update()
				for _, msg := range test.msgs {
					if o.progress.see(msg) {
						o.update()
					}
				}
				time.Sleep(2 * turnTimeout)
				synctest.Wait()
				if ended != test.want {
					t.Errorf("ended after %v, want %v", ended, test.want)
				}
				o.stop()
			})
		})
	}
}

// Several prompts keep the input open until they are answered, or until the agent does nothing for
// long.
func TestOneShotOfSeveralPrompts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prompts, answers []string
		want             time.Duration // until the input is closed
	}{
		"one":              {[]string{"p"}, nil, 0},
		"all answered":     {[]string{"p", "q"}, []string{"p", "q"}, 2 * time.Second},
		"one not answered": {[]string{"p", "q"}, []string{"p"}, time.Second + turnTimeout},
		"none answered":    {[]string{"p", "q"}, nil, turnTimeout},
		"the same twice":   {[]string{"p", "p"}, []string{"p"}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, closed := time.Now(), time.Duration(-1)
				o := &oneShot{
					log: slog.New(slog.DiscardHandler), progress: new(progress), grace: grace, endAgent: func() {},
					endInput: func() {
						if closed < 0 {
							closed = time.Since(begin)
						}
					},
				}
				for i, prompt := range test.prompts {
					o.progress.sent(prompt)
					if i > 0 {
						o.severalSent()
					}
				}
				o.allSent()
				for _, answer := range test.answers {
					time.Sleep(time.Second)
					o.progress.see(&wire.ResultMessage{UserMessageUUID: answer})
					o.update()
				}
				time.Sleep(2 * turnTimeout)
				synctest.Wait()
				if closed != test.want {
					t.Errorf("closed after %v, want %v", closed, test.want)
				}
				o.stop()
			})
		})
	}
}

func messages(msgs ...wire.Message) []wire.Message { return msgs }

// states returns messages with which an agent reports its states.
func states(all ...wire.SessionState) (msgs []wire.Message) {
	for _, state := range all {
		msgs = append(msgs, &wire.SessionStateChangedMessage{State: state})
	}
	return msgs
}

func TestOneShotStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		o := &oneShot{
			log: slog.New(slog.DiscardHandler), progress: new(progress),
			endInput: func() {}, endAgent: func() { ended.Add(1) }, grace: grace,
		}
		o.allSent()
		if o.stop() {
			t.Error("it is overdue at once")
		}
		o.update()
		time.Sleep(2 * turnTimeout)
		synctest.Wait()
		if ended.Load() > 0 || o.stop() {
			t.Error("a stopped run ends its agent")
		}
	})
}

// A process that is not ready keeps its messages.
func TestAgentProcess(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	failed := &wire.ResultMessage{Subtype: wire.ResultErrorDuringExecution, IsError: true}
	p := newAgentProcess(nil, nil)
	if !p.keepEarly(failed) || !p.keepEarly(new(wire.InitMessage)) {
		t.Error("early messages are not kept")
	}
	exit := new(ExitError)
	if err, ok := errors.AsType[*ResultError](p.startError(exit)); !ok || err.Result != failed || err.Exit != exit {
		t.Errorf("it failed to start: %v", p.startError(exit))
	}
	var early []wire.Message
	p.markReady(func(msgs []wire.Message) { early = msgs })
	if len(early) != 2 || p.keepEarly(failed) {
		t.Errorf("%d early messages", len(early))
	}
	if err := p.startError(exit); !errors.Is(err, exit) {
		t.Errorf("without messages: %v", err)
	}
	for _, tt := range []struct {
		name       string
		set        func(p *agentProcess)
		want       string
		unexpected string // what unexpectedEnd returns in addition to want
	}{
		{"exited", func(*agentProcess) {}, "", "clew: the agent ended without a result"},
		{"unreadable", func(p *agentProcess) { p.readError = broken }, "clew: the agent can't be read from: broken", ""},
		{"input closed", func(p *agentProcess) { p.inputClosed.Store(true) }, "clew: the agent closed its input", ""},
		{"output closed", func(p *agentProcess) { p.outputClosed = true }, "clew: the agent closed its output", ""},
		{
			"output closed, and killed", func(p *agentProcess) { p.outputClosed, p.exit = true, &ExitError{Forced: true, Stderr: "x"} },
			"clew: the agent closed its output; stderr ends with: x", "",
		},
		{"output closed, and died", func(p *agentProcess) { p.outputClosed, p.exit = true, &ExitError{Code: 2} }, "clew: the agent exited with code 2", ""},
		{"died", func(p *agentProcess) { p.exit, p.readError = &ExitError{Code: 2}, broken }, "clew: the agent exited with code 2", ""},
	} {
		p := newAgentProcess(nil, nil)
		tt.set(p)
		if got := p.failure(); (got == nil) != (tt.want == "") || got != nil && got.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
		if got := p.unexpectedEnd().Error(); got != tt.want+tt.unexpected {
			t.Errorf("%s unexpectedly: %s", tt.name, got)
		}
	}
}

// A process that ended is replaced if the options want that, and unless it ended as it should.
func TestReconnectWanted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		set   func(s *Session, p *agentProcess)
		want  bool
		plain bool // without Options.Reconnect
	}{
		{name: "died", want: true},
		{name: "died, but not to be replaced", plain: true},
		{name: "exited between turns", set: func(_ *Session, p *agentProcess) { p.exit = nil }},
		{name: "exited in a turn", want: true, set: func(s *Session, p *agentProcess) { p.exit = nil; s.progress.sent("p") }},
		{name: "exited before it was ready", want: true, set: func(_ *Session, p *agentProcess) { p.exit = nil; p.ready.Store(false) }},
		{name: "never initialized", set: func(s *Session, _ *agentProcess) { s.agent.info.Store(nil) }},
		{name: "closed", set: func(s *Session, _ *agentProcess) { s.ending.beginClose(false) }},
		{name: "of a pool", set: func(s *Session, _ *agentProcess) { s.agent.noReconnect.Store(true) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := &Options{Reconnect: new(ReconnectOptions)}
			if tt.plain {
				opts.Reconnect = nil
			}
			s := &Session{opts: opts, ending: newEnding()}
			s.agent = newAgent(s, nil)
			s.agent.info.Store(new(ServerInfo))
			p := s.agent.process()
			p.exit = &ExitError{Code: 1}
			if tt.set != nil {
				tt.set(s, p)
			}
			if got := s.agent.reconnector.wanted(p); got != tt.want {
				t.Errorf("wanted: %v", got)
			}
		})
	}
}

// A closed session makes no process ready any more.
func TestReconnectorStops(t *testing.T) {
	t.Parallel()
	s := &Session{opts: &Options{Reconnect: new(ReconnectOptions)}, ending: newEnding(), log: slog.New(slog.DiscardHandler)}
	s.agent = newAgent(s, nil)
	s.agent.reconnector.stop()
	if p := s.agent.reconnector.startNext(); p != nil {
		t.Error("a process was started")
	}
	if err := s.agent.reconnector.startOutcome(newAgentProcess(nil, nil)); !errors.Is(err, ErrClosed) || s.agent.reconnector.gaveUp != nil {
		t.Errorf("outcome %v", err)
	}
	if pause.For(s.agent.reconnector.open, time.Hour) == nil || !errors.Is(s.agent.reconnector.open.Err(), context.Canceled) {
		t.Error("it waits")
	}
}
