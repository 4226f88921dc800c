package pools_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
)

// A session of a pool gets its own directory, model, mode and settings, and the next one does not.
func TestRealClaim(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Done.")
	pool := open(t, scene.Options(t, model, nil), nil)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = pool.Claim(t.Context(), &clew.Claim{Dir: filepath.Join(dir, "missing")})
	if refused, ok := errors.AsType[*clew.ControlError](err); !ok || refused.Code != "not_found" {
		t.Errorf("a missing directory: %v", err)
	}
	_, err = pool.Claim(t.Context(), &clew.Claim{PermissionMode: "nonsense"})
	if _, ok := errors.AsType[*clew.ControlError](err); !ok {
		t.Errorf("a mode that does not exist: %v", err)
	}
	claim := &clew.Claim{
		Dir: dir, Model: "claude-sonnet-4-5", PermissionMode: clew.PermissionModePlan,
		Settings: map[string]any{"outputStyle": "Explanatory"},
	}
	s, err := pool.Claim(t.Context(), claim)
	if untrusted, ok := errors.AsType[*clew.UntrustedError](err); ok {
		claim.TrustedDirectory = untrusted.Directory
		s, err = pool.Claim(t.Context(), claim)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the pool reports it
	init := initOf(t, s)
	if init.CWD != dir || init.Model != claim.Model || init.PermissionMode != claim.PermissionMode || init.OutputStyle != "Explanatory" {
		t.Errorf("the session has %q, %q, %q, %q", init.CWD, init.Model, init.PermissionMode, init.OutputStyle)
	}
	next, err := pool.Claim(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close() //nolint:errcheck // the pool reports it
	if init := initOf(t, next); init.CWD == dir || init.Model == claim.Model || init.PermissionMode == claim.PermissionMode {
		t.Errorf("the next session has %q, %q, %q", init.CWD, init.Model, init.PermissionMode)
	}
}

// initOf returns what an agent says of itself in a turn.
func initOf(t *testing.T, s *clew.Session) *clew.InitMessage {
	t.Helper()
	var init *clew.InitMessage
	for msg, err := range s.Turn(t.Context(), clew.Text("Go")) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*clew.InitMessage); ok {
			init = m
		}
	}
	if init == nil {
		t.Fatal("the turn has no init message")
	}
	return init
}
