package ask

import (
	"errors"
	"strings"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/permission"
)

// UpdateText describes an update of the permissions, and the place where it is saved.
func UpdateText(u *permission.Update) string {
	where := destinationText(u.Destination)
	switch u.Type {
	case permission.UpdateAddRules:
		kind := ""
		if u.Behavior != permission.BehaviorAllow {
			kind = string(u.Behavior) + " "
		}
		return "adds " + kind + rulesText(u.Rules) + strings.Replace(where, " in ", " to ", 1)
	case permission.UpdateSetMode:
		return "sets permission mode " + string(u.Mode) + where
	case permission.UpdateAddDirectories:
		return "lets tools use " + strings.Join(u.Directories, ", ") + where
	}
	return strings.TrimSpace(string(u.Type)+" "+rulesText(u.Rules)+strings.Join(u.Directories, ", ")) + where
}

// rulesText returns rules in the form of --allowedTools.
func rulesText(rules []permission.Rule) string {
	texts := make([]string, len(rules))
	for i, rule := range rules {
		texts[i] = rule.ToolName
		if rule.RuleContent != "" {
			texts[i] += "(" + rule.RuleContent + ")"
		}
	}
	return strings.Join(texts, ", ")
}

// onlyRule returns the rule of a suggestion that does nothing but allow one.
func onlyRule(u *permission.Update) (rule permission.Rule, ok bool) {
	if u.Type != permission.UpdateAddRules || len(u.Rules) != 1 || u.Behavior != permission.BehaviorAllow {
		return rule, false
	}
	text := rulesText(u.Rules)
	return u.Rules[0], text == tty.CleanLine(text)
}

// parseRule reads a rule in the form of --allowedTools.
func parseRule(text string) (rule permission.Rule, ok bool) {
	text = strings.TrimSpace(text)
	tool, content, found := strings.Cut(text, "(")
	if !found {
		return permission.Rule{ToolName: text}, text != "" && !strings.ContainsAny(text, " )")
	}
	content, closed := strings.CutSuffix(content, ")")
	return permission.Rule{ToolName: tool, RuleContent: content}, closed && tool != "" && strings.TrimSpace(content) != ""
}

// narrowed returns a rule that allows no more than another one. It has to start with the other
// one's text before the final wildcard.
func narrowed(text string, than permission.Rule) (permission.Rule, error) {
	rule, ok := parseRule(text)
	switch {
	case !ok:
		return rule, errors.New("a rule has the form Tool(content)")
	case rule.ToolName != than.ToolName:
		return rule, errors.New("the rule has to be one for " + tty.CleanLine(than.ToolName))
	case than.RuleContent == "" || rule.RuleContent == than.RuleContent:
		return rule, nil
	}
	begin := strings.TrimRight(than.RuleContent, "*")
	if begin == than.RuleContent {
		return rule, errors.New("the rule can't be narrowed")
	}
	begin, word := strings.CutSuffix(begin, ":")
	rest, ok := strings.CutPrefix(rule.RuleContent, begin)
	if word && rest != "" && rest[0] != ':' && rest[0] != ' ' { // the wildcard follows a whole word
		ok = false
	}
	if !ok || strings.Contains(rule.RuleContent, "..") {
		return rule, errors.New("the rule has to begin with " + tty.CleanLine(than.ToolName+"("+begin))
	}
	return rule, nil
}

func destinationText(to permission.Destination) string {
	switch to {
	case permission.DestinationSession, permission.DestinationCLIArg:
		return " for this session"
	case permission.DestinationLocalSettings:
		return " in .claude/settings.local.json"
	case permission.DestinationProjectSettings:
		return " in .claude/settings.json"
	case permission.DestinationUserSettings:
		return " in your settings.json"
	case "":
		return ""
	}
	return " in " + string(to)
}
