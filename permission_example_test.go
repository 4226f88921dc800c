package clew_test

import (
	"context"

	"github.com/clewdev/clew"
)

// A host lets the agent run tests, and nothing else that has to be asked for.
func ExampleCanUseToolFunc() {
	_ = &clew.Options{
		CanUseTool: func(_ context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
			if req.ToolName != "Bash" {
				return clew.Deny("Only commands, please."), nil
			}
			var in struct{ Command string }
			if err := req.DecodeInput(&in); err != nil {
				return nil, err
			}
			// The whole command: a beginning may go on with "; rm -rf .".
			if in.Command != "go test ./..." {
				return clew.Deny("Only go test ./..., please."), nil
			}
			return clew.Allow(), nil
		},
	}
}

// A host lets the agent do what it asks for, and spares itself the next such question in this session.
func ExampleAllowResult() {
	_ = &clew.Options{
		CanUseTool: func(_ context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
			result := clew.Allow()
			for _, update := range req.Suggestions {
				if update.Type == clew.PermissionUpdateAddRules {
					update.Destination = clew.PermissionDestinationSession
					result.UpdatedPermissions = append(result.UpdatedPermissions, update)
				}
			}
			return result, nil
		},
	}
}
