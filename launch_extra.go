package clew

import (
	"regexp"
	"strings"
)

// extraArg is a flag with or without a value, in one argument.
var extraArg = regexp.MustCompile(`(?s)^--([A-Za-z][A-Za-z0-9-]*)(=.*)?$`)

// ownedFlags are flags that Clew does not give, by the field of Options that does the same in another way. Those
// without a field would end the session before it begins.
var ownedFlags = map[string]string{
	"print":   "",
	"help":    "",
	"version": "",

	"agents":                                 "Agents",
	"allowed-tools":                          "AllowedTools",
	"append-system-prompt":                   "SystemPrompt",
	"append-system-prompt-file":              "SystemPrompt",
	"dangerously-skip-permissions":           "PermissionMode",
	"disallowed-tools":                       "DisallowedTools",
	"exclude-dynamic-system-prompt-sections": "SystemPrompt",
	"forward-subagent-text":                  "ForwardSubagentText",
	"json-schema":                            "OutputSchema",
	"prompt-suggestions":                     "PromptSuggestions",
	"system-prompt":                          "SystemPrompt",
	"system-prompt-file":                     "SystemPrompt",
	"system-prompt-snapshot":                 "SystemPrompt",
}

// checkExtraArgs refuses what is not one flag, and flags that Clew gives itself.
func (o *Options) checkExtraArgs() error {
	if len(o.ExtraArgs) == 0 {
		return nil
	}
	owners := map[string]string{}
	for _, f := range (&Options{}).flags() {
		owners[f.name] = f.option
	}
	for name, option := range ownedFlags {
		owners[name] = option
	}
	for _, arg := range o.ExtraArgs {
		match := extraArg.FindStringSubmatch(arg)
		if match == nil {
			name, _, _ := strings.Cut(arg, "=")
			return badOption("ExtraArgs", "%q is neither --flag nor --flag=value", mask(name))
		}
		option, owned := owners[match[1]]
		switch {
		case owned && option == "":
			return badOption("ExtraArgs", "--%s is up to Clew", match[1])
		case owned:
			return badOption("ExtraArgs", "--%s is the option %s", match[1], option)
		}
	}
	return nil
}
