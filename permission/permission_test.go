package permission

import (
	"encoding/json"
	"testing"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

func TestPermissionRequestDecodeInput(t *testing.T) {
	t.Parallel()
	req := &Request{ToolName: "Bash", Input: `{"command":"ls"}`}
	var in struct{ Command string }
	if err := req.DecodeInput(&in); err != nil || in.Command != "ls" {
		t.Errorf("input %+v, %v", in, err)
	}
	var wrong struct{ Command int }
	if err := req.DecodeInput(&wrong); err == nil {
		t.Error("a text went into a number")
	}
}

// Only the changed field is encoded again.
func TestPermissionUpdateEdited(t *testing.T) {
	t.Parallel()
	const suggestion = `{"type":"addRules","rules":[{"toolName":"Bash","since":1.0}],"behavior":"allow",` +
		`"destination":"localSettings","note":[2]}`
	for name, test := range map[string]struct {
		edit func(*Update)
		want string
	}{
		"nothing": {func(*Update) {}, suggestion},
		"the destination": {
			func(u *Update) { u.Destination = DestinationSession },
			`{"behavior":"allow","destination":"session","note":[2],"rules":[{"toolName":"Bash","since":1.0}],` +
				`"type":"addRules"}`,
		},
		"a rule": {
			func(u *Update) { u.Rules[0].RuleContent = "ls" },
			`{"behavior":"allow","destination":"localSettings","note":[2],` +
				`"rules":[{"toolName":"Bash","ruleContent":"ls"}],"type":"addRules"}`,
		},
		"a field taken out and one put in": {
			func(u *Update) { u.Behavior, u.Mode = "", "plan" },
			`{"destination":"localSettings","mode":"plan","note":[2],"rules":[{"toolName":"Bash","since":1.0}],` +
				`"type":"addRules"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var u Update
			if err := json.Unmarshal([]byte(suggestion), &u); err != nil {
				t.Fatal(err)
			}
			test.edit(&u)
			if got, err := rawjson.Encode(u); err != nil || got != wire.JSON(test.want) {
				t.Errorf("update %s, %v\nwant   %s", got, err, test.want)
			}
		})
	}
}

func TestPermissionUpdateMadeByHand(t *testing.T) {
	t.Parallel()
	for want, update := range map[wire.JSON]Update{
		`{"type":"addRules","rules":[{"toolName":"Read"}],"behavior":"deny","destination":"userSettings"}`: AddRules(
			DestinationUserSettings, BehaviorDeny, Rule{ToolName: "Read"}),
		`{"type":"setMode","mode":"plan","destination":"session"}`: SetMode(
			DestinationSession, wire.PermissionModePlan),
		`{"type":"addDirectories","directories":["/a","/b"],"destination":"projectSettings"}`: AddDirectories(
			DestinationProjectSettings, "/a", "/b"),
	} {
		if got, err := rawjson.Encode(update); err != nil || got != want {
			t.Errorf("update %s, %v\nwant   %s", got, err, want)
		}
	}
}

func TestPermissionUpdateNotJSON(t *testing.T) {
	t.Parallel()
	if err := new(Update).UnmarshalJSON([]byte(`{"type":`)); err == nil {
		t.Error("half an object was read")
	}
}

// A suggestion that is not an object can be sent back or replaced, but not edited.
func TestPermissionUpdateNoObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]wire.JSON{`null`: `{"type":"setMode"}`, `"text"`: "", `[1]`: ""} {
		var u Update
		if err := u.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		u.Type = UpdateSetMode
		if got, err := rawjson.Encode(u); got != want || (err != nil) != (want == "") {
			t.Errorf("%s became %s, %v; want %s", text, got, err, want)
		}
	}
}
