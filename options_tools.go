package clew

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// allowedTools returns AllowedTools, and rules for Skills behind them.
func (o *Options) allowedTools() []string {
	rules := slices.Clone(o.AllowedTools)
	for _, name := range o.Skills {
		rule := "Skill(" + name + ")"
		if name == AllSkills {
			rule = "Skill"
		}
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// checkTools returns what is wrong with the names of tools and skills and with permission rules.
func (o *Options) checkTools() error {
	for _, list := range []struct {
		option string
		rules  []string
	}{{"Tools", o.Tools}, {"AllowedTools", o.AllowedTools}, {"DisallowedTools", o.DisallowedTools}} {
		for _, rule := range list.rules {
			if reason := checkRule(rule); reason != "" {
				return badOption(list.option, "%q %s", rule, reason)
			}
		}
	}
	if slices.Contains(o.Skills, AllSkills) && len(o.Skills) == 1 {
		return nil
	}
	for _, name := range o.Skills {
		if reason := checkSkill(name); reason != "" {
			return badOption("Skills", "%q %s", name, reason)
		}
	}
	return nil
}

// checkRule returns why the agent would not read rule as one permission rule, or "". The agent takes a list apart at
// commas and spaces, except between a parenthesis and the next closing one, whatever is quoted or nested there.
func checkRule(rule string) string {
	if rule == "" {
		return "is empty"
	}
	inside := false
	for _, r := range rule {
		switch {
		case r == '(':
			inside = true
		case r == ')':
			inside = false
		case unicode.IsControl(r):
			return "has a control character"
		case !inside && (r == ',' || r == ' '):
			return "would be taken for several rules"
		}
	}
	if inside {
		return "has a parenthesis that is not closed"
	}
	return ""
}

// checkSkill returns why name cannot stand in a permission rule, where nothing can be escaped, or "".
func checkSkill(name string) string {
	switch {
	case name == "":
		return "is empty"
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.TrimSpace(name) != name:
		return "has space around it"
	case strings.ContainsAny(name, "(),\uFEFF") || strings.ContainsFunc(name, unicode.IsControl):
		return "has a character that a skill cannot have"
	case name == AllSkills || strings.HasSuffix(name, ":*") || strings.HasSuffix(name, " *"):
		return "is a pattern"
	case strings.HasPrefix(name, "/"):
		return "begins with a slash"
	case strings.Contains(name, `\\`) || strings.HasSuffix(name, `\`):
		return "has a backslash that escapes something"
	}
	return ""
}

// An OptionsWarning says which option hardly does what was meant, and why.
type OptionsWarning struct {
	// Option is the name of the field in [Options].
	Option string
	// Reason is what is odd about it.
	Reason string
}

func (w OptionsWarning) String() string { return "option " + w.Option + ": " + w.Reason }

// Warnings returns what can be used but hardly is meant: a CanUseTool that is not asked about some tools, or about any,
// because something else decides before. The same is logged when an agent starts. Nil options have none.
func (o *Options) Warnings() []OptionsWarning {
	if o == nil || o.CanUseTool == nil {
		return nil
	}
	var list []OptionsWarning
	add := func(reason string) { list = append(list, OptionsWarning{Option: "CanUseTool", Reason: reason}) }
	if reason := modeWarnings[o.PermissionMode]; reason != "" {
		add(reason + ": PermissionMode is " + string(o.PermissionMode))
	}
	if o.PermissionPrompts == PermissionPromptsNone {
		add("is not asked: PermissionPrompts is " + string(o.PermissionPrompts))
	}
	if names := wholeTools(o.allowedTools()); len(names) > 0 {
		add("is not asked about tools that are always allowed: " + strings.Join(names, ", "))
	}
	return list
}

// modeWarnings say what a CanUseTool is not asked about, by mode.
var modeWarnings = map[PermissionMode]string{
	PermissionModeBypassPermissions: "is not asked",
	PermissionModeDontAsk:           "is not asked, and what it could permit is refused",
	PermissionModeAcceptEdits:       "is not asked about edits and simple file commands in the working folders",
	PermissionModeAuto:              "is not asked about what the agent's own classifier decides",
}

// wholeTools returns the tools that rules allow whatever their input is, each once.
func wholeTools(rules []string) []string {
	var names []string
	for _, rule := range rules {
		name, input, _ := strings.Cut(rule, "(")
		if (input == "" || input == ")" || input == "*)") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
