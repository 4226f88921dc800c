package redact

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

// A sampler makes texts that patterns match, always the same ones.
type sampler struct{ *rand.Rand }

func newSampler() sampler { return sampler{rand.New(rand.NewPCG(1, 2))} }

// pick returns n characters of a set.
func (s sampler) pick(set string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(set[s.IntN(len(set))])
	}
	return b.String()
}

const (
	hexDigits    = "0123456789abcdef"
	lowerLetters = "abcdefghijklmnopqrstuvwxyz"
	upperLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	allLetters   = lowerLetters + upperLetters
	alphanumeric = allLetters + "0123456789"
)

// matching returns a text that the pattern matches, without what follows its first group.
func (s sampler) matching(t *testing.T, pattern string) string {
	t.Helper()
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	s.write(&b, tree)
	return b.String()
}

func (s sampler) write(b *strings.Builder, tree *syntax.Regexp) {
	switch tree.Op {
	case syntax.OpLiteral:
		b.WriteString(string(tree.Rune))
	case syntax.OpCharClass:
		b.WriteString(s.character(tree.Rune))
	case syntax.OpAlternate:
		s.write(b, tree.Sub[s.IntN(len(tree.Sub))])
	case syntax.OpQuest, syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		least, most := tree.Min, tree.Max
		switch tree.Op {
		case syntax.OpQuest:
			least, most = 0, 1
		case syntax.OpStar:
			least, most = 0, 8
		case syntax.OpPlus:
			least, most = 8, 16
		}
		if most < 0 {
			most = least + 8
		}
		for range least + s.IntN(most-least+1) {
			s.write(b, tree.Sub[0])
		}
	default:
		for _, sub := range tree.Sub {
			s.write(b, sub)
		}
	}
}

// character returns a printable character of a class.
func (s sampler) character(bounds []rune) string {
	var set []string
	for i := 0; i < len(bounds); i += 2 {
		for r := max(bounds[i], '!'); r <= min(bounds[i+1], '~'); r++ {
			set = append(set, string(r))
		}
	}
	if len(set) == 0 {
		return " "
	}
	return set[s.IntN(len(set))]
}

// A sample is a text with a secret.
type sample struct{ kind, text, secret string }

// places are contexts in which tokens are found that rules know by how they start.
var places = []string{
	"%s", "refused %s", "key=%s&x=1", `"%s"`, "'%s',", "(%s)", "x := `%s`", "[%s]", "\x1b[32m%s\x1b[0m", "a%%3D%s", "https://x.example/?k=%s", `"a\n%s"`,
	"curl -H 'X-Key: %s'", "<a>%s</a>", "- %s\n", "{\"a\":\"%s\"}",
}

// assignments are ways to give a value a name. The first word is the name, the second the value.
var assignments = []string{
	"%s=%s", "export %s=%s", "%s = \"%s\"", "%s: %s\n", "%s: \"%s\"", "\"%s\": \"%s\"", "var %s string = \"%s\"", "%s := `%s`", "%s := \"%s\"", "const %s = '%s'",
	"%s => '%s'", "<%s>%s</x>", "x.setProperty(\"%s\", \"%s\")", "{\\\"%s\\\": \\\"%s\\\"}", "%s ?= %s\n", "%s:\"%s\"", "%s='%s'", "x[\"%s\"] = \"%s\"", "%s%%3D%s",
	"%s=\x1b[33m%s\x1b[0m",
}

// keySamples returns tokens in the given number of places each.
func keySamples(t *testing.T, s sampler, each int) []sample {
	t.Helper()
	var samples []sample
	place := func(kind, token string) {
		for range each {
			samples = append(samples, sample{kind, fmt.Sprintf(places[s.IntN(len(places))], token), token})
		}
	}
	for _, pattern := range tokenPatterns {
		place(pattern, withDigit(func() string { return s.matching(t, pattern) }))
	}
	var table []gitleaksRule
	if err := json.Unmarshal(gitleaksRules, &table); err != nil {
		t.Fatal(err)
	}
	for _, rule := range table {
		pattern, _, _ := strings.Cut(rule.Pattern, `(?:[^\w-]|$)`)
		secret := withDigit(func() string { return s.matching(t, pattern) })
		for entropy(secret) < rule.Entropy || rule.ID != "microsoft-teams-webhook" && strings.TrimSpace(secret) != secret {
			secret = s.matching(t, pattern)
		}
		if !rule.Named {
			place(rule.ID, secret)
			continue
		}
		for range each {
			name := rule.Anchors[s.IntN(len(rule.Anchors))] + []string{"", "_key", "Token", ".secret"}[s.IntN(4)]
			samples = append(samples, sample{rule.ID, fmt.Sprintf(assignments[s.IntN(len(assignments))], name, secret), secret})
		}
	}
	return samples
}

