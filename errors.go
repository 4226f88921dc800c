package clew

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// ErrClosed is the error of calls on a session after [Session.Close].
var ErrClosed = errors.New("clew: session closed")

// ErrCanceled ends a turn whose prompt was removed from the queue before the agent started it.
var ErrCanceled = errors.New("clew: prompt canceled before its turn")

// ErrReading is the error of a second reader of a session while another one ranges over
// [Session.Messages].
var ErrReading = errors.New("clew: another loop is reading the messages of this session")

// An OptionsError reports an option that can't be used, and why. Nothing keeps running: most of
// them are found before anything starts, and the others when the agent reports that it can't do
// what the option asks for. One about a field of a prompt is the exception: the prompt was not
// sent, and the session continues.
type OptionsError struct {
	// Option is the field of [Options], with its group, such as Model or Session.Resume, or a field
	// of a prompt, such as UserMessage.ClientComposed.
	Option string
	// Reason explains why it can't be used.
	Reason string
}

func (e *OptionsError) Error() string { return fmt.Sprintf("clew: option %s: %s", e.Option, e.Reason) }

// A NotFoundError reports that no agent binary was found. Install Claude Code, or set
// [Options.AgentPath].
type NotFoundError struct {
	// Looked lists the paths that were searched, in order.
	Looked []string
}

func (e *NotFoundError) Error() string {
	return "clew: the agent binary was not found; looked at " + strings.Join(e.Looked, ", ") +
		"; install it with \"npm install -g @anthropic-ai/claude-code\", or set CLEW_AGENT or Options.AgentPath"
}

// An ExitError reports how the agent ended when it should not have.
type ExitError struct {
	// Code is the exit code, or -1 when a signal ended the agent.
	Code int
	// Signal is the signal that ended the agent, or nil.
	Signal os.Signal
	// Stderr is the end of the agent's standard error, at least the last 4 KB, with secrets masked.
	Stderr string
	// Forced is true if the agent did not exit by itself in time and was killed.
	Forced bool
	// Reason describes the failure if the code and the signal don't, such as "closed its input". It
	// may be empty.
	Reason string
}

func (e *ExitError) Error() string {
	var b strings.Builder
	b.WriteString("clew: the agent ")
	switch {
	case e.Reason != "":
		b.WriteString(e.Reason)
	case e.Forced && e.Signal != nil:
		fmt.Fprintf(&b, "did not exit by itself and was killed (%v)", e.Signal)
	case e.Signal != nil:
		fmt.Fprintf(&b, "was ended by a signal (%v)", e.Signal)
	default:
		fmt.Fprintf(&b, "exited with code %d", e.Code)
	}
	if e.Stderr != "" {
		b.WriteString("; stderr ends with: ")
		b.WriteString(strings.TrimSpace(e.Stderr))
	}
	return b.String()
}

// join is like [errors.Join] for two errors, but returns a single error unchanged. Both may be nil.
func join(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errors.Join(a, b)
}

// exitError returns how an agent ended, given the error of [Connection.Close]. It is nil if the
// agent exited normally.
func exitError(err error) *ExitError {
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit
	}
	if coded, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok && coded.ExitCode() >= 0 {
		return &ExitError{Code: coded.ExitCode()}
	}
	return &ExitError{Code: -1, Reason: "was lost: " + err.Error()}
}

// A ControlError reports that the agent refused a control request, or did not answer it in time.
// Its text has secrets masked.
type ControlError struct {
	// Subtype is the subtype of the request, such as "set_model".
	Subtype string
	// Message is the agent's text, with nothing masked.
	Message string
	// Code is the agent's code for the reason, such as "unsupported_request", or empty. It is
	// "no_answer" if the agent did not answer within [Limits.ControlTimeout].
	Code string
}

const codeNoAnswer = "no_answer"

func (e *ControlError) Error() string {
	if e.Code == codeNoAnswer {
		return fmt.Sprintf("clew: %s: %s", e.Subtype, e.Message)
	}
	return fmt.Sprintf("clew: the agent refused %s: %s", e.Subtype, redact.Mask(e.Message))
}

// Unsupported reports whether the agent does not know the request. Older and newer versions may
// know others.
func (e *ControlError) Unsupported() bool {
	return e.Code == "unsupported_request" ||
		e.Code == "" && strings.HasPrefix(e.Message, "Unsupported control request subtype") // up to 2.1.300
}

// Unwrap returns [context.DeadlineExceeded] if the agent did not answer in time.
func (e *ControlError) Unwrap() error {
	if e.Code == codeNoAnswer {
		return context.DeadlineExceeded
	}
	return nil
}

// A ResultError reports that a turn failed. The session continues, unless Exit is set. Its text has
// secrets masked.
type ResultError struct {
	// Result is the result that ended the turn.
	Result *wire.ResultMessage
	// Exit is the agent's failure after the result, or nil if it still runs or exited normally.
	Exit *ExitError
}

func (e *ResultError) Error() string { return "clew: the turn failed: " + redact.Mask(e.Text()) }

// Unwrap returns e.Exit, if there is one.
func (e *ResultError) Unwrap() error {
	if e.Exit == nil {
		return nil
	}
	return e.Exit
}

// Interrupted reports whether an interrupt stopped the turn: one of the caller, or one of a
// permission answer.
func (e *ResultError) Interrupted() bool {
	switch r := e.Result; r.TerminalReason {
	case wire.TerminalReasonAbortedStreaming, wire.TerminalReasonAbortedTools:
		return true
	case "": // of an agent up to 2.1.88, which gives no reason
		lines := e.lines()
		return r.Subtype == wire.ResultErrorDuringExecution &&
			(len(lines) == 0 && !r.IsError || len(lines) == 1 && strings.HasPrefix(lines[0], interruptedLine))
	}
	return false
}

