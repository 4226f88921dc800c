package features_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A recipe is what the model is asked for.
type recipe struct {
	Name    string   `json:"name"`
	Minutes int      `json:"minutes" jsonschema:"how long it takes"`
	Steps   []string `json:"steps"`
}

var (
	tea      = recipe{Name: "Tea", Minutes: 4, Steps: []string{"Boil", "Wait"}}
	teaReply = clewtest.ToolUse("StructuredOutput", tea)
	badReply = clewtest.ToolUse("StructuredOutput", map[string]any{"name": "Tea", "minutes": "four", "steps": []string{}})
)

func TestRealRunAs(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Make tea").Reply(teaReply)
	got, result, err := clew.RunAs[recipe](t.Context(), "Make tea", over(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tea, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if result.StructuredOutput == "" {
		t.Errorf("result %s", result.Raw())
	}
	wantText(t, "the request", string(newest(model).Body), "how long it takes")
}

func TestRealRunAsWithoutStruct(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Count").Reply(clewtest.ToolUse("StructuredOutput", map[string]any{"value": []int{1, 2, 3}}))
	got, _, err := clew.RunAs[[]int](t.Context(), "Count", over(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// The agent shows the model what is wrong with its answer.
func TestRealRunAsCorrected(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Make tea").Reply(badReply)
	model.OnToolResult("minutes").Reply(teaReply)
	got, _, err := clew.RunAs[recipe](t.Context(), "Make tea", over(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tea, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestRealRunAsRetriesExhausted(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("").Reply(badReply)
	_, result, err := clew.RunAs[recipe](t.Context(), "Make tea", over(t, model, nil))
	var failed *clew.ResultError
	if !errors.As(err, &failed) || failed.Result != result ||
		result.Subtype != wire.ResultErrorMaxStructuredOutputRetries {
		t.Fatalf("error %v", err)
	}
	wantText(t, "the error", err.Error(), "minutes")
	if n := len(model.Requests()); n < 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestRealRunAsWithoutAnswer(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("No idea.")
	_, result, err := clew.RunAs[recipe](t.Context(), "Make tea", over(t, model, nil))
	var missing *clew.OutputError
	if !errors.As(err, &missing) || missing.Text != "No idea." || missing.Raw != "" || result == nil {
		t.Errorf("error %v, result %v", err, result)
	}
}
