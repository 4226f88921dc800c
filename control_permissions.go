package clew

import "context"

// PermissionRules returns the permission rules that the session has now, from settings, flags and answers given so far,
// and the folders that it may work in besides its own.
func (s *Session) PermissionRules(ctx context.Context) (*PermissionRules, error) {
	answer, err := call[permissionRulesAnswer](ctx, s, "list_permission_rules", nil)
	if err != nil {
		return nil, err
	}
	return &answer.State, nil
}

type permissionRulesAnswer struct {
	State PermissionRules `json:"state"`
}

// PermissionRules are the permission rules and working folders of a session.
type PermissionRules struct {
	Rules       []PermissionRuleInfo  `json:"rules"`
	Directories []PermissionDirectory `json:"workspaceDirectories"`
	// OriginalCWD is the folder that the session began in.
	OriginalCWD string `json:"originalCwd"`
	// ManagedOnly means that only the rules of an administrator count.
	ManagedOnly bool `json:"managedOnly"`
	// Errors are the settings files that are wrong, and whose rules are therefore missing.
	Errors []SettingsError `json:"errors"`
	// Withheld is true when the agent has left out rules because others can read its answer.
	Withheld bool `json:"withheld"`
}

// A PermissionRuleInfo is a permission rule and where it comes from.
type PermissionRuleInfo struct {
	// Rule is the rule as it was written, such as "Bash(npm run:*)". It can hold control characters.
	Rule     string             `json:"rule"`
	Behavior PermissionBehavior `json:"behavior"`
	// Source is a [SettingsLayer] or another place: cliArg, command, session, mcpMount, toolsNarrowing, mcpServerPolicy,
	// hostCredential or a newer one.
	Source string `json:"source"`
	// Editability is persistent for a rule in a file, session for one that ends with the session, and readonly for one
	// that the user can't change.
	Editability string `json:"editability"`
	// Description is the rule in words, or nil.
	Description *PermissionRuleDescription `json:"description"`
	// NotInEffect is true when ManagedOnly keeps the rule from counting.
	NotInEffect bool `json:"notInEffect"`
}

// A PermissionRuleDescription is a rule in words, in three parts to be shown one after the other. Emphasis is text of
// the rule itself, and can hold control characters.
type PermissionRuleDescription struct {
	Prefix   string `json:"prefix"`
	Emphasis string `json:"emphasis"`
	Suffix   string `json:"suffix"`
}

// A PermissionDirectory is a folder that the agent may work in.
type PermissionDirectory struct {
	Path string `json:"path"`
	// Source is a [SettingsLayer], cliArg or session.
	Source string `json:"source"`
}
