package clew

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CommandLine returns the command that starts the agent, for people: the variables that Clew sets and those of
// [Options.Env], the agent binary, and its arguments, quoted as for a POSIX shell. The values of Env, and all else that
// looks like a secret, are hidden. Variables that are inherited are not in it, and neither is what travels in requests.
//
// It is there also for options that cannot be used. Nil options give the default.
func (o *Options) CommandLine() string {
	if o == nil {
		o = &Options{}
	}
	var words []string
	for _, entry := range o.environ(nil) {
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			continue
		}
		if slices.Contains(o.Env, entry) {
			value = masked
		}
		words = append(words, name+"="+quote(value))
	}
	words = append(words, quote(cmp.Or(o.AgentPath, "claude")))
	for _, f := range append(o.flags(), agentFlag{args: o.ExtraArgs}) {
		for _, arg := range f.args {
			words = append(words, quote(maskArg(arg)))
		}
	}
	return strings.Join(words, " ")
}

func maskArg(arg string) string {
	name, value, ok := strings.Cut(arg, "=")
	switch {
	case !ok:
		return mask(arg)
	case secretName(name):
		return name + "=" + masked
	}
	return name + "=" + maskJSON(value)
}

// plainCharacters need no quotes in a shell.
const plainCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+:,./@%"

// quote returns one word of a POSIX shell. What does not print is escaped: a terminal could obey it.
func quote(word string) string {
	switch {
	case word != "" && strings.Trim(word, plainCharacters) == "":
		return word
	case !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }):
		quoted := strconv.Quote(word)
		return "$'" + strings.NewReplacer(`\"`, `"`, `'`, `\'`).Replace(quoted[1:len(quoted)-1]) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
