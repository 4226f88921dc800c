package cli

import (
	"strings"

	"github.com/clewdev/clew"
)

// describeAlways says what the answer "always" changes: it is often more than the question is about, and may
// outlive the session.
func describeAlways(changes []clew.PermissionUpdate) string {
	var b strings.Builder
	for i := range changes {
		b.WriteString("  always: " + printable(changeOf(&changes[i])+placeOf(changes[i].Destination)) + "\n")
	}
	return shown(b.String())
}

func changeOf(u *clew.PermissionUpdate) string {
	switch u.Type {
	case clew.PermissionUpdateAddRules:
		return string(u.Behavior) + " " + rulesText(u.Rules)
	case clew.PermissionUpdateSetMode:
		return "permission mode " + string(u.Mode)
	case clew.PermissionUpdateAddDirectories:
		return "tools may use " + strings.Join(u.Directories, ", ")
	}
	return strings.TrimSpace(string(u.Type) + " " + rulesText(u.Rules) + strings.Join(u.Directories, ", "))
}

// rulesText returns rules as --allowedTools takes them.
func rulesText(rules []clew.PermissionRule) string {
	texts := make([]string, len(rules))
	for i, rule := range rules {
		texts[i] = rule.ToolName
		if rule.RuleContent != "" {
			texts[i] += "(" + rule.RuleContent + ")"
		}
	}
	return strings.Join(texts, ", ")
}

func placeOf(to clew.PermissionDestination) string {
	switch to {
	case clew.PermissionDestinationSession, clew.PermissionDestinationCLIArg:
		return ", in this session"
	case clew.PermissionDestinationLocalSettings:
		return ", kept in .claude/settings.local.json"
	case clew.PermissionDestinationProjectSettings:
		return ", kept in .claude/settings.json"
	case clew.PermissionDestinationUserSettings:
		return ", kept in your own settings"
	case "":
		return ""
	}
	return ", kept in " + string(to)
}
