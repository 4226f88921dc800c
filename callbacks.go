package clew

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/internal/mcphost"
	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// callbacks answers the requests of the agent with the callbacks of the options. It may serve any
// number of requests at once: only mcp changes after newCallbacks, and it has locks.
type callbacks struct {
	options *Options
	log     *slog.Logger
	mcp     *mcphost.Host
	trace   *tracer // nil if there is none
	// sendMCP sends a message of an in-process MCP server to the agent.
	sendMCP func(ctx context.Context, server string, message wire.JSON) error

	// hookFuncs are by the id that the agent uses for them; hookMatchers are sent by initialize.
	hookFuncs    map[string]*registeredHook
	hookMatchers map[hook.Event][]hookMatcher
}

func newCallbacks(o *Options) *callbacks {
	c := &callbacks{options: o, log: o.logger()}
	c.mcp = mcphost.New(mcphost.Config{
		Log: c.log,
		Send: func(ctx context.Context, server string, message wire.JSON) error {
			return c.sendMCP(ctx, server, message)
		},
		Guard: c.guard,
	}, hosted(inProcessServers(o.MCPServers)))
	c.registerHooks(o.Hooks)
	return c
}

// errNoAnswer means that no response is written: another host answers, or no answer is needed.
var errNoAnswer = control.ErrNoAnswer

// An unsupportedError reports a request of the agent that this package does not know or does not
// answer.
type unsupportedError struct{ subtype string }

func (e *unsupportedError) Error() string {
	return fmt.Sprintf("clew: control request %q is not supported", e.subtype)
}

// Code returns the error_code of the response.
func (e *unsupportedError) Code() string { return "unsupported_request" }

// serve answers one request and returns when the callback does. The value marshals to the body of
// the response. The text of an error goes to the agent; errNoAnswer means that no response is
// written. The callback gets the context, which ends when the agent withdraws the request or exits.
func (c *callbacks) serve(ctx context.Context, req *wire.ControlRequestMessage) (any, error) {
	ctx, traced := c.trace.asked(ctx, req)
	answer, err := c.answer(ctx, req)
	c.trace.answered(ctx, traced, answer, err)
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
		return c.mcp.Serve(ctx, body)
	case "elicitation":
		return c.elicitation(ctx, body)
	case "request_user_dialog":
		return c.userDialog(ctx, body)
	case "oauth_token_refresh":
		return c.oauthToken(ctx, body)
	case "host_auth_token_refresh":
		return c.hostAuthToken(ctx, body)
	case "remote_tool_call", "remote_plumbing_call", "remote_tools_probe", "remote_tools_reannounce":
		return "", errNoAnswer // hosts don't answer these
	default:
		return "", &unsupportedError{subtype}
	}
}

// guard runs a callback and encodes its result. A panic in the callback, or in the MarshalJSON of
// its result, becomes an error. Errors are logged.
func (c *callbacks) guard(ctx context.Context, name string, run func() (any, error)) (answer wire.JSON, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = "", fmt.Errorf("clew: panic in %s: %s", name, redact.Mask(fmt.Sprint(p)))
			c.log.ErrorContext(ctx, err.Error(), "stack", string(debug.Stack()))
			return
		}
		withdrawn := ctx.Err() != nil && errors.Is(err, context.Canceled)
		if err != nil && !withdrawn && !errors.Is(err, errNoAnswer) {
			c.log.WarnContext(ctx, "callback failed", "callback", name, "error", redact.Mask(err.Error()))
		}
	}()
	value, err := run()
	if err != nil {
		return "", err
	}
	answer, err = rawjson.Encode(value)
	return answer, badAnswer(name, err)
}

// badAnswer adds the name of the callback to an error about its answer. Nil stays nil.
func badAnswer(callback string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("clew: the answer of %s: %w", callback, err)
}

// loosely returns a decoder of v that logs fields that do not fit their type, and fails for
// required ones. what names the data in errors.
func loosely(log *slog.Logger, what string, v any, required ...string) *rawjson.Loose {
	return &rawjson.Loose{What: what, Value: v, Required: required, Report: logMisfits(log)}
}

// logMisfits returns a function that logs a field that does not fit its type.
func logMisfits(log *slog.Logger) func(field string, err error) {
	return func(field string, err error) {
		log.Warn("the agent sent a field of an unexpected type", "field", field, "error", err)
	}
}
