package hook

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// The constants are the events that the agent has, and each has an input.
func TestHookEventsAreComplete(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("hook.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, match := range regexp.MustCompile(`(?m)^\t\w+ Event = "(\w+)"$`).FindAllStringSubmatch(string(source), -1) {
		declared = append(declared, match[1])
		if inputs[Event(match[1])] == nil {
			t.Errorf("%s has no input", match[1])
		}
	}
	if len(inputs) != len(declared) {
		t.Errorf("%d inputs for %d events", len(inputs), len(declared))
	}
	want := wire.HookEvents()
	slices.Sort(declared)
	slices.Sort(want)
	if diff := cmp.Diff(want, declared); diff != "" {
		t.Errorf("constants (-want +got):\n%s", diff)
	}
}
