package export

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clewdev/clew/wire"
)

// A Redactor takes secrets and personal data out of texts, by [Rules]. The zero
// value is ready. It counts what it takes out, and is for one goroutine at a
// time.
//
// Rules know the forms of secrets, not their meaning: a password in a sentence
// stays.
type Redactor struct {
	// Home is the home folder of the user, if it is not one of those that the rules know by their form.
	Home string

	counts map[string]int
}

// mark is what takes the place of a text. No rule finds anything in it.
func mark(rule string) string { return "[redacted:" + rule + "]" }

const markStart = "[redacted:"

// Counts returns how often each rule has found something.
func (r *Redactor) Counts() map[string]int {
	counts := make(map[string]int)
	maps.Copy(counts, r.counts)
	return counts
}

func (r *Redactor) count(rule string, n int) {
	if r.counts == nil {
		r.counts = make(map[string]int)
	}
	if n > 0 {
		r.counts[rule] += n
	}
}

// Text returns a text without what the rules find. Its cost grows with the length
// of the text.
func (r *Redactor) Text(text string) string {
	if len(text) < 6 {
		return text
	}
	text = r.ownHome(text)
	lower := lowerASCII(text)
	rules := allRules()
	for i := range rules {
		if changed, n := rules[i].apply(text, lower); n > 0 {
			text, lower = changed, lowerASCII(changed)
			r.count(rules[i].Name, n)
		}
	}
	return text
}

