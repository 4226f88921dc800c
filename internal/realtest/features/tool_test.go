package features_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

func TestRealTool(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Run it").Reply(clewtest.Text("Running."), bash("echo one; echo two >&2"))
	model.OnToolResult("one").Reply(clewtest.Text("It ran."))
	k := query(t, model, "Run it", &clew.Options{AllowedTools: []string{"Bash"}})
	use, result := only(t, k.answer().ToolUses()), only(t, k.toolResults())
	if use.Name != "Bash" || use.ID != result.ToolUseID {
		t.Errorf("use %s, result %s", use.Raw(), result.Raw())
	}
	if result.Failed() || result.Text() != "one\ntwo" {
		t.Errorf("result %s", result.Raw())
	}
	if k.result.Result != "It ran." || k.result.NumTurns != 2 {
		t.Errorf("result %s", k.result.Raw())
	}
}

// No tool runs before the hooks of all three wait at once.
func TestRealParallelTools(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Run them").Reply(bash("echo one"), bash("echo two"), bash("echo three"))
	model.OnToolResult("").Reply(clewtest.Text("All ran."))
	var waiting atomic.Int32
	all := make(chan struct{})
	meet := func(ctx context.Context, _ clew.HookInput) (*clew.HookOutput, error) {
		if waiting.Add(1) == 3 {
			close(all)
		}
		select {
		case <-all:
			return nil, nil
		case <-ctx.Done():
			return nil, errors.New("the others did not come")
		}
	}
	k := query(t, model, "Run them", &clew.Options{
		AllowedTools: []string{"Bash"},
		Hooks: map[clew.HookEvent][]clew.HookMatcher{
			clew.HookPreToolUse: {{Hooks: []clew.HookFunc{meet}, Timeout: 30 * time.Second, OnFailure: clew.HookFailureBlock}},
		},
	})
	var got []string
	for _, result := range newest(model).ToolResults() {
		got = append(got, result.Text())
	}
	slices.Sort(got) // the first to end comes first
	if diff := cmp.Diff([]string{"one", "three", "two"}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if n := len(k.toolResults()); n != 3 {
		t.Errorf("%d results", n)
	}
}
