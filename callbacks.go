package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/internal/redact"
	"github.com/clewdev/clew/wire"
)

// callbacks answers the requests of the agent with what the caller of this package has set in its options. Any
// number of requests may be served at once: nothing in it changes once it is made, but for mcp, which has locks.
type callbacks struct {
	options *Options
	log     *slog.Logger
	mcp     *mcpServers

	// hookFuncs are by the id that the agent calls them by; hookMatchers are what it is told of them.
	hookFuncs    map[string]*registeredHook
	hookMatchers map[HookEvent][]hookMatcher
}

func newCallbacks(o *Options) *callbacks {
	c := &callbacks{options: o, log: o.logger()}
	c.mcp = newMCPServers(o, c.log)
	c.registerHooks(o.Hooks)
	return c
}

// errNoAnswer says that no response is to be written: somebody else answers, or nobody has to.
var errNoAnswer = control.ErrNoAnswer

// An unsupportedError says that this package does not know a request of the agent, or does not answer such ones.
type unsupportedError struct{ subtype string }

func (e *unsupportedError) Error() string {
	return fmt.Sprintf("clew: control request %q is not supported", e.subtype)
}

// Code is what the response says under error_code.
func (e *unsupportedError) Code() string { return "unsupported_request" }

// serve answers one request, and returns when the callback does. The value marshals to the body of the response.
// The text of an error is for the agent; errNoAnswer means that no response is written. The context is that of the
// callback: it ends when the agent withdraws the request or dies.
func (c *callbacks) serve(ctx context.Context, req *wire.ControlRequestMessage) (any, error) {
	answer, err := c.answer(ctx, req)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (c *callbacks) answer(ctx context.Context, req *wire.ControlRequestMessage) (wire.JSON, error) {
	body := wire.JSON(req.Request.Raw())
	switch subtype := req.Request.Subtype; subtype {
	case "can_use_tool":
		return c.canUseTool(ctx, req.RequestID, body)
	case "hook_callback":
		return c.hookCallback(ctx, body)
	case "mcp_message":
		return c.mcpMessage(ctx, body)
	case "elicitation":
		return c.elicitation(ctx, body)
	case "request_user_dialog":
		return c.userDialog(ctx, body)
	case "oauth_token_refresh":
		return c.oauthToken(ctx, body)
	case "host_auth_token_refresh":
		return c.hostAuthToken(ctx, body)
	case "remote_tool_call", "remote_plumbing_call", "remote_tools_probe", "remote_tools_reannounce":
		return "", errNoAnswer // hosts leave these unanswered
	default:
		return "", &unsupportedError{subtype}
	}
}

// guard runs a callback and encodes what it returns. A panic, be it in the callback or in the MarshalJSON of a value
// of the caller, becomes an error. Errors are logged.
func (c *callbacks) guard(ctx context.Context, name string, run func() (any, error)) (answer wire.JSON, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = "", fmt.Errorf("clew: panic in %s: %s", name, redact.Mask(fmt.Sprint(p)))
			c.log.ErrorContext(ctx, err.Error(), "stack", string(debug.Stack()))
			return
		}
		withdrawn := ctx.Err() != nil && errors.Is(err, context.Canceled)
		if err != nil && !withdrawn && !errors.Is(err, errNoAnswer) {
			c.log.WarnContext(ctx, "a callback has failed", "callback", name, "error", redact.Mask(err.Error()))
		}
	}()
	value, err := run()
	if err != nil {
		return "", err
	}
	answer, err = encode(value)
	return answer, badAnswer(name, err)
}

// badAnswer names the callback whose answer cannot be sent. Nil stays nil.
func badAnswer(callback string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("clew: the answer of %s: %w", callback, err)
}

// decode reads part of a request into v. The error names the request and, if a value is of the wrong type, the field.
func decode(request string, data wire.JSON, v any) error {
	err := data.Decode(v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			request += ": field " + wrong.Field
		}
		return fmt.Errorf("clew: %s has the wrong type: %s", request, wrong.Value)
	}
	if err != nil {
		return fmt.Errorf("clew: %s: %w", request, err)
	}
	return nil
}

// encode writes v as JSON. It leaves <, > and & as they are, so that what the agent said goes back as it came.
func encode(v any) (wire.JSON, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return wire.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// absent reports whether a field is not there, or null, which is the same.
func absent(field wire.JSON) bool { return field == "" || field == "null" }

// A looseReader reads what the agent says even if a field is not of the type that it had when this package was written.
type looseReader struct {
	what string // is read
	log  *slog.Logger
}

// decode reads an object into v. A member that does not fit there stays zero and is logged, unless it is vital: then
// that is the error. What is no object is an error, too, and so is a member that does not fit into a v that reads
// itself.
func (r looseReader) decode(data wire.JSON, v any, vital ...string) error {
	err := decode(r.what, data, v)
	if _, ok := v.(json.Unmarshaler); err == nil || ok {
		return err
	}
	var members map[string]wire.JSON
	if data.Decode(&members) != nil {
		return err
	}
	// One by one: a member that reads itself and fails would end the reading of all others.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member, err := encode(map[string]wire.JSON{name: members[name]})
		if err == nil {
			err = decode(r.what, member, v)
		}
		switch {
		case err != nil && slices.Contains(vital, name):
			return err
		case err != nil:
			r.log.Warn("the agent has sent a field that does not fit its type", "field", name, "error", err)
		}
	}
	return nil
}