// withDigit calls make until it returns a text with a digit, or a few times.
func withDigit(make func() string) string {
	text := make()
	for range 20 {
		if hasDigit(text) {
			break
		}
		text = make()
	}
	return text
}

// secretNames are names of settings that are secrets.
var secretNames = []string{
	"password", "db_password", "userPassword", "apiKey", "api_key", "API_KEY", "GITHUB_TOKEN", "xToken", "auth_token", "client_secret", "clientSecret",
	"passwd", "DB_PASS", "AWS_SECRET_ACCESS_KEY", "credential", "private_key", "SECRET_KEY", "access_token", "db.password", "passphrase", "Password",
	"STRIPE_KEY", "encryptionKey", "TOKEN_2", "API_KEY_PROD",
}

// forms are other texts with a password.
var forms = []string{
	"password: |\n  %s\nuser: x\n", "db:\n  password: >-\n    %s\n", "Config{User: \"x\", Password: \"%s\"}", "<db password=\"%s\"/>",
	"<property name=\"db.password\" value=\"%s\"/>", "<add key=\"ClearTextPassword\" value=\"%s\" />", "<entry key=\"password\">%s</entry>",
	"os.Setenv(\"API_TOKEN\", \"%s\")", "define('DB_PASSWORD', '%s');", "TOKEN := %s\n", "mysql -uroot -p%s db", "mysqldump -u root -p%s db", "tool --password %s -v",
	"tool --token=%s", "tool --api-key=\"%s\"", "curl -u admin:%s https://x.example", "curl --user 'admin:%s' https://x.example",
	"curl -H \"Authorization: Bearer %s\" x", "curl -H 'X-Api-Key: %s' x", "curl -H \"Authorization: token %s\" x", "machine x.example login ann password %s\n",
	"machine x.example\nlogin ann\npassword %s\n", "db.example:5432:app:ann:%s\n", "*:*:*:ann:%s\n", "Server=db;User Id=sa;Password=%s;", "Server=db;Uid=sa;Pwd=%s;",
	"postgres://app:%s@db:5432/x", "https://x.example/?access_token=%s&x=1", "https://x.example/?key=%s", "redis://:%s@cache:6379", "{\"password\":\"%s\"}",
	"password = %s\n", "[db]\npassword=%s\n", "token = \"%s\"\n", "sshpass -p %s ssh h", "docker login -u ann -p %s ghcr.io", "//r.example/:_authToken=%s",
	"password=%s", "CREATE USER x IDENTIFIED BY '%s'", "password: str = \"%s\"", "let token: &str = \"%s\";", "char password[] = \"%s\";", "token = b\"%s\"",
	"apiKey: []byte(\"%s\"),", "Cookie: session=%s; Path=/", "kind: Secret\ndata:\n  x: %s\n", "DB_PASSWORD=\x1b[33m%s\x1b[0m", "pass\u200bword=%s", "redis-cli -h x -a %s",
	"?state=x%%26access_token%%3D%s",
}

// formSamples returns passwords in all forms.
func formSamples(s sampler, each int) []sample {
	var samples []sample
	for range each {
		for _, form := range forms {
			secret := withDigit(func() string { return s.pick(alphanumeric, 12+s.IntN(20)) })
			samples = append(samples, sample{form, fmt.Sprintf(form, secret), secret})
		}
		for _, name := range secretNames {
			form := assignments[s.IntN(len(assignments))]
			secret := withDigit(func() string { return s.pick(alphanumeric, 8+s.IntN(24)) })
			samples = append(samples, sample{form, fmt.Sprintf(form, name, secret), secret})
			camel := s.pick(lowerLetters, 5) + s.pick(upperLetters, 1) + s.pick(lowerLetters, 6)
			for _, quoted := range []string{"%s = \"%s\"", "\"%s\": \"%s\"", "%s: '%s'", "%s := `%s`", "x.setProperty(\"%s\", \"%s\")"} {
				samples = append(samples, sample{quoted, fmt.Sprintf(quoted, name, camel), camel})
			}
		}
	}
	return samples
}

// At most one of fifty secrets is left, whatever finds it: rules by how keys start, by the names of
// services, and by the names and forms of settings.
func TestRedactFindsSamples(t *testing.T) {
	t.Parallel()
	s := newSampler()
	samples := append(keySamples(t, s, soak.Size(4, 16)), formSamples(s, soak.Size(6, 40))...)
	for name, redact := range map[string]func(string) string{"Text": new(Redactor).Text, "Mask": Mask} {
		left := 0
		for _, sample := range samples {
			if got := redact(sample.text); strings.Contains(visible(got), sample.secret) {
				left++
				t.Logf("%s: %s: %q", name, sample.kind, sample.text)
			}
		}
		soak.Figure(t, "%s left %d of %d secrets", name, left, len(samples))
		if len(samples) < 1000 || left*50 > len(samples) {
			t.Errorf("%s left %d of %d secrets", name, left, len(samples))
		}
	}
}