// interruptedLine is the prefix of the error of an interrupted turn, from agents that report no
// reasons: the last message of the turn is the interrupt.
const interruptedLine = "[ede_diagnostic] result_type=user"

// Text returns the best description of the failure in the result: its errors, its text, its
// subtype, or the status of the API. It is the agent's own text: secrets in it are not masked.
func (e *ResultError) Text() string {
	r := e.Result
	if e.Interrupted() {
		return "interrupted"
	}
	switch lines := e.lines(); {
	case len(lines) > 0:
		return strings.Join(lines, "; ")
	case strings.TrimSpace(r.Result) != "":
		return r.Result
	case r.Subtype != wire.ResultSuccess:
		return string(r.Subtype)
	case r.APIErrorStatus != 0:
		return fmt.Sprintf("API error (HTTP %d)", r.APIErrorStatus)
	}
	return "unknown error"
}

// lines returns the errors of the result that are not blank. Some agents send one text instead of a
// list.
func (e *ResultError) lines() []string {
	lines := slices.Clone(e.Result.Errors)
	var single struct{ Errors string }
	if len(lines) == 0 && wire.JSON(e.Result.Raw()).Decode(&single) == nil {
		lines = []string{single.Errors}
	}
	return slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
}

// A LostError reports that a prompt or a request was lost with an agent that died. With
// [Options.Reconnect], the session continues with another agent, and a [Pool] has others. The dead
// agent may have acted on the prompt: check before you send it again.
type LostError struct {
	// Exit describes the end of the agent.
	Exit *ExitError
}

func (e *LostError) Error() string {
	return "clew: lost because the agent died: " + e.Exit.Error()
}

// Unwrap returns e.Exit.
func (e *LostError) Unwrap() error { return e.Exit }

func isLost(err error) bool {
	_, ok := errors.AsType[*LostError](err)
	return ok
}

// A ReconnectError ends a session whose agent died and could not be replaced. See
// [Options.Reconnect].
type ReconnectError struct {
	// Attempts is the number of attempts that were made in a row.
	Attempts int
	// Exit describes the death of the last agent that was ready, and Last the failure of the newest
	// attempt. They are the same if the agents start and then die.
	Exit *ExitError
	Last error
}

func (e *ReconnectError) Error() string {
	if errors.Is(e.Last, e.Exit) {
		return fmt.Sprintf("clew: the agent keeps dying, gave up after %d attempts: %v", e.Attempts, e.Exit)
	}
	return fmt.Sprintf("clew: the agent could not be started again, gave up after %d attempts: %v; it had died: %v",
		e.Attempts, e.Last, e.Exit)
}

// Unwrap returns e.Last and e.Exit.
func (e *ReconnectError) Unwrap() []error { return []error{e.Last, e.Exit} }

// A StoreError reports that a call of [StoreOptions.Store] failed. From [Connect] it means that a
// session could not be read from the store. From [Run] and [Session.Close] it means that entries
// are missing there. Its text has secrets masked.
type StoreError struct {
	// Method is the method of [Store] that failed, such as "Append".
	Method string
	// Key is the key of the transcript. For Sessions it has only a project, and it is empty if the
	// agent wrote to a file that is not the transcript of a session.
	Key wire.SessionKey
	// Lost is the number of entries that are missing in the store. After a call that took too long,
	// they may still arrive.
	Lost int
	// Err is the reason. It wraps [context.DeadlineExceeded] if the call took too long.
	Err error
}

func (e *StoreError) Error() string {
	of := ""
	if e.Key != (wire.SessionKey{}) {
		of = " of " + strings.TrimRight(e.Key.String(), "/")
	}
	return fmt.Sprintf("clew: store: %s%s: %s", e.Method, of, e.reason())
}

// Unwrap returns e.Err.
func (e *StoreError) Unwrap() error { return e.Err }

func (e *StoreError) reason() string {
	reason := redact.Mask(e.Err.Error())
	if e.Lost == 0 {
		return reason
	}
	return fmt.Sprintf("%s; entries lost: %d", reason, e.Lost)
}

// like reports whether both are about the same transcript, for the same reason.
func (e *StoreError) like(other *StoreError) bool {
	return e.Key == other.Key && e.Err.Error() == other.Err.Error()
}

// message returns the message that reports a loss to the caller of a session.
func (e *StoreError) message(sessionID string) wire.Message {
	msg := &wire.MirrorErrorMessage{Error: e.reason(), UUID: newid.UUID(), SessionID: sessionID}
	if e.Key != (wire.SessionKey{}) {
		msg.Key = &wire.MirrorKey{ProjectKey: e.Key.Project, SessionID: e.Key.SessionID, Subpath: e.Key.Subpath}
	}
	frame, err := wire.Append(nil, msg)
	if err != nil {
		return msg
	}
	return wire.Decode(frame) // like every other message, it has raw text
}

// lossOf returns the loss that a message reports. It has no number: that is part of the reason.
func lossOf(msg *wire.MirrorErrorMessage) *StoreError {
	loss := &StoreError{Method: "Append", Err: errors.New(msg.Error)}
	if k := msg.Key; k != nil {
		loss.Key = wire.SessionKey{Project: k.ProjectKey, SessionID: k.SessionID, Subpath: k.Subpath}
	}
	return loss
}
