package export

import (
	"reflect"
	"slices"

	"github.com/clewdev/clew/internal/redact"
	"github.com/clewdev/clew/wire"
)

// Redact removes secrets and personal data from a document, and sets [Document.Redacted] to what it
// found. Images are removed as well, since their content is unknown.
func Redact(d *Document, r *redact.Redactor) {
	redactor{r}.value(reflect.ValueOf(d).Elem())
	d.Redacted = r.Counts()
}

// A redactor goes through all values of a document.
type redactor struct{ *redact.Redactor }

var (
	jsonType  = reflect.TypeFor[wire.JSON]()
	imageType = reflect.TypeFor[[]Image]()
)

// value redacts all strings in a value. It uses reflection, so that a member which is added to
// documents later is redacted as well. Lists of strings are copied, since transcripts share them.
func (r redactor) value(v reflect.Value) {
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

func (r redactor) list(v reflect.Value) {
	switch {
	case v.Type() == imageType:
		if v.Len() > 0 {
			r.Count("picture", v.Len())
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

func (r redactor) text(v reflect.Value) {
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
