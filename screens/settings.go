package screens

import (
	"context"

	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// Settings returns the settings of the session: the settings in force, and the settings of each
// layer. To change them, see [clew.Session.ApplySettings] and [clew.Session.UpdateSettings].
func Settings(ctx context.Context, c Controller) (*SettingsReport, error) {
	return ask[SettingsReport](ctx, c, "get_settings", nil)
}

// A SettingsReport lists the settings of a session.
type SettingsReport struct {
	// Effective is an object with the settings in force: all layers merged.
	Effective wire.JSON `json:"effective"`
	// Sources are the layers that set something. A later one overrides an earlier one.
	Sources []LayerSettings `json:"sources"`
	// Applied are the settings that the next prompt will run with, after environment and defaults.
	// It is nil if the agent does not report it.
	Applied *AppliedSettings `json:"applied"`
	// Errors are settings files with errors. The agent ignores them.
	Errors []SettingsError `json:"errors"`
	// Withheld is true when the agent leaves out settings because others can read its answer.
	Withheld bool `json:"withheld"`
}

// A SettingsLayer is one of the places that settings come from.
type SettingsLayer string

// The layers. Each overrides those before it.
const (
	// LayerUser is the user's own file.
	LayerUser SettingsLayer = "userSettings"
	// LayerProject is the file that a project shares, .claude/settings.json.
	LayerProject SettingsLayer = "projectSettings"
	// LayerLocal is the user's own file for a project, .claude/settings.local.json.
	LayerLocal SettingsLayer = "localSettings"
	// LayerFlag holds what the session was started with, and [clew.Session.ApplySettings].
	LayerFlag SettingsLayer = "flagSettings"
	// LayerPolicy holds the settings of an administrator.
	LayerPolicy SettingsLayer = "policySettings"
)

// LayerSettings are the settings of one layer.
type LayerSettings struct {
	// Layer is the source of the settings.
	Layer SettingsLayer `json:"source"`
	// Settings is an object.
	Settings wire.JSON `json:"settings"`
}

// AppliedSettings are the settings that the next prompt of a session will run with.
type AppliedSettings struct {
	// Model is the ID of the model.
	Model string `json:"model"`
	// Effort is empty for a model without levels of effort.
	Effort wire.Effort `json:"effort"`
	// Advisor is the model that advises, or empty.
	Advisor string `json:"advisor"`

	// Ultracode reports whether the agent runs workflows without being asked to.
	Ultracode bool `json:"ultracode"`
	// UltracodeRequested reports whether the user turned that on.
	UltracodeRequested bool `json:"ultracodeRequested"`
	// UltracodeAvailable reports whether the user could turn that on.
	UltracodeAvailable bool `json:"ultracodeAvailable"`
	// UltrathinkAvailable is the field of that name in the agent's answer.
	UltrathinkAvailable bool `json:"ultrathinkAvailable"`

	// OutsideFileToolReadsBlocked reports whether the file tools can't read outside the working
	// directories.
	OutsideFileToolReadsBlocked bool `json:"outsideFileToolReadsBlocked"`
	// OutsideFileToolWritesBlocked reports whether the file tools can't write outside the working
	// directories.
	OutsideFileToolWritesBlocked bool `json:"outsideFileToolWritesBlocked"`
}

// A SettingsError is an error in a settings file. The agent ignores the whole file, including its
// permission rules.
type SettingsError struct {
	// File is the path of the file, or empty if it is unknown.
	File string `json:"file"`
	// Path leads to the setting, with dots. It is empty when the whole file is invalid.
	Path string `json:"path"`
	// Message is the error for people.
	Message string `json:"message"`
}

// PermissionRules returns the permission rules that the session has now, from settings, flags and
// answers given so far, and the additional working directories.
func PermissionRules(ctx context.Context, c Controller) (*PermissionReport, error) {
	answer, err := ask[permissionAnswer](ctx, c, "list_permission_rules", nil)
	if err != nil {
		return nil, err
	}
	return &answer.State, nil
}

type permissionAnswer struct {
	State PermissionReport `json:"state"`
}

// A PermissionReport lists the permission rules and working directories of a session.
type PermissionReport struct {
	// Rules are all rules, including rules that are not in effect.
	Rules []PermissionRule `json:"rules"`
	// Directories are directories that the agent may work in, in addition to its own.
	Directories []Directory `json:"workspaceDirectories"`
	// OriginalCWD is the directory that the session started in.
	OriginalCWD string `json:"originalCwd"`
	// ManagedOnly means that only the rules of an administrator apply.
	ManagedOnly bool `json:"managedOnly"`
	// Errors are settings files with errors. Their rules are missing.
	Errors []SettingsError `json:"errors"`
	// Withheld is true when the agent leaves out rules because others can read its answer.
	Withheld bool `json:"withheld"`
}

// A PermissionRule is a permission rule and where it comes from.
type PermissionRule struct {
	// Rule is the rule as it was written, such as "Bash(npm run:*)". It can hold control
	// characters.
	Rule string `json:"rule"`
	// Behavior is the effect of the rule: allow, deny or ask.
	Behavior permission.Behavior `json:"behavior"`
	// Source is a [SettingsLayer] or another place: cliArg, command, session, mcpMount,
	// toolsNarrowing, mcpServerPolicy, hostCredential or a newer one.
	Source string `json:"source"`
	// Editability is persistent for a rule in a file, session for a rule that ends with the
	// session, and readonly for a rule that the user can't change.
	Editability string `json:"editability"`
	// Description is the rule in words, or nil.
	Description *RuleDescription `json:"description"`
	// NotInEffect is true when ManagedOnly turns the rule off.
	NotInEffect bool `json:"notInEffect"`
}

// A RuleDescription is a rule in words, in three parts to be shown one after the other.
type RuleDescription struct {
	// Prefix is the text before the emphasis.
	Prefix string `json:"prefix"`
	// Emphasis is text of the rule itself. It can hold control characters.
	Emphasis string `json:"emphasis"`
	// Suffix is the text after the emphasis.
	Suffix string `json:"suffix"`
}

// A Directory is a directory that the agent may work in.
type Directory struct {
	// Path is the absolute path.
	Path string `json:"path"`
	// Source is a [SettingsLayer], cliArg or session.
	Source string `json:"source"`
}
