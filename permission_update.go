package clew

import (
	"encoding/json"
	"errors"

	"github.com/clewdev/clew/wire"
)

// A PermissionUpdate is one change of the agent's permissions. Which fields count depends on its type.
//
// One that came from the agent goes back as it came, with all that this package does not know of it; where a field was
// changed, only that field is written anew.
type PermissionUpdate struct {
	raw wire.JSON

	Type PermissionUpdateType `json:"type"`
	// Rules and Behavior are for addRules, replaceRules and removeRules.
	Rules    []PermissionRule   `json:"rules,omitempty"`
	Behavior PermissionBehavior `json:"behavior,omitempty"`
	// Mode is for setMode.
	Mode wire.PermissionMode `json:"mode,omitempty"`
	// Directories are for addDirectories and removeDirectories.
	Directories []string `json:"directories,omitempty"`
	// Destination is where the change is kept.
	Destination PermissionDestination `json:"destination,omitempty"`
}

// A PermissionUpdateType says what a [PermissionUpdate] changes.
type PermissionUpdateType string

// The changes that the agent knows.
const (
	PermissionUpdateAddRules          PermissionUpdateType = "addRules"
	PermissionUpdateReplaceRules      PermissionUpdateType = "replaceRules"
	PermissionUpdateRemoveRules       PermissionUpdateType = "removeRules"
	PermissionUpdateSetMode           PermissionUpdateType = "setMode"
	PermissionUpdateAddDirectories    PermissionUpdateType = "addDirectories"
	PermissionUpdateRemoveDirectories PermissionUpdateType = "removeDirectories"
)

// A PermissionDestination is where a change of the permissions is kept.
type PermissionDestination string

// The destinations that the agent knows. Those that end in Settings are files, and outlive the session.
const (
	PermissionDestinationUserSettings    PermissionDestination = "userSettings"
	PermissionDestinationProjectSettings PermissionDestination = "projectSettings"
	PermissionDestinationLocalSettings   PermissionDestination = "localSettings"
	PermissionDestinationSession         PermissionDestination = "session"
	PermissionDestinationCLIArg          PermissionDestination = "cliArg"
)

// A PermissionRule names uses of a tool.
type PermissionRule struct {
	ToolName string `json:"toolName"`
	// RuleContent says which uses, such as "npm test *" for Bash. Empty means all.
	RuleContent string `json:"ruleContent,omitempty"`
}

// AddRules returns a change that adds rules with the given behavior.
func AddRules(to PermissionDestination, behavior PermissionBehavior, rules ...PermissionRule) PermissionUpdate {
	return PermissionUpdate{Type: PermissionUpdateAddRules, Rules: rules, Behavior: behavior, Destination: to}
}

// SetMode returns a change of the permission mode.
func SetMode(to PermissionDestination, mode wire.PermissionMode) PermissionUpdate {
	return PermissionUpdate{Type: PermissionUpdateSetMode, Mode: mode, Destination: to}
}

// AddDirectories returns a change that adds folders in which the agent may work.
func AddDirectories(to PermissionDestination, directories ...string) PermissionUpdate {
	return PermissionUpdate{Type: PermissionUpdateAddDirectories, Directories: directories, Destination: to}
}

// knownUpdate is a PermissionUpdate without its methods, and so without what its fields don't say.
type knownUpdate PermissionUpdate

// UnmarshalJSON reads u. A field that does not fit its type is zero: it belongs to a kind of change that this package
// does not know, and is kept all the same.
func (u *PermissionUpdate) UnmarshalJSON(data []byte) error {
	var known knownUpdate
	err := json.Unmarshal(data, &known)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !ok {
		return err
	}
	*u = PermissionUpdate(known)
	u.raw = wire.JSON(data)
	return nil
}

// MarshalJSON writes u, with the fields that this package does not know.
func (u PermissionUpdate) MarshalJSON() ([]byte, error) {
	now, err := encode(knownUpdate(u))
	if err != nil || u.raw == "" {
		return []byte(now), err
	}
	var before PermissionUpdate
	if err := u.raw.Decode(&before); err != nil {
		return nil, err
	}
	then, err := encode(knownUpdate(before))
	if err != nil || then == now {
		return []byte(u.raw), err
	}
	edited, err := overlay(u.raw, then, now)
	return []byte(edited), err
}

// overlay returns the object raw with what differs between two readings of it, then and now.
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
	return encode(edited)
}
