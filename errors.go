package clew

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clewdev/clew/wire"
)

// ErrClosed is what a call on a session returns after [Session.Close].
var ErrClosed = errors.New("clew: session closed")

// ErrCancelled ends a turn whose prompt was taken out of the queue before the agent came to it.
var ErrCancelled = errors.New("clew: prompt cancelled before its turn")

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
	return fmt.Sprintf("clew: the agent refused %s: %s", e.Subtype, mask(e.Message))
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

func (e *ResultError) Error() string { return "clew: the turn failed: " + mask(e.Text()) }

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
