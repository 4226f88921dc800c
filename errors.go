package clew

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/redact"
	"github.com/clewdev/clew/wire"
)

// ErrClosed is what a call on a session returns after [Session.Close].
var ErrClosed = errors.New("clew: session closed")

// ErrCanceled ends a turn whose prompt was removed from the queue before the agent started it.
var ErrCanceled = errors.New("clew: prompt canceled before its turn")

// ErrReading is what a second reader of a session gets while the first one ranges over [Session.Messages].
var ErrReading = errors.New("clew: the messages of this session are being read elsewhere")

// An OptionsError says which option cannot be used, and why. Nothing is left running: most are found before anything
// starts, and the others when the agent says that it cannot do what the option asks for.
type OptionsError struct {
	// Option is the name of the field in [Options].
	Option string
	// Reason is what is wrong with it.
	Reason string
}

func (e *OptionsError) Error() string { return fmt.Sprintf("clew: option %s: %s", e.Option, e.Reason) }

// A NotFoundError says that there is no agent binary.
type NotFoundError struct {
	// Looked are the places that were searched, in order.
	Looked []string
}

func (e *NotFoundError) Error() string {
	return "clew: the agent binary was not found; looked at " + strings.Join(e.Looked, ", ") +
		"; install it with \"npm install -g @anthropic-ai/claude-code\", or set CLEW_AGENT or Options.AgentPath"
}

// An ExitError says how the agent ended when it should not have.
type ExitError struct {
	// Code is the exit code, or -1 when a signal ended the agent.
	Code int
	// Signal is the signal that ended the agent, or nil.
	Signal os.Signal
	// Stderr is the end of what the agent wrote to its standard error, secrets masked.
	Stderr string
	// Forced says that the agent did not end by itself when it should have, and was killed.
	Forced bool
	// Reason says what happened where code and signal don't, such as an output that was closed too early.
	Reason string
}

func (e *ExitError) Error() string {
	var b strings.Builder
	b.WriteString("clew: the agent ")
	switch {
	case e.Reason != "":
		b.WriteString(e.Reason)
	case e.Forced && e.Signal != nil:
		fmt.Fprintf(&b, "did not end by itself and was stopped (%v)", e.Signal)
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

// join is [errors.Join] of two errors, each of which may be nil, and leaves one alone as it is.
func join(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errors.Join(a, b)
}

// exitError returns how an agent ended from what [Connection.Close] has returned, or nil for an orderly end.
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

// A ControlError is the agent's refusal of a control request. Its text has secrets masked.
type ControlError struct {
	// Subtype is what was asked for.
	Subtype string
	// Message is the agent's own text.
	Message string
	// Code is the agent's code for the reason, or empty.
	Code string
}

func (e *ControlError) Error() string {
	return fmt.Sprintf("clew: the agent refused %s: %s", e.Subtype, redact.Mask(e.Message))
}

// Unsupported reports whether the agent does not know the request at all, as an older or newer version may not.
func (e *ControlError) Unsupported() bool { return e.Code == "unsupported_request" }

// A ResultError says that a turn failed. The session lives on. Its text has secrets masked.
type ResultError struct {
	// Result is what ended the turn.
	Result *wire.ResultMessage
	// Exit is how the agent ended after it, or nil if it lives or ended in order.
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

// Interrupted reports whether the turn was stopped by an interrupt, the caller's own or that of a permission answer.
func (e *ResultError) Interrupted() bool {
	switch e.Result.TerminalReason {
	case wire.TerminalReasonAbortedStreaming, wire.TerminalReasonAbortedTools:
		return true
	}
	return false
}

// Text returns the best description of the failure that the result has: its errors, its text, its subtype, or the
// status of the API. It is as the agent wrote it: secrets in it are not masked.
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

// lines returns the errors of the result that are not blank. Some agents have one text in place of a list.
func (e *ResultError) lines() []string {
	lines := slices.Clone(e.Result.Errors)
	var single struct{ Errors string }
	if len(lines) == 0 && wire.JSON(e.Result.Raw()).Decode(&single) == nil {
		lines = []string{single.Errors}
	}
	return slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
}

// A LostError says that a prompt or a request was lost with an agent that has died, while [Options.Reconnect] has the
// session go on with another one. The agent may have acted on it: look before you send it again.
type LostError struct {
	// Exit is how the agent ended.
	Exit *ExitError
}

func (e *LostError) Error() string {
	return "clew: lost with the agent, in whose place the session starts another: " + e.Exit.Error()
}

// Unwrap returns e.Exit.
func (e *LostError) Unwrap() error { return e.Exit }

func isLost(err error) bool {
	_, ok := errors.AsType[*LostError](err)
	return ok
}

// A ReconnectError ends a session whose agent has died and could not be replaced: see [Options.Reconnect].
type ReconnectError struct {
	// Attempts is how many agents were started in a row.
	Attempts int
	// Exit is how the agent ended that was the last to come up, and Last why the newest attempt has failed: the same, if
	// the agents come up and die.
	Exit *ExitError
	Last error
}

func (e *ReconnectError) Error() string {
	if errors.Is(e.Last, e.Exit) {
		return fmt.Sprintf("clew: the agent dies again and again, given up after %d attempts: %v", e.Attempts, e.Exit)
	}
	return fmt.Sprintf("clew: the agent could not be started again, given up after %d attempts: %v; it had died: %v",
		e.Attempts, e.Last, e.Exit)
}

// Unwrap returns e.Last and e.Exit.
func (e *ReconnectError) Unwrap() []error { return []error{e.Last, e.Exit} }

// A StoreError says that a call of [Options.Store] has failed. From [Connect] it means that a session could not be read
// from the store; from [Run] and [Session.Close] that the session is not complete there. Its text has secrets masked.
type StoreError struct {
	// Method is the method of [Store] that has failed.
	Method string
	// Key is the transcript. It may be incomplete: Sessions is asked for a project alone, and the agent may have written
	// to a file that is not the transcript of a session.
	Key wire.SessionKey
	// Lost is how many entries are not in the store, or may not be: a call that takes too long is not waited for.
	Lost int
	// Err is why. It is or wraps [context.DeadlineExceeded] for a call that took too long.
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

// message returns a loss as the caller of a session sees it.
func (e *StoreError) message(sessionID string) wire.Message {
	msg := &wire.MirrorErrorMessage{Error: e.reason(), UUID: newUUID(), SessionID: sessionID}
	if e.Key != (wire.SessionKey{}) {
		msg.Key = &wire.MirrorKey{ProjectKey: e.Key.Project, SessionID: e.Key.SessionID, Subpath: e.Key.Subpath}
	}
	frame, err := wire.Append(nil, msg)
	if err != nil {
		return msg
	}
	return wire.Decode(frame) // so that it has a raw text, like every other message
}

// lossOf returns the loss that a message tells of. It has no number: that is part of the reason.
func lossOf(msg *wire.MirrorErrorMessage) *StoreError {
	loss := &StoreError{Method: "Append", Err: errors.New(msg.Error)}
	if k := msg.Key; k != nil {
		loss.Key = wire.SessionKey{Project: k.ProjectKey, SessionID: k.SessionID, Subpath: k.Subpath}
	}
	return loss
}
