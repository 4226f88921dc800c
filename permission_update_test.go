package clew

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/clewdev/clew/wire"
)

// What the agent suggests goes back as it came, whether this package knows it or not.
func TestPermissionUpdateEchoed(t *testing.T) {
	t.Parallel()
	suggestions := `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"a && b <c>","since":1.0}],` +
		`"behavior":"allow","destination":"session","note":"\u00e9"},` +
		`{"rules":[],"type":"removeRules"},{"type":"brandNew","mode":{"of":"being"},"rules":7},"text",null,[1]]`
	o := &Options{CanUseTool: func(_ context.Context, req *PermissionRequest) (PermissionResult, error) {
		return &AllowResult{UpdatedPermissions: req.Suggestions}, nil
	}}
	req := request(t, `{"subtype":"can_use_tool","tool_name":"Bash","input":{},"permission_suggestions":`+suggestions+`}`)
	got, err := newCallbacks(o).serve(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if want := wire.JSON(`{"behavior":"allow","updatedInput":{},"updatedPermissions":` + suggestions + `}`); got != want {
		t.Errorf("answer %s\nwant   %s", got, want)
	}
}

// A changed field is written anew, and the rest stays.
func TestPermissionUpdateEdited(t *testing.T) {
	t.Parallel()
	const suggestion = `{"type":"addRules","rules":[{"toolName":"Bash","since":1.0}],"behavior":"allow",` +
		`"destination":"localSettings","note":[2]}`
	for name, test := range map[string]struct {
		edit func(*PermissionUpdate)
		want string
	}{
		"nothing": {func(*PermissionUpdate) {}, suggestion},
		"the destination": {
			func(u *PermissionUpdate) { u.Destination = PermissionDestinationSession },
			`{"behavior":"allow","destination":"session","note":[2],"rules":[{"toolName":"Bash","since":1.0}],` +
				`"type":"addRules"}`,
		},
		"a rule": {
			func(u *PermissionUpdate) { u.Rules[0].RuleContent = "ls" },
			`{"behavior":"allow","destination":"localSettings","note":[2],` +
				`"rules":[{"toolName":"Bash","ruleContent":"ls"}],"type":"addRules"}`,
		},
		"a field taken out and one put in": {
			func(u *PermissionUpdate) { u.Behavior, u.Mode = "", "plan" },
			`{"destination":"localSettings","mode":"plan","note":[2],"rules":[{"toolName":"Bash","since":1.0}],` +
				`"type":"addRules"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var u PermissionUpdate
			if err := json.Unmarshal([]byte(suggestion), &u); err != nil {
				t.Fatal(err)
			}
			test.edit(&u)
			if got, err := encode(u); err != nil || got != wire.JSON(test.want) {
				t.Errorf("update %s, %v\nwant   %s", got, err, test.want)
			}
		})
	}
}

func TestPermissionUpdateMadeByHand(t *testing.T) {
	t.Parallel()
	for want, update := range map[wire.JSON]PermissionUpdate{
		`{"type":"addRules","rules":[{"toolName":"Read"}],"behavior":"deny","destination":"userSettings"}`: AddRules(
			PermissionDestinationUserSettings, PermissionBehaviorDeny, PermissionRule{ToolName: "Read"}),
		`{"type":"setMode","mode":"plan","destination":"session"}`: SetMode(
			PermissionDestinationSession, wire.PermissionModePlan),
		`{"type":"addDirectories","directories":["/a","/b"],"destination":"projectSettings"}`: AddDirectories(
			PermissionDestinationProjectSettings, "/a", "/b"),
	} {
		if got, err := encode(update); err != nil || got != want {
			t.Errorf("update %s, %v\nwant   %s", got, err, want)
		}
	}
}

func TestPermissionUpdateNotJSON(t *testing.T) {
	t.Parallel()
	if err := new(PermissionUpdate).UnmarshalJSON([]byte(`{"type":`)); err == nil {
		t.Error("half an object was read")
	}
}

// What is no object at all can be echoed, and replaced, but not edited.
func TestPermissionUpdateNoObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]wire.JSON{`null`: `{"type":"setMode"}`, `"text"`: "", `[1]`: ""} {
		var u PermissionUpdate
		if err := u.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		u.Type = PermissionUpdateSetMode
		if got, err := encode(u); got != want || (err != nil) != (want == "") {
			t.Errorf("%s became %s, %v; want %s", text, got, err, want)
		}
	}
}
