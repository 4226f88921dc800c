package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Machines make tokens and keys, and people choose passwords. So words after the name of a token
// are a name, a type or a sentence, and not a secret, while they may be a password.

// isPersonal reports whether a name is the name of a secret that people choose.
func isPersonal(name string) bool {
	return strings.Contains(strings.ToLower(name), "pass") || strings.Contains(strings.ToLower(name), "pw")
}

// isSampleOf reports whether a value after a name stands for a secret in an example.
func isSampleOf(around, value string) bool {
	if isPersonal(around) {
		return isSamplePassword(value)
	}
	return isSample(value)
}

// isVariable judges the value of an environment variable. In a shell or a file of settings, a
// variable that has the name of a secret has one as its value, except in an example.
func isVariable(around, value string) bool {
	name := strings.TrimRight(around, `\"'`)
	if strings.HasSuffix(name, "=") && !strings.HasPrefix(strings.ToLower(name), "_key") && !strings.ContainsAny(name[len(name)-2:], ":?") {
		return isSecretValue(value) && !isSampleOf(around, value) && !isPlaceholder(value)
	}
	return isNamedSecret(around, value)
}

// isQuotedSecret judges a value in quotes, which is not an expression.
func isQuotedSecret(around, value string) bool {
	if isPersonal(around) {
		return isWord(value) && !isSamplePassword(value) && !isText(value)
	}
	return isToken(value)
}

// isBareSecret judges a value without quotes, which may be an expression.
func isBareSecret(around, value string) bool {
	if isPersonal(around) {
		return isSecretValue(value) && !isSamplePassword(value)
	}
	return isToken(value) && !isExpression(value)
}

// isNamedSecret judges a value that may have quotes or not.
func isNamedSecret(around, value string) bool {
	if strings.ContainsAny(around[len(around)-1:], "\"'`") {
		return isQuotedSecret(around, value)
	}
	return isBareSecret(around, value)
}

// isRandomSecret judges a value where an ordinary word could stand.
func isRandomSecret(around, value string) bool {
	return isRandom(value) && isBareSecret(around, value)
}

// isBlockSecret judges a value in a block of YAML.
func isBlockSecret(around, value string) bool {
	return isValue(value) && (isPersonal(around) || !isWords(value))
}

// isOption judges what optionPattern finds.
func isOption(around, value string) bool {
	name := strings.ToLower(around)
	secret := strings.Contains(name, "secret") || strings.Contains(name, "token") || strings.Contains(name, "key") || strings.Contains(name, "cred")
	switch {
	case !isRandom(value), isReference(value):
		return false
	case secret && !isPersonal(name):
		return isToken(value)
	}
	return true
}

// isAccount judges the ID or the name of an account or an organization. In code, a name is mostly
// the name of an example.
func isAccount(around, value string) bool {
	name := strings.ToLower(around)
	if strings.Contains(name, "arn:aws") {
		return !isCounted(value)
	}
	if !isSecretValue(value) || isCounted(value) {
		return false
	}
	if strings.Contains(name, "name") {
		return strings.HasSuffix(name, "=") || strings.ContainsAny(name[:len(name)-1], "\"'") && !isSample(value)
	}
	return hasDigit(value) || strings.Contains(value, "@")
}

// isCounted reports whether a number is an example as people write it: digits that count up, or are
// all the same.
func isCounted(number string) bool {
	for i := 1; i < len(number); i++ {
		if step := (number[i] - number[i-1] + 10) % 10; step > 1 || number[i] == number[i-1] && number[0] != number[i] {
			return false
		}
	}
	return true
}

// isToken reports whether a value can be a key or a token: it is not made of words.
func isToken(value string) bool {
	if len(value) < 6 || !isWord(value) || strings.ContainsFunc(value, unicode.IsSpace) || isReference(value) || !isKey(value) || hasAlphabet(value) {
		return false
	}
	return !isWords(value) || isBasic(value)
}

// reference matches what stands for something else, or counts it: a version, a number, a date, a
// path, an address, a repetition in a grammar.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[~^]?v?[0-9]+(?:\.[0-9]+)+(?:[-+/].*)?|HTTP/[0-9.]+|[-+]?[0-9]{1,11}|[-+]?[0-9]*\.?[0-9]+[eE][-+]?[0-9]+|` +
		`[0-9]{4}-[0-9]{2}-[0-9]{2}.*|\.{0,2}/.*|https?://[^@?]*|[0-9]+\*.*)[,;]?$`)
})

