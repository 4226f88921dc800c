package permission

import (
	"encoding/json"
	"errors"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// An Update is one change of the agent's permissions. Its type determines the fields it uses.
//
// An update that comes from the agent keeps the fields that this package does not know, and goes
// back to the agent unchanged, except for fields that the caller changed.
type Update struct {
	raw wire.JSON

	// Type is the kind of change.
	Type UpdateType `json:"type"`
	// Rules are for addRules, replaceRules and removeRules.
	Rules []Rule `json:"rules,omitempty"`
	// Behavior is the behavior of the rules.
	Behavior Behavior `json:"behavior,omitempty"`
	// Mode is for setMode.
	Mode wire.PermissionMode `json:"mode,omitempty"`
	// Directories are for addDirectories and removeDirectories.
	Directories []string `json:"directories,omitempty"`
	// Destination is the place where the change is kept.
	Destination Destination `json:"destination,omitempty"`
}

// An UpdateType is the kind of a [Update].
type UpdateType string

// The changes that the agent knows.
const (
	UpdateAddRules          UpdateType = "addRules"
	UpdateReplaceRules      UpdateType = "replaceRules"
	UpdateRemoveRules       UpdateType = "removeRules"
	UpdateSetMode           UpdateType = "setMode"
	UpdateAddDirectories    UpdateType = "addDirectories"
	UpdateRemoveDirectories UpdateType = "removeDirectories"
)

// A Destination is a place where permission changes are kept.
type Destination string

// The destinations that the agent knows. Those that end in Settings are files, and stay after the
// session.
const (
	DestinationUserSettings    Destination = "userSettings"
	DestinationProjectSettings Destination = "projectSettings"
	DestinationLocalSettings   Destination = "localSettings"
	DestinationSession         Destination = "session"
	DestinationCLIArg          Destination = "cliArg"
)

// A Rule names uses of a tool.
type Rule struct {
	// ToolName is the name of the tool.
	ToolName string `json:"toolName"`
	// RuleContent limits the rule to some uses, such as "npm test *" for Bash. Empty means all.
	RuleContent string `json:"ruleContent,omitempty"`
}

// AddRules returns a change that adds rules with the given behavior.
func AddRules(to Destination, behavior Behavior, rules ...Rule) Update {
	return Update{Type: UpdateAddRules, Rules: rules, Behavior: behavior, Destination: to}
}

// SetMode returns a change of the permission mode.
func SetMode(to Destination, mode wire.PermissionMode) Update {
	return Update{Type: UpdateSetMode, Mode: mode, Destination: to}
}

// AddDirectories returns a change that adds directories in which the agent may work.
func AddDirectories(to Destination, directories ...string) Update {
	return Update{Type: UpdateAddDirectories, Directories: directories, Destination: to}
}

// knownUpdate is a Update without its methods: it encodes only the known fields.
type knownUpdate Update

// UnmarshalJSON decodes u. A field that does not fit its type is zero: it belongs to a kind of
// change that this package does not know. It is kept all the same.
func (u *Update) UnmarshalJSON(data []byte) error {
	var known knownUpdate
	err := json.Unmarshal(data, &known)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !ok {
		return err
	}
	*u = Update(known)
	u.raw = wire.JSON(data)
	return nil
}

// MarshalJSON encodes u, with the fields that this package does not know.
func (u Update) MarshalJSON() ([]byte, error) {
	now, err := rawjson.Encode(knownUpdate(u))
	if err != nil || u.raw == "" {
		return []byte(now), err
	}
	var before Update
	if err := u.raw.Decode(&before); err != nil {
		return nil, err
	}
	then, err := rawjson.Encode(knownUpdate(before))
	if err != nil || then == now {
		return []byte(u.raw), err
	}
	edited, err := overlay(u.raw, then, now)
	return []byte(edited), err
}

// overlay returns the object raw with the fields that differ between then, which is raw as it was
// decoded, and now.
func overlay(raw, then, now wire.JSON) (wire.JSON, error) {
	var all, old, edited map[string]wire.JSON
	if err := errors.Join(raw.Decode(&all), then.Decode(&old), now.Decode(&edited)); err != nil {
		return "", err
	}
	for name, value := range all {
		if old[name] == edited[name] {
			edited[name] = value
		}
	}
	return rawjson.Encode(edited)
}
