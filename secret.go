package clew

import (
	"encoding/json"
	"regexp"
	"strings"
)

// masked stands in for a secret.
const masked = "***"

// secretShapes find secrets in free text: what the groups match is kept, and what is between them is masked. Matching
// takes time in proportion to the text, whatever it is.
var secretShapes = []*regexp.Regexp{
	// Keys whose beginning says what they are.
	regexp.MustCompile(`(sk-ant-)[A-Za-z0-9_-]+`),
	regexp.MustCompile(`\b(sk-|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|AKIA|ASIA|AIza)[A-Za-z0-9_-]{12,}`),
	// A JSON web token.
	regexp.MustCompile(`\b(eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`),
	// The user and the password of a URL.
	regexp.MustCompile(`(://)[^\s/?#"'<>]+(@)`),
	// A header or a member whose name says that its value is secret, with the scheme in front of the value.
	regexp.MustCompile(`(?i)((?:authorization|api[_-]?key|access[_-]?key|private[_-]?key|token|secret|password|passwd)` +
		`["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s"',;&}\])]+`),
	regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}`),
}

// mask hides secrets in free text, such as that of an error: keys of well-known shapes, values whose name says that
// they are secret, and passwords in URLs. It takes any text, valid or not. A secret without a sign of it is not found.
func mask(text string) string {
	for _, shape := range secretShapes {
		text = shape.ReplaceAllString(text, "${1}"+masked+"${2}")
	}
	return text
}

// maskJSON hides secrets in a JSON object: all values in members named "env" and "headers", codes of a login, all
// values whose name says that they are secret, and what mask finds in the others. What is no object is masked as text.
func maskJSON(text string) string {
	var members map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&members); err != nil || members == nil || decoder.More() {
		return mask(text)
	}
	return string(toJSON(maskValue(members)))
}

func maskValue(value any) any {
	switch v := value.(type) {
	case string:
		return mask(v)
	case []any:
		for i := range v {
			v[i] = maskValue(v[i])
		}
	case map[string]any:
		for name, member := range v {
			if secretName(name) {
				v[name] = maskWhole(member)
			} else {
				v[name] = maskValue(member)
			}
		}
	}
	return value
}

// maskWhole hides a value, and keeps the names of members of an object.
func maskWhole(value any) any {
	members, ok := value.(map[string]any)
	if !ok {
		return masked
	}
	for name := range members {
		members[name] = masked
	}
	return members
}

// secretName reports whether the value of a member with that name is a secret.
func secretName(name string) bool {
	name = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	switch name {
	case "env", "headers", "authorizationcode", "callbackurl":
		return true
	}
	for _, end := range []string{"token", "secret", "password", "passwd", "key", "authorization", "credential", "cookie"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
