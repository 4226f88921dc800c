package transcript

// A PermissionDecision is the agent's record of who allowed or denied a tool call. Its words are the
// agent's, and newer agents may write others. A word is "" if the agent did not write it. The zero
// value means that nothing is recorded, as before 2.1.325.
type PermissionDecision struct {
	// Decision is "accept" or "reject".
	Decision string `json:"decision"`
	// Source is the decider: "user_temporary", "user_permanent", "user_reject" and "user_abort" for
	// the user, or for the program that answers for the user; "hook"; "classifier"; and "config" for
	// the rules and the mode.
	Source string `json:"source,omitempty"`
	// ReasonType is the kind of the reason, unless the user was asked: "rule", "mode", "hook",
	// "classifier", "safetyCheck", "sandboxOverride", "workingDir", "subcommandResults" or others.
	ReasonType string `json:"reason_type,omitempty"`
	// RuleSource is the origin of the rule that decided: "cliArg" for the command line,
	// "userSettings", "projectSettings", "localSettings", "policySettings", "session" or others.
	RuleSource string `json:"rule_source,omitempty"`
	// GrantScope is the extent of the user's consent, such as "once".
	GrantScope string `json:"grant_scope,omitempty"`
	// ReasonCode is the reason in one word, such as "rule:userSettings", "hook:PreToolUse" or
	// "unknown". For a call that the user was asked about, it is the reason to ask.
	ReasonCode string `json:"reason_code,omitempty"`
}

// Rejected reports whether the call was denied.
func (p *PermissionDecision) Rejected() bool { return p != nil && p.Decision == "reject" }

// permissionMember reads a permission decision. A value that is not an object counts as absent.
func (d *entryDecoder) permissionMember() PermissionDecision {
	var p PermissionDecision
	if d.Peek() != '{' {
		d.Skip()
		return p
	}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "decision":
			p.Decision = d.Word()
		case "source":
			p.Source = d.Word()
		case "reasonType":
			p.ReasonType = d.Word()
		case "ruleSource":
			p.RuleSource = d.Word()
		case "grantScope":
			p.GrantScope = d.Word()
		case "reasonCode":
			p.ReasonCode = d.Word()
		default:
			d.Skip()
		}
	}
	return p
}

// sandboxedMember reads whether a command ran in the sandbox, or returns nil for a value that is not
// a boolean.
func (d *entryDecoder) sandboxedMember() *bool {
	if c := d.Peek(); c != 't' && c != 'f' {
		d.Skip()
		return nil
	}
	return new(d.Bool())
}
