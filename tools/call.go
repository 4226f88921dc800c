package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type requestKey struct{}

// Request returns the request that the function of a tool is called for, with the session of its
// server. It returns nil outside of a call.
func Request(ctx context.Context) *mcp.CallToolRequest {
	req, _ := ctx.Value(requestKey{}).(*mcp.CallToolRequest)
	return req
}

// Progress reports the progress of a call to the agent, and returns when the report is sent. done
// must grow from call to call. total is 0 if it is not known. It does nothing if the agent does not
// want to know, and outside of a call.
func Progress(ctx context.Context, done, total float64, message string) {
	req := Request(ctx)
	if req == nil || req.Params.GetProgressToken() == nil {
		return
	}
	err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: req.Params.GetProgressToken(), Progress: done, Total: total, Message: message,
	})
	if err != nil {
		logger(ctx).DebugContext(ctx, "progress was not reported", "tool", req.Params.Name, "error", err)
	}
}

// handler returns what a server calls for a tool. It never fails: what goes wrong is a result.
func handler(name string, schema *jsonschema.Resolved, call func(context.Context, json.RawMessage) (*Result, error),
) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*Result, error) {
		ctx = context.WithValue(ctx, requestKey{}, req)
		result, err := protect(ctx, "tool "+name, func() (*Result, error) {
			input, err := checked(req.Params.Arguments, schema)
			if err != nil {
				return Failure(err.Error()), nil
			}
			result, err := call(ctx, input)
			if err != nil {
				return Failure(err.Error()), nil
			}
			return result, nil
		})
		if err != nil {
			return Failure(err.Error()), nil
		}
		return result, nil
	}
}

// checked returns a call's input, if it fits the schema. No input is an empty one.
func checked(input json.RawMessage, schema *jsonschema.Resolved) (json.RawMessage, error) {
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	var value map[string]any
	if err := json.Unmarshal(input, &value); err != nil {
		return nil, fmt.Errorf("the input is not an object: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return nil, fmt.Errorf("the input does not fit the schema: %w", err)
	}
	return input, nil
}

// errNoReturn is the error of a function that ended its goroutine, as the Fatal of a test does.
var errNoReturn = errors.New("the function did not return")

// protect runs f, and makes an error of a panic in it.
func protect[T any](ctx context.Context, what string, f func() (T, error)) (value T, err error) {
	err = errNoReturn
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic in %s: %v", what, p)
				logger(ctx).ErrorContext(ctx, err.Error(), "stack", string(debug.Stack()))
			}
		}()
		value, err = f()
	}()
	<-done
	return value, err
}

type loggerKey struct{}

// logger returns the logger of the session that a call is for.
func logger(ctx context.Context) *slog.Logger {
	if log, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok && log != nil {
		return log
	}
	return slog.New(slog.DiscardHandler)
}