// selector matches the parts of a selector, or a token with dots.
var selector = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^&?[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|->|::)[A-Za-z_][A-Za-z0-9_]*)+[,;]?$`)
})

// isReference reports whether a value is a version, a number, a path or a selector.
func isReference(value string) bool {
	return reference().MatchString(value) || selector().MatchString(value) && isWords(value)
}

func isLetter(c byte) bool { return isAlphanumeric(c) && !isDigit(c) }

// isPlaceholder reports whether a value stands for a secret in an example: it has xxxxxxxx or ########,
// most of it is one character, or it ends with dots.
func isPlaceholder(value string) bool {
	const fillers = "xX*#"
	run, longest, filled, all := 0, 0, 0, 0
	for i := range len(value) {
		c := value[i]
		filler := strings.IndexByte(fillers, c) >= 0
		switch {
		case isUpper(c) && c != 'X' && c != 'A':
			run = 0 // as in the alphabets of some keys
		case i > 0 && c == value[i-1]:
			run++
		default:
			run = 1
		}
		longest = max(longest, run)
		if filler {
			filled = max(filled, run)
			all++
		}
	}
	return filled >= 8 || longest >= 8 && 3*longest >= len(value) || all >= 6 && 2*all >= len(value) || strings.HasSuffix(value, "..")
}

// hasAlphabet reports whether a value has ten letters in the order of the alphabet, as examples do.
func hasAlphabet(value string) bool {
	run := 1
	for i := 1; i < len(value) && run < 10; i++ {
		if isLetter(value[i]) && value[i]|0x20 == value[i-1]|0x20+1 {
			run++
		} else {
			run = 1
		}
	}
	return run >= 10
}

// isRandom is like isSecretValue, for a value where an ordinary word could stand. The value must
// have both letters and digits, which words don't.
func isRandom(value string) bool {
	letters := strings.ContainsFunc(value, unicode.IsLetter)
	return letters && hasDigit(value) && isSecretValue(value) || isBasic(value)
}

// isRandomNotPath is like isRandom, for a value that could be a path.
func isRandomNotPath(value string) bool {
	return isRandom(value) && !strings.ContainsAny(value[:1], "/~.") && !strings.Contains(value, `:\`)
}

// isValue reports whether value is a real one: not a variable, a placeholder or a text that was
// redacted before.
func isValue(value string) bool {
	value = strings.TrimSpace(value)
	switch {
	case value == "", strings.HasPrefix(value, markStart), strings.Contains(value, "[redacted"):
		return false
	case strings.ContainsAny(value[:1], "$<%{"), strings.Trim(value, "*x.•X") == "":
		return false
	}
	return true
}

// codeWords are the words that follow a name in code, where a setting would have its value.
var codeWords = map[string]bool{
	"string": true, "number": true, "boolean": true, "bool": true, "byte": true, "bytes": true, "null": true, "none": true,
	"true": true, "false": true, "undefined": true, "object": true, "optional": true, "required": true, "str": true,
	"self": true, "this": true, "await": true, "func": true, "interface": true, "[]byte": true, "default": true,
	"secret": true, "password": true, "token": true,
}

// isSecretValue is like isValue, for a value in code or prose: a type or an expression is not one.
func isSecretValue(value string) bool { return isWord(value) && !isExpression(value) }

// isWord reports whether value is a real one and not a word of a programming language.
func isWord(value string) bool {
	word := strings.ToLower(strings.Trim(value, " .,:;!?*"))
	return isValue(value) && !codeWords[word] && len(word) >= 4
}

// isText reports whether a value in quotes is the text between two other quotes, or a sentence with
// a place for a value.
func isText(value string) bool {
	first, last := value[0], value[len(value)-1]
	edge := func(c byte) bool { return strings.IndexByte(" ,)+", c) >= 0 }
	return edge(first) && edge(last) || slices.Contains([]string{"%q", "%s", "%v"}, value[max(0, len(value)-2):])
}

var expression = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z][A-Za-z]*(?:\.[A-Za-z_]+)+|process\.env.*|os\.(?:environ|Getenv).*|[=*].*|[a-z]+[A-Z][A-Za-z]*|-?0x[0-9a-fA-F]{1,16}|` +
		`[a-z]+\.[A-Za-z0-9.]*[A-Za-z](?i:key|secret|token|password)[0-9]*|[A-Za-z0-9]*[A-Za-z](?:Key|Secret|Token|Password)[0-9]*)$`)
})

func isExpression(value string) bool { return len(value) < 80 && expression().MatchString(value) }
