package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// Control sends a control request of any subtype, for those that have no method, and waits for the answer. What in
// marshals to must be a JSON object with the fields of the request; nil means none. The answer is unmarshalled into out,
// unless that is nil; an answer without content leaves it as it is. A refusal is a [*ControlError].
//
// On purpose there is no method for claim_session, which is for processes that were started ahead, for end_session,
// which [Session.Close] does better, for set_proactivity_level and fork_conversation, which Claude Code 2.1.325 refuses
// in sessions of this package, and for add_directory, whose fields this package does not know.
func (s *Session) Control(ctx context.Context, subtype string, in, out any) error {
	answer, err := s.request(ctx, subtype, in)
	if err != nil || out == nil || absent(answer) {
		return err
	}
	if err := answer.Decode(out); err != nil {
		return fmt.Errorf("clew: the agent's answer to %s: %w", subtype, err)
	}
	return nil
}

// request sends a control request and returns the body of the answer, which may be absent. What it has changed is
// remembered.
func (s *Session) request(ctx context.Context, subtype string, in any) (wire.JSON, error) {
	answer, err := s.ask(ctx, s.control.Call, subtype, in)
	if err == nil {
		s.remember(subtype, in)
	}
	return answer, err
}

// ask sends a control request by way of send.
func (s *Session) ask(
	ctx context.Context, send func(context.Context, []byte) (*wire.ControlResponse, error), subtype string, in any,
) (wire.JSON, error) {
	body, err := requestBody(subtype, in)
	if err != nil {
		return "", err
	}
	answer, err := send(ctx, body)
	if err != nil {
		return "", s.controlError(ctx, subtype, err)
	}
	s.serveAgain(answer)
	return answer.Response, nil
}

// serveAgain takes up the questions of the agent that an answer says are still open. Those that are being served are
// known.
func (s *Session) serveAgain(answer *wire.ControlResponse) {
	open := slices.Concat(answer.PendingPermissionRequests, answer.PendingUserDialogRequests, answer.PendingElicitationRequests)
	for i := range open {
		s.control.Handle(&open[i])
	}
}

// requestBody returns the fields of in with the subtype before them.
func requestBody(subtype string, in any) ([]byte, error) {
	head, err := json.Marshal(map[string]string{"subtype": subtype})
	if err != nil || in == nil {
		return head, err
	}
	fields, err := json.Marshal(in)
	switch {
	case err != nil:
		return nil, fmt.Errorf("clew: the request %s has no JSON form: %w", subtype, err)
	case bytes.Equal(fields, []byte("{}")) || bytes.Equal(fields, []byte("null")):
		return head, nil
	case fields[0] != '{':
		return nil, fmt.Errorf("clew: the request %s is not a JSON object", subtype)
	}
	head[len(head)-1] = ','
	return append(head, fields[1:]...), nil
}

// controlError gives an error of the engine its public form.
func (s *Session) controlError(ctx context.Context, subtype string, err error) error {
	if refusal, ok := errors.AsType[*control.Refusal](err); ok {
		return &ControlError{Subtype: subtype, Message: refusal.Message, Code: refusal.Code}
	}
	if lost, ok := errors.AsType[*LostError](err); ok {
		return lost
	}
	if ctx.Err() != nil || errors.Is(err, control.ErrBroken) {
		return fmt.Errorf("clew: %s: %w", subtype, err)
	}
	return s.errorOf(err)
}

// call sends a control request and returns the answer. What the answer lacks is zero, and so is a field that does not
// fit its type. All of it is zero when the agent answers with nothing but success.
func call[T any](ctx context.Context, s *Session, subtype string, in any) (*T, error) {
	body, err := s.request(ctx, subtype, in)
	if err != nil {
		return nil, err
	}
	answer := new(T)
	if err := s.readAnswer(subtype, body, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// readAnswer reads the answer to a control request, and leaves out what does not fit.
func (s *Session) readAnswer(subtype string, body wire.JSON, answer any) error {
	if absent(body) {
		return nil
	}
	return looseReader{"the agent's answer to " + subtype, s.log}.decode(body, answer)
}
