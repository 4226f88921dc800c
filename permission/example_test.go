package permission_test

import (
	"context"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/permission"
)

// A host lets the agent run tests, and nothing else that has to be asked for.
func ExampleFunc() {
	_ = &clew.Options{
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
			if req.ToolName != "Bash" {
				return permission.Deny("Only commands, please."), nil
			}
			var in struct{ Command string }
			if err := req.DecodeInput(&in); err != nil {
				return nil, err
			}
			// Compare the whole command: a prefix could be followed by "; rm -rf .".
			if in.Command != "go test ./..." {
				return permission.Deny("Only go test ./..., please."), nil
			}
			return permission.Allow(), nil
		},
	}
}

// A host lets the agent do what it asks for, and spares itself the next such question in this
// session.
func ExampleAllowResult() {
	_ = &clew.Options{
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
			result := permission.Allow()
			for _, update := range req.Suggestions {
				if update.Type == permission.UpdateAddRules {
					update.Destination = permission.DestinationSession
					result.UpdatedPermissions = append(result.UpdatedPermissions, update)
				}
			}
			return result, nil
		},
	}
}
