package permit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/tty"
)

// AlwaysPossible reports whether the answer "always" is one.
func AlwaysPossible(req *clew.PermissionRequest) bool {
	return len(req.Suggestions) > 0 && !req.SuppressAlwaysAllowRule
}

// An Update is a change of the permissions that the answer "always" can make.
type Update struct {
	// Text is a clean line that describes the change, and the place where it is saved.
	Text string
	// Marked reports whether the change is made unless the user deselects it: rules allow the
	// least.
	Marked bool
}

// Updates returns the changes that the answer "always" can make, by the index of their suggestion,
// or nil if it is not a valid answer.
func Updates(req *clew.PermissionRequest) []Update {
	if !AlwaysPossible(req) {
		return nil
	}
	adds := func(u clew.PermissionUpdate) bool { return u.Type == clew.PermissionUpdateAddRules }
	some := slices.ContainsFunc(req.Suggestions, adds)
	updates := make([]Update, len(req.Suggestions))
	for i := range req.Suggestions {
		text := tty.CleanLine(UpdateText(&req.Suggestions[i]))
		updates[i] = Update{text, adds(req.Suggestions[i]) || !some}
	}
	return updates
}

// NarrowedRule returns the rule that the user may narrow before "always" adds it, or "".
func NarrowedRule(req *clew.PermissionRequest) string {
	if !AlwaysPossible(req) {
		return ""
	}
	rule, ok := OnlyRule(&req.Suggestions[0])
	if !ok {
		return ""
	}
	return RulesText([]clew.PermissionRule{rule})
}

// Always returns the permission with some of the changes that [Updates] lists. The rule, unless it
// is "", replaces the result of [NarrowedRule]; it is an error if it allows more.
func Always(req *clew.PermissionRequest, changes []int, rule string) (*clew.AllowResult, error) {
	result := &clew.AllowResult{Classification: clew.PermissionClassificationPermanent}
	if !AlwaysPossible(req) {
		return nil, errors.New("this call can only be allowed once")
	}
	for _, i := range changes {
		if i < 0 || i >= len(req.Suggestions) {
			return nil, fmt.Errorf("the question has no change %d", i)
		}
		update := req.Suggestions[i]
		if i == 0 && rule != "" && rule != NarrowedRule(req) {
			narrowed, err := narrow(&update, rule)
			if err != nil {
				return nil, err
			}
			update.Rules = []clew.PermissionRule{narrowed}
		}
		result.UpdatedPermissions = append(result.UpdatedPermissions, update)
	}
	return result, nil
}

// narrow returns a rule that allows no more than an update's rule.
func narrow(u *clew.PermissionUpdate, text string) (rule clew.PermissionRule, err error) {
	than, ok := OnlyRule(u)
	if !ok {
		return rule, errors.New("the rule can't be narrowed")
	}
	if why := NotNarrower(text, than); why != "" {
		return rule, errors.New(why)
	}
	rule, _ = ParseRule(text) // NotNarrower already parsed it
	return rule, nil
}

// NeedsChoice reports whether the request needs another answer than yes or no. A plan needs only
// yes or no.
func NeedsChoice(req *clew.PermissionRequest) bool {
	return req.ToolName == "AskUserQuestion" || req.RequiresUserInteraction && req.ToolName != "ExitPlanMode"
}

// Denied returns a denial, with the reason of the user if there is one.
func Denied(reason string) *clew.DenyResult {
	reason = strings.Trim(reason, " ,\t")
	if rest, ok := cutWord(reason, "because"); ok {
		reason = rest
	}
	message := "The user denied this."
	if reason != "" {
		message = "The user denied this: " + reason
	}
	return &clew.DenyResult{Message: message, Classification: clew.PermissionClassificationReject}
}

