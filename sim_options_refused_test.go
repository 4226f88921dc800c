package clew_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew"
)

// Options that can't be used are refused before anything starts, by whatever the session is opened with.
func TestRefusedOptionsStartNothing(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	ask := func(context.Context, *clew.PermissionRequest) (clew.PermissionResult, error) {
		return clew.Allow(), nil
	}
	for name, test := range map[string]struct {
		opts   clew.Options
		option string
		reason string // part of it
	}{
		"two who decide": {
			clew.Options{CanUseTool: ask, PermissionPromptTool: "mcp__a__b"}, "PermissionPromptTool", "CanUseTool",
		},
		"a skill that is a rule":  {clew.Options{Skills: []string{"x),Bash(*"}}, "Skills", "x),Bash(*"},
		"a folder that isn't":     {clew.Options{Dir: missing}, "Dir", missing},
		"a value with a NUL":      {clew.Options{Model: "a\x00b"}, "Model", "NUL"},
		"an argument without a -": {clew.Options{ExtraArgs: []string{"rm"}}, "ExtraArgs", "rm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := test.opts
			opts.AgentPath = missing // starting it would be another error
			_, connect := clew.Connect(t.Context(), &opts)
			_, run := clew.Run(t.Context(), "Hi", &opts)
			for _, err := range []error{connect, run} {
				refused, ok := errors.AsType[*clew.OptionsError](err)
				if !ok || refused.Option != test.option || !strings.Contains(refused.Reason, test.reason) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

func TestMissingAgent(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := clew.Connect(t.Context(), &clew.Options{AgentPath: missing})
	if _, ok := errors.AsType[*clew.NotFoundError](err); !ok || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v", err)
	}
}
