package pools_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// The question that agents are asked while they wait reaches no model, and leaves no transcript.
func TestRealPoolAsksNoModel(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	s, err := clew.Connect(t.Context(), over(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.ContextSummary(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := model.AllRequests(); len(got) > 0 {
		t.Errorf("%d requests, the first to %s", len(got), got[0].Path)
	}
	transcripts, err := filepath.Glob(filepath.Join(model.ConfigDir(), "projects", "*", "*.jsonl"))
	if err != nil || len(transcripts) > 0 {
		t.Errorf("error %v, transcripts %q", err, transcripts)
	}
}

// The callbacks of the options answer for all agents.
func TestRealPoolAsksForPermission(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Make one").Reply(bash("touch one"))
	model.On("Make two").Reply(bash("touch two"))
	model.OnToolResult("").Reply(clewtest.Text("Done."))
	asked := make(chan string, 10)
	opts := over(t, model, &clew.Options{
		CanUseTool: func(_ context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
			asked <- req.ToolName
			return clew.Allow(), nil
		},
	})
	p := open(t, opts, nil)
	ask(t, p, "Make one")
	s, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Turn(t.Context(), "Make two") {
		if err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"one", "two"} {
		if _, err := os.Stat(filepath.Join(opts.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if len(asked) != 2 {
		t.Errorf("asked %d times", len(asked))
	}
}
