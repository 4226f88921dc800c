package export

import (
	"maps"
	"reflect"
	"slices"
	"strings"

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
