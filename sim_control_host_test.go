package clew_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewdev/clew"
)

// canUse is the agent's question whether it may use a tool. The name of the tool tells an [obliging] host what to do.
func canUse(tool string) string {
	return fmt.Sprintf(`{"subtype":"can_use_tool","tool_name":%q,"input":{"command":"ls"},"tool_use_id":"t1"}`, tool)
}

// obliging returns options whose callbacks do what the request names: a tool, a kind of dialog, the callback of a hook
// or a method of the server "own".
func obliging() *clew.Options {
	return &clew.Options{
		CanUseTool:   decide,
		OnUserDialog: showDialog,
		Hooks: map[clew.HookEvent][]clew.HookMatcher{clew.HookStop: {{Hooks: []clew.HookFunc{
			hookSays(nil),
			hookSays(&clew.HookOutput{Stop: true, StopReason: "enough"}),
			hookSays(&clew.HookOutput{Async: true, AsyncTimeout: 1500e6}),
			func(context.Context, clew.HookInput) (*clew.HookOutput, error) { return nil, errors.New("no idea") },
			func(context.Context, clew.HookInput) (*clew.HookOutput, error) { panic("at the hook") },
		}}}},
		MCPServers: map[string]clew.MCPServer{"own": &clew.MCPInProcessServer{Handler: ownServer{}}},
	}
}

func decide(_ context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	switch req.ToolName {
	case "Allow":
		return clew.Allow(), nil
	case "Change":
		return clew.AllowWith(map[string]string{"command": "pwd"}), nil
	case "Echo":
		return &clew.AllowResult{UpdatedPermissions: req.Suggestions}, nil
	case "Deny":
		return clew.Deny("not now"), nil
	case "Interrupt":
		return &clew.DenyResult{Message: "stop it", Interrupt: true}, nil
	case "Panic":
		panic("at the permission")
	case "Nobody":
		return nil, nil
	}
	return nil, errors.New("which tool?")
}

func showDialog(_ context.Context, req *clew.UserDialogRequest) (*clew.UserDialogResult, error) {
	if req.Kind == "Done" {
		return &clew.UserDialogResult{Result: 1}, nil
	}
	return nil, nil
}

func hookSays(out *clew.HookOutput) clew.HookFunc {
	return func(context.Context, clew.HookInput) (*clew.HookOutput, error) { return out, nil }
}

// ownServer answers requests with their own name.
type ownServer struct{}

func (ownServer) HandleMCP(_ context.Context, message clew.JSON) (clew.JSON, error) {
	var call struct {
		ID     clew.JSON
		Method string
	}
	if err := message.Decode(&call); err != nil || call.ID == "" {
		return "", err
	}
	return clew.JSON(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"did":%q}}`, call.ID, call.Method)), nil
}