// cutWord cuts a word, in any case, from the beginning of a text.
func cutWord(text, word string) (rest string, ok bool) {
	if len(text) <= len(word) || !strings.EqualFold(text[:len(word)], word) || text[len(word)] != ' ' {
		return text, false
	}
	return strings.TrimSpace(text[len(word):]), true
}

// UpdateText describes an update of the permissions, and the place where it is saved.
func UpdateText(u *clew.PermissionUpdate) string {
	where := destinationText(u.Destination)
	switch u.Type {
	case clew.PermissionUpdateAddRules:
		kind := ""
		if u.Behavior != clew.PermissionBehaviorAllow {
			kind = string(u.Behavior) + " "
		}
		return "adds " + kind + RulesText(u.Rules) + strings.Replace(where, " in ", " to ", 1)
	case clew.PermissionUpdateSetMode:
		return "sets permission mode " + string(u.Mode) + where
	case clew.PermissionUpdateAddDirectories:
		return "lets tools use " + strings.Join(u.Directories, ", ") + where
	}
	return strings.TrimSpace(string(u.Type)+" "+RulesText(u.Rules)+strings.Join(u.Directories, ", ")) + where
}

// RulesText returns rules in the form of --allowedTools.
func RulesText(rules []clew.PermissionRule) string {
	texts := make([]string, len(rules))
	for i, rule := range rules {
		texts[i] = rule.ToolName
		if rule.RuleContent != "" {
			texts[i] += "(" + rule.RuleContent + ")"
		}
	}
	return strings.Join(texts, ", ")
}

// OnlyRule returns the rule of a suggestion that does nothing but allow one.
func OnlyRule(u *clew.PermissionUpdate) (rule clew.PermissionRule, ok bool) {
	if u.Type != clew.PermissionUpdateAddRules || len(u.Rules) != 1 || u.Behavior != clew.PermissionBehaviorAllow {
		return rule, false
	}
	text := RulesText(u.Rules)
	return u.Rules[0], text == tty.CleanLine(text)
}

// ParseRule reads a rule in the form of --allowedTools.
func ParseRule(text string) (rule clew.PermissionRule, ok bool) {
	text = strings.TrimSpace(text)
	tool, content, found := strings.Cut(text, "(")
	if !found {
		return clew.PermissionRule{ToolName: text}, text != "" && !strings.ContainsAny(text, " )")
	}
	content, closed := strings.CutSuffix(content, ")")
	return clew.PermissionRule{ToolName: tool, RuleContent: content}, closed && tool != "" && strings.TrimSpace(content) != ""
}

// NotNarrower returns the reason why a rule does not allow less than another one, or "". It has to
// start with the other one's text before the final wildcard.
func NotNarrower(text string, than clew.PermissionRule) string {
	rule, ok := ParseRule(text)
	switch {
	case !ok:
		return "a rule has the form Tool(content)"
	case rule.ToolName != than.ToolName:
		return "the rule has to be one for " + tty.CleanLine(than.ToolName)
	case than.RuleContent == "" || rule.RuleContent == than.RuleContent:
		return ""
	}
	begin := strings.TrimRight(than.RuleContent, "*")
	if begin == than.RuleContent {
		return "the rule can't be narrowed"
	}
	begin = strings.TrimSuffix(begin, ":")
	if !strings.HasPrefix(rule.RuleContent, begin) || strings.Contains(rule.RuleContent, "..") {
		return "the rule has to begin with " + tty.CleanLine(than.ToolName+"("+begin)
	}
	return ""
}

func destinationText(to clew.PermissionDestination) string {
	switch to {
	case clew.PermissionDestinationSession, clew.PermissionDestinationCLIArg:
		return " for this session"
	case clew.PermissionDestinationLocalSettings:
		return " in .claude/settings.local.json"
	case clew.PermissionDestinationProjectSettings:
		return " in .claude/settings.json"
	case clew.PermissionDestinationUserSettings:
		return " in your settings.json"
	case "":
		return ""
	}
	return " in " + string(to)
}
