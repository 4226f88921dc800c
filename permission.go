package clew

import (
	"bytes"
	"context"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

func (c *callbacks) canUseTool(ctx context.Context, id string, body wire.JSON) (wire.JSON, error) {
	req, err := permission.Decode(body, logMisfits(c.log))
	if err != nil {
		return "", err
	}
	req.RequestID = id
	if req.ToolName == questionTool && c.options.OnQuestion != nil {
		return c.question(ctx, req)
	}
	decide := c.options.CanUseTool
	if decide == nil {
		decide = permitNothing
	}
	return c.guard(ctx, "CanUseTool", func() (any, error) {
		result, err := decide(ctx, req)
		if err != nil {
			return nil, err
		}
		if result == nil {
			return nil, errNoAnswer
		}
		answer, err := permissionAnswer(result, req)
		return answer, badAnswer("CanUseTool", err)
	})
}

// permissionAnswer returns the body of the response. A result without an input for the tool gets the
// input of the request, because the agent needs one.
func permissionAnswer(result permission.Result, req *permission.Request) (wire.JSON, error) {
	if allow, ok := result.(*permission.AllowResult); ok && allow.UpdatedInput == nil {
		unchanged := *allow
		unchanged.UpdatedInput = req.Input
		result = &unchanged
	}
	object, err := result.MarshalJSON()
	if err != nil || req.ToolUseID == "" {
		return wire.JSON(object), err
	}
	id, err := rawjson.Encode(req.ToolUseID)
	return wire.JSON(bytes.TrimSuffix(object, []byte("}"))) + `,"toolUseID":` + id + "}", err
}

// permitNothing denies every tool, for options without a CanUseTool. The model reads the reason.
func permitNothing(context.Context, *permission.Request) (permission.Result, error) {
	return permission.Deny("No user is present to allow this."), nil
}
