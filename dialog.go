package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// A UserDialogFunc shows a dialog of the agent to the user. The agent asks only for the kinds of dialogs that
// [Options.SupportedDialogKinds] names.
//
// Nil without an error means that somebody else answers: nothing is sent, and the agent goes on waiting. Calls may run
// at once. The context ends when the agent no longer needs the answer or dies.
type UserDialogFunc func(ctx context.Context, req *UserDialogRequest) (*UserDialogResult, error)

// A UserDialogRequest asks for a dialog.
type UserDialogRequest struct {
	raw wire.JSON

	Kind string `json:"dialog_kind"`
	// Payload is what the dialog shows. Its shape depends on the kind.
	Payload wire.JSON `json:"payload"`
	// ToolUseID is the tool call that the dialog belongs to, or empty.
	ToolUseID string `json:"tool_use_id"`
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *UserDialogRequest) Raw() wire.JSON { return r.raw }

// A UserDialogResult is how a dialog ended.
type UserDialogResult struct {
	// Result is what the user chose, anything that marshals to JSON. Its shape depends on the kind of the dialog.
	Result any
	// Cancelled says that the user closed the dialog. Result does not count then.
	Cancelled bool
}

func (c *callbacks) userDialog(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	if c.options.OnUserDialog == nil {
		return "", errNoAnswer
	}
	req := &UserDialogRequest{raw: body}
	if err := decode("request_user_dialog", body, req); err != nil {
		return "", err
	}
	return c.guard(ctx, "OnUserDialog", func() (any, error) {
		result, err := c.options.OnUserDialog(ctx, req)
		switch {
		case err != nil:
			return nil, err
		case result == nil:
			return nil, errNoAnswer
		case result.Cancelled:
			return map[string]any{"behavior": "cancelled"}, nil
		}
		return map[string]any{"behavior": "completed", "result": result.Result}, nil
	})
}
