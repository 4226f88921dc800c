package transcript

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each recorded result has the decision about its call, whether or not it has a structured result.
func TestPermissionsOfRecordings(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, pattern := range []string{"testdata/recorded/*/*.jsonl", "testdata/recorded/*/subagents/*.jsonl", "../cmd/clew/internal/demo/recording/past/*/*.jsonl"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		paths = append(paths, found...)
	}
	found := map[PermissionDecision]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Read(bytes.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range tr.All() {
			switch {
			case !item.IsCall() || !item.HasResult:
			case item.Permission == nil:
				t.Errorf("%s: %s %s has no permission", path, item.ToolName, item.ToolID)
			default:
				found[*item.Permission] = true
				if isBash := item.ToolName == "Bash"; !item.ToolError && isBash != (item.Sandboxed != nil) {
					t.Errorf("%s: %s %s: sandboxed %v", path, item.ToolName, item.ToolID, item.Sandboxed)
				}
			}
		}
	}
	want := []PermissionDecision{
		{Decision: "accept", Source: "config"},
		{Decision: "accept", Source: "config", ReasonType: "mode"},
		{Decision: "accept", Source: "config", ReasonType: "rule", RuleSource: "cliArg"},
		{Decision: "accept", Source: "user_temporary", GrantScope: "once", ReasonCode: "unknown"},
		{Decision: "reject", Source: "user_reject", ReasonCode: "unknown"},
	}
	got := slices.SortedFunc(maps.Keys(found), func(a, b PermissionDecision) int {
		return strings.Compare(a.Decision+a.Source+a.ReasonType, b.Decision+b.Source+b.ReasonType)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Of two results the decision of the last one counts, and one without a decision has none.
func TestPermissionOfLastResult(t *testing.T) {
	t.Parallel()
	const call = `{"type":"assistant","uuid":"a","parentUuid":null,"message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}` + "\n"
	result := func(uuid, members string) string {
		return `{"type":"user","uuid":"` + uuid + `","parentUuid":"a"` + members +
			`,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}` + "\n"
	}
	for _, test := range []struct {
		text string
		want *PermissionDecision
	}{
		{call, nil},
		{call + result("b", `,"permissionDecision":{"decision":"reject"}`), &PermissionDecision{Decision: "reject"}},
		{call + result("b", `,"permissionDecision":{"decision":"reject"}`) + result("c", ""), nil},
	} {
		b := NewBuilder(nil)
		for line := range strings.Lines(test.text) {
			e, err := DecodeEntry([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			b.Add(&e)
		}
		if diff := cmp.Diff(test.want, b.Transcript().Chunks[0].Items[0].Permission); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.text, diff)
		}
	}
}