// ownHome replaces the user's own home folder, unless the rules know it: they
// know better where its name ends.
func (r *Redactor) ownHome(text string) string {
	switch n := strings.Count(text, r.Home); {
	case len(r.Home) < 4, n == 0, strings.HasPrefix(r.Home, "/home/"), strings.HasPrefix(r.Home, "/Users/"),
		strings.Contains(r.Home, `:\Users\`):
		return text
	default:
		r.count("home", n)
		return strings.ReplaceAll(text, r.Home, "~")
	}
}

// Document takes all secrets out of a document, and notes in it what was found.
// Pictures are left out: nobody can tell what they show.
func (r *Redactor) Document(d *Document) {
	r.value(reflect.ValueOf(d).Elem())
	d.Redacted = r.Counts()
}

var (
	jsonType  = reflect.TypeFor[wire.JSON]()
	imageType = reflect.TypeFor[[]Image]()
)

// value redacts all strings below a value. So none is forgotten when documents
// get more members. Lists of strings are copied, since transcripts share them.
func (r *Redactor) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			r.value(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				r.value(field)
			}
		}
	case reflect.Slice:
		r.list(v)
	case reflect.String:
		r.text(v)
	}
}

func (r *Redactor) list(v reflect.Value) {
	switch {
	case v.Type() == imageType:
		if v.Len() > 0 {
			r.count("picture", v.Len())
			v.SetZero()
		}
		return
	case v.Type().Elem().Kind() == reflect.String:
		if texts, ok := v.Interface().([]string); ok {
			v.Set(reflect.ValueOf(slices.Clone(texts)))
		}
	}
	for i := range v.Len() {
		r.value(v.Index(i))
	}
}

func (r *Redactor) text(v reflect.Value) {
	old := v.String()
	changed := ""
	if v.Type() == jsonType {
		changed = r.JSON(old)
	} else {
		changed = r.Text(old)
	}
	if changed != old {
		v.SetString(changed)
	}
}

// JSON returns a JSON text without what the rules find in its strings and names,
// and without the strings that stand under the name of a secret. All else stays
// as it is, so that what was valid is valid. A text that is not JSON is treated
// as one of words.
func (r *Redactor) JSON(text string) string {
	if !json.Valid([]byte(text)) {
		return r.Text(text)
	}
	w := jsonRedactor{Redactor: r, text: text}
	return w.run()
}

// A jsonRedactor goes through the strings of a JSON text.
type jsonRedactor struct {
	*Redactor
	text string
	out  strings.Builder
	kept int    // where the part begins that is not yet in out
	name string // of the member whose value comes next
	list bool   // inside of a list, all of which has that name
	key  bool   // inside of a private key, whose lines are strings of their own
}

func (w *jsonRedactor) run() string {
	for i := 0; i < len(w.text); {
		switch c := w.text[i]; c {
		case '"':
			end := stringEnd(w.text, i)
			w.literal(i, end)
			i = end
			continue
		case '[':
			w.list = true
		case ',':
			if !w.list {
				w.name = ""
			}
		case '{', '}', ']':
			w.name, w.list = "", false
		}
		i++
	}
	if w.kept == 0 {
		return w.text
	}
	w.out.WriteString(w.text[w.kept:])
	return w.out.String()
}

// stringEnd returns where the string ends that begins at start.
func stringEnd(text string, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// literal redacts one string, quotes included.
func (w *jsonRedactor) literal(start, end int) {
	var value string
	if json.Unmarshal([]byte(w.text[start:end]), &value) != nil {
		return
	}
	changed := ""
	switch {
	case isPicture(value):
		changed = mark("picture")
		w.count("picture", 1)
	case isName(w.text, end):
		changed = w.Text(value)
		w.name = value
	default:
		changed = w.keyLine(value, w.member(value, w.Text(value)))
	}
	if changed == value {
		return
	}
	w.out.WriteString(w.text[w.kept:start])
	w.out.WriteString(quoteJSON(changed))
	w.kept = end
}

// isPicture reports whether a string is a picture in base64, by how that begins.
func isPicture(value string) bool {
	for _, start := range []string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"} {
		if strings.HasPrefix(value, start) && len(value) >= 64 && strings.Trim(value[:64], base64Letters) == "" {
			return true
		}
	}
	return false
}

func isName(text string, at int) bool {
	return strings.HasPrefix(strings.TrimLeft(text[at:min(at+64, len(text))], " \t\r\n"), ":")
}

// member redacts the value of a member by its name.
func (w *jsonRedactor) member(value, changed string) string {
	if w.name == "" || strings.HasPrefix(changed, markStart) {
		return changed
	}
	for _, rule := range namedRules() {
		if rule.names.MatchString(w.name) && rule.wanted(value) {
			w.count(rule.rule, 1)
			return mark(rule.rule)
		}
	}
	return changed
}

// keyLine redacts the lines of a private key where each is a string, as those of
// a diff are.
func (w *jsonRedactor) keyLine(value, changed string) string {
	begins := keyBegin().FindStringIndex(value)
	ends := strings.Contains(value, "-----END ")
	inside := w.key
	if begins != nil {
		w.key = !ends
	} else if ends {
		w.key = false
	}
	if !inside || begins != nil || ends {
		return changed
	}
	w.count("private-key", 1)
	return value[:len(value)-len(strings.TrimLeft(value, "+- "))] + mark("private-key")
}

func quoteJSON(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// keyRules find keys by how they begin.
func keyRules() []Rule {
	return []Rule{
		{
			Name: "private-key", About: "private keys, such as those of SSH, TLS and PGP",
			anchors: []string{"private key-----", "private key block-----"}, custom: privateKeys,
		},
		{
			Name: "anthropic-key", About: "keys and tokens of Anthropic: sk-ant-...",
			anchors: []string{"sk-ant-"}, before: wordStart, pattern: `sk-ant-[A-Za-z0-9_-]{8,}`,
		},
		{
			Name: "openai-key", About: "keys of OpenAI and alike: sk-..., sk-proj-...",
			anchors: []string{"sk-"}, before: nameStart, wanted: hasDigit,
			pattern: `sk-(?:(?:proj|svcacct|admin|or-v1|live|test)-)?[A-Za-z0-9_]{20,}[A-Za-z0-9_-]*`,
		},
		{
			Name: "github-token", About: "tokens of GitHub and GitLab: ghp_..., github_pat_..., glpat-...",
			anchors: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"}, before: wordStart,
			pattern: `gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}`,
		},
		{
			Name: "slack-token", About: "tokens and hooks of Slack: xoxb-..., hooks.slack.com/services/...",
			anchors: []string{"xox", "xapp-", "hooks.slack.com/"}, before: wordStart,
			pattern: `xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]+)`,
		},
		{
			Name: "aws-key", About: "access keys of AWS: AKIA..., ASIA..., with the secret behind them",
			anchors: []string{"akia", "asia"}, before: wordStart,
			pattern: `(?:AKIA|ASIA)[A-Z0-9]{16}\b(?:[\s:,;|]{1,4}[A-Za-z0-9/+]{40}\b)?`,
		},
		{
			Name: "google-key", About: "keys and tokens of Google: AIza..., ya29...., GOCSPX-...",
			anchors: []string{"aiza", "ya29.", "gocspx-"}, before: wordStart,
			pattern: `AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}`,
		},
		{
			Name: "package-token", About: "tokens of npm, PyPI, Hugging Face and Stripe: npm_..., pypi-..., hf_..., sk_live_...",
			anchors: []string{"npm_", "pypi-", "hf_", "sk_live_", "sk_test_", "rk_live_", "rk_test_"}, before: wordStart,
			pattern: `npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|hf_[A-Za-z0-9]{30,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,
		},
		{
			Name: "service-token", About: "tokens of other services: hvs...., SG...., dop_v1_..., gsk_..., shpat_..., AGE-SECRET-KEY-...",
			anchors: []string{
				"hvs.", "sg.", "dop_v1_", "age-secret-key-1", "xai-", "gsk_", "lin_api_", "shpat_", "glptt-", "gldt-", "glrt-",
				"dckr_pat_", "sq0", "whsec_", "api/webhooks/", "api.telegram.org/bot",
			},
			before: wordStart, wanted: hasDigit,
			pattern: `hvs\.[A-Za-z0-9_-]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{20,}|dop_v1_[A-Za-z0-9]{32,}` +
				`|AGE-SECRET-KEY-1[A-Z0-9]{40,}|xai-[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|lin_api_[A-Za-z0-9]{30,}` +
				`|shpat_[A-Za-z0-9]{20,}|gl(?:ptt|dt|rt)-[A-Za-z0-9_-]{16,}|dckr_pat_[A-Za-z0-9_-]{20,}|sq0[a-z]{3}-[A-Za-z0-9_-]{16,}` +
				`|whsec_[A-Za-z0-9]{20,}|api/webhooks/([0-9]{8,}/[A-Za-z0-9_-]{20,})|api\.telegram\.org/bot([0-9]{6,}:[A-Za-z0-9_-]{20,})`,
		},
		{
			Name: "jwt", About: "JSON web tokens: eyJ....eyJ....",
			anchors: []string{"eyj"}, before: nameStart,
			pattern: `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`,
		},
	}
}

// keyBegin finds the first line of a private key.
var keyBegin = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
})

// privateKeys finds what stands between the first and the last line of a key, or,
// where the end is missing, what looks like lines of one.
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

// keyBody returns the part of a text behind the first line of a key that is key.
func keyBody(text string) string {
	if end := strings.Index(text, "-----END "); end >= 0 {
		return text[:end]
	}
	return text[:len(text)-len(strings.TrimLeft(text, keyLetters))]
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

// keyLetters are those of base64, and what stands around its lines.
const keyLetters = base64Letters + "\\\r\n\t →|>"
