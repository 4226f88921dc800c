package clew

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clewdev/clew/wire"
)

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
	reason := mask(e.Err.Error())
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
