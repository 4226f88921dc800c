package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// Control sends a control request of any subtype and waits for the answer. It is for requests that
// have no method here and no function in package screens.
//
// in holds the fields of the request: anything that marshals to a JSON object, or nil for none. The
// answer is unmarshaled into out, unless out is nil; an answer without content leaves out as it is.
// A refusal is a [*ControlError], and so is a missing answer after [Limits.ControlTimeout].
//
// Some requests have no method on purpose. Of get_chrome_browsers, select_chrome_browser,
// set_chrome_browser_hints, submit_feedback, submit_survey_feedback, ultrareview_launch,
// remote_control, claude_oauth_callback, claude_oauth_wait_for_completion and add_directory, this
// package does not know all fields. Claude Code 2.1.325 refuses set_proactivity_level and
// fork_conversation in sessions of this package. claim_session is for agents that were started
// ahead, and [Session.Close] does more than end_session.
func (s *Session) Control(ctx context.Context, subtype string, in, out any) error {
	answer, err := s.request(ctx, subtype, in)
	if err != nil || out == nil || rawjson.Absent(answer) {
		return err
	}
	if loose, ok := out.(*rawjson.Loose); ok {
		return s.readAnswer(subtype, answer, loose.Value)
	}
	if err := answer.Decode(out); err != nil {
		return fmt.Errorf("clew: the agent's answer to %s: %w", subtype, err)
	}
	return nil
}

// request sends a control request and returns the body of the answer, which may be absent. It
// remembers what the request changed, for an agent that takes over.
func (s *Session) request(ctx context.Context, subtype string, in any) (wire.JSON, error) {
	ctx, cancel := s.limitControl(ctx, subtype)
	defer cancel()
	answer, err := s.ask(ctx, s.control.Call, subtype, in)
	if err == nil {
		s.agent.remember(subtype, in)
	}
	return answer, err
}

// slowSubtypes are the control requests whose answers depend on a model, a server, a person or the
// length of a file.
var slowSubtypes = []string{
	"generate_session_title", "side_question", "mcp_set_servers", "mcp_reconnect", "mcp_toggle", "mcp_call",
	"mcp_read_resource", "mcp_message", "mcp_authenticate", "mcp_oauth_callback_url", "claude_authenticate",
	"claude_oauth_callback", "claude_oauth_wait_for_completion", "channel_enable", "reload_plugins", "rewind_files",
	rewindSubtype, "read_file", "register_repo_root", "submit_feedback", "submit_survey_feedback", "ultrareview_launch",
	"remote_control", "get_usage", "fork_conversation", "claim_session", "end_session",
}

// errUnanswered is the cause of the end of a control request that was not answered in time.
var errUnanswered = errors.New("the agent did not answer")

// limitControl limits the time of a control request that the agent answers by itself.
func (s *Session) limitControl(ctx context.Context, subtype string) (context.Context, context.CancelFunc) {
	if slices.Contains(slowSubtypes, subtype) {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.opts.controlTimeout(), errUnanswered)
}

// ask sends a control request with the function send.
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

// serveAgain serves the requests of the agent that an answer lists as still open. The control
// engine skips requests that are already being served.
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
		return nil, fmt.Errorf("clew: encoding %s request: %w", subtype, err)
	case bytes.Equal(fields, []byte("{}")) || bytes.Equal(fields, []byte("null")):
		return head, nil
	case fields[0] != '{':
		return nil, fmt.Errorf("clew: encoding %s request: not a JSON object", subtype)
	}
	head[len(head)-1] = ','
	return append(head, fields[1:]...), nil
}

// controlError turns an error of the control engine into a public one.
func (s *Session) controlError(ctx context.Context, subtype string, err error) error {
	if refusal, ok := errors.AsType[*control.Refusal](err); ok {
		return &ControlError{Subtype: subtype, Message: refusal.Message, Code: refusal.Code}
	}
	if lost, ok := errors.AsType[*LostError](err); ok {
		return lost
	}
	if ctx.Err() != nil && s.agent.process().hasClosedInput() {
		return fmt.Errorf("clew: %s: the agent has closed its input: %w", subtype, err)
	}
	if errors.Is(err, errUnanswered) {
		text := fmt.Sprintf("the agent did not answer within %v: it may not know the request", s.opts.controlTimeout())
		return &ControlError{Subtype: subtype, Message: text, Code: codeNoAnswer}
	}
	if ctx.Err() != nil || errors.Is(err, control.ErrBroken) {
		return fmt.Errorf("clew: %s: %w", subtype, err)
	}
	return s.errorOf(err)
}

// call sends a control request and returns the answer. A field that the answer lacks is zero, and
// so is a field that does not fit its type. The whole answer is zero when the agent only reports
// success.
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

// readAnswer decodes the answer to a control request, and logs fields that do not fit.
func (s *Session) readAnswer(subtype string, body wire.JSON, answer any) error {
	if rawjson.Absent(body) {
		return nil
	}
	return loosely(s.log, "the agent's answer to "+subtype, answer).Decode(body)
}
