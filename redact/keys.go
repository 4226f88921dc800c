package redact

import (
	"regexp"
	"strings"
	"sync"
)

// keyRules find keys and tokens by how they start.
func keyRules() []Rule {
	return []Rule{
		{
			Name: "private-key", About: "private keys, such as SSH, TLS and PGP keys",
			anchors: []string{"private key-----", "private key block-----"}, custom: privateKeys,
		},
		{
			Name: "anthropic-key", About: "Anthropic keys and tokens: sk-ant-...",
			anchors: []string{"sk-ant-"}, before: wordStart, broken: true,
			wanted:  func(match string) bool { return isKey(match) && !hasAlphabet(match) },
			pattern: `sk-ant-[A-Za-z0-9_-]{8,}`,
		},
		{
			Name: "openai-key", About: "keys for OpenAI and similar services: sk-..., sk-proj-...",
			anchors: []string{"sk-"}, before: nameStart, broken: true, wanted: func(match string) bool { return hasDigit(match) && isKey(match) },
			pattern: `sk-(?:(?:proj|svcacct|admin|or-v1|live|test)-)?[A-Za-z0-9_]{20,}[A-Za-z0-9_-]*`,
		},
		{
			Name: "github-token", About: "GitHub and GitLab tokens: ghp_..., github_pat_..., glpat-...",
			anchors: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"}, before: wordStart, broken: true, wanted: isKey,
			pattern: `gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}`,
		},
		{
			Name: "slack-token", About: "Slack tokens and webhooks: xoxb-..., hooks.slack.com/services/...",
			anchors: []string{"xox", "xapp-"}, before: wordStart, broken: true, wanted: func(match string) bool { return isKey(match) && !isWords(match) },
			pattern: `xox[abceoprs]-[A-Za-z0-9-]{16,}#*|xapp-[A-Za-z0-9-]{10,}`,
		},
		{
			Name: "slack-token", anchors: []string{"hooks.slack.com/"}, before: wordStart,
			pattern: `hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]+)`,
		},
		{
			Name: "aws-key", About: "AWS access keys and their secrets: AKIA..., ASIA...",
			anchors: []string{"akia", "asia"}, before: wordStart, broken: true, wanted: isKey,
			pattern: `(?:AKIA|ASIA)[A-Z0-9]{16}\b(?:[\s:,;|]{1,4}[A-Za-z0-9/+]{40}\b)?`,
		},
		{
			Name: "google-key", About: "Google keys and tokens: AIza..., ya29...., GOCSPX-...",
			anchors: []string{"aiza", "ya29.", "gocspx-"}, before: wordStart, broken: true, wanted: isKey,
			pattern: `(AIza[A-Za-z0-9_-]{35})(?:[^\w-]|$)|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}`,
		},
		{
			Name: "package-token", About: "npm, PyPI, Hugging Face and Stripe tokens: npm_..., pypi-..., hf_..., sk_live_...",
			anchors: []string{"npm_", "pypi-", "hf_", "sk_live_", "sk_test_", "rk_live_", "rk_test_"}, before: wordStart, broken: true,
			wanted:  func(match string) bool { return isKey(match) && !isWords(match) },
			pattern: `npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|hf_[A-Za-z0-9]{30,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,
		},
		{
			Name: "jwt", About: "JSON web tokens: eyJ....eyJ....",
			anchors: []string{"eyj"}, before: nameStart, broken: true,
			pattern: `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`,
		},
	}
}

// keyBegin finds the first line of a private key.
var keyBegin = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
})

// privateKeys finds the text between the first and the last line of a key, or, if the last line is
// missing, the text that looks like lines of a key.
func privateKeys(text string) [][2]int {
	begins := keyBegin().FindAllStringIndex(text, -1)
	var spans [][2]int
	for i, begin := range begins {
		next := len(text)
		if i+1 < len(begins) {
			next = begins[i+1][0]
		}
		body := keyBody(text[begin[1]:next])
		if len(strings.TrimSpace(body)) >= 24 && !strings.Contains(body, markStart) {
			spans = append(spans, [2]int{begin[1], begin[1] + len(body)})
		}
	}
	return spans
}

// keyHeaders finds the lines between the first line of a key and its text.
var keyHeaders = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:\s|\\[nr])+(?:Version|Comment|Charset|Proc-Type|DEK-Info): [^\r\n\\]{0,200})*`)
})

// keyBody returns the beginning of text that belongs to a key. text follows the key's first line.
func keyBody(text string) string {
	if end := strings.Index(text, "-----END "); end >= 0 {
		return text[:end]
	}
	rest := text[len(keyHeaders().FindString(text)):]
	return text[:len(text)-len(strings.TrimLeft(rest, keyLetters))]
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

// keyLetters are the characters of base64 and those around its lines, such as line numbers' arrows.
const keyLetters = base64Letters + "\\\r\n\t →|>"
