package wire_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// An example is a frame with every field of its kind.
type example struct {
	kind  string
	want  wire.Message // of the type that the frame decodes to
	frame string
}

// examples returns the frames of all tables.
func examples() []example {
	return slices.Concat(conversationExamples, systemExamples, noticeExamples, controlExamples, eventExamples(), blockExamples())
}

// decodeAs decodes a frame that is of a known variant.
func decodeAs[T wire.Message](t testing.TB, frame string) T {
	t.Helper()
	msg := wire.Decode([]byte(frame))
	same, ok := msg.(T)
	if !ok {
		t.Fatalf("%T (%v), want %T for %.200s", msg, msg, same, frame)
	}
	return same
}

// encoded appends msg to nothing.
func encoded(t testing.TB, msg wire.Message) []byte {
	t.Helper()
	frame, err := wire.Append(nil, msg)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// exported compares what callers see of two values.
var exported = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && !ast.IsExported(field.Name())
}, cmp.Ignore())

func TestExamplesDecode(t *testing.T) {
	for _, ex := range examples() {
		t.Run(ex.kind, func(t *testing.T) {
			msg := wire.Decode([]byte(ex.frame))
			if reflect.TypeOf(msg) != reflect.TypeOf(ex.want) {
				t.Fatalf("%T (%v), want %T", msg, msg, ex.want)
			}
			if got := msg.Kind().String(); got != ex.kind {
				t.Errorf("kind %s, want %s", got, ex.kind)
			}
			if !wire.Known(msg.Kind()) {
				t.Errorf("kind %s is not known", msg.Kind())
			}
			if fields := wire.UnknownFields(msg); fields != nil {
				t.Errorf("unknown fields %q", fields)
			}
			if msg.Raw() != strings.TrimSpace(ex.frame) {
				t.Errorf("raw is %s", msg.Raw())
			}
			agree(t, "", reflect.ValueOf(msg), value(t, []byte(ex.frame)))
		})
	}
}

func TestExamplesRoundTrip(t *testing.T) {
	for _, ex := range examples() {
		t.Run(ex.kind, func(t *testing.T) {
			msg := wire.Decode([]byte(ex.frame))
			appended := encoded(t, msg)
			if bytes.ContainsAny(appended, "\r\n") {
				t.Errorf("more than a line: %s", appended)
			}
			marshalled, err := json.Marshal(msg)
			if err != nil {
				t.Fatal(err)
			}
			want := value(t, []byte(ex.frame))
			if diff := cmp.Diff(want, value(t, appended)); diff != "" {
				t.Errorf("Append (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, value(t, marshalled)); diff != "" {
				t.Errorf("json.Marshal (-want +got):\n%s", diff)
			}
		})
	}
}

// Without the raw bytes the typed fields are the same, and what they hold is
// written all the same.
func TestExamplesDecodeWithoutRaw(t *testing.T) {
	for _, ex := range examples() {
		t.Run(ex.kind, func(t *testing.T) {
			d := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})
			msg := d.Decode([]byte(ex.frame))
			if diff := cmp.Diff(wire.Decode([]byte(ex.frame)), msg, exported); diff != "" {
				t.Errorf("(-raw kept +raw discarded):\n%s", diff)
			}
			if _, open := msg.(*wire.AutocompactStateMessage); msg.Raw() != "" && !open {
				t.Errorf("raw is %s", msg.Raw())
			}
			again := wire.Decode(encoded(t, msg))
			if diff := cmp.Diff(msg, again, exported); diff != "" {
				t.Errorf("after encoding (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExamplesUnmarshal(t *testing.T) {
	for _, ex := range examples() {
		t.Run(ex.kind, func(t *testing.T) {
			got := reflect.New(reflect.TypeOf(ex.want).Elem()).Interface()
			if err := json.Unmarshal([]byte(ex.frame), got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wire.Decode([]byte(ex.frame)), got, exported); diff != "" {
				t.Errorf("(-decoded +unmarshalled):\n%s", diff)
			}
		})
	}
}

// The message owns its memory: the caller's buffer may be used again.
func TestExamplesDoNotAliasTheInput(t *testing.T) {
	for _, opts := range []*wire.ReaderOptions{nil, {DiscardRaw: true}} {
		d := wire.NewDecoder(opts)
		for _, ex := range examples() {
			buffer := []byte(ex.frame)
			msg := d.Decode(buffer)
			for i := range buffer {
				buffer[i] = '#'
			}
			if diff := cmp.Diff(wire.Decode([]byte(ex.frame)), msg, exported); diff != "" {
				t.Errorf("%s, options %+v (-want +got):\n%s", ex.kind, opts, diff)
			}
			if got := encoded(t, msg); bytes.Contains(got, []byte("#")) {
				t.Errorf("%s, options %+v: %s", ex.kind, opts, got)
			}
		}
	}
}

func TestEveryVariantHasAnExample(t *testing.T) {
	special := []wire.Message{
		customMessage(t), wire.Decode([]byte(`{"type":"new"}`)), wire.Decode([]byte(`{`)), textLine(t),
		decodeAs[*wire.SystemMessage](t, `{"type":"system","subtype":"new"}`),
	}
	shown := map[string]bool{}
	for _, ex := range examples() {
		shown[typeName(ex.want)] = true
	}
	for _, msg := range special {
		shown[typeName(msg)] = true
	}
	for _, name := range variants(t, "message.go", "Message") {
		if !shown[name] {
			t.Errorf("no example of %s", name)
		}
	}
}

func typeName(v any) string { return reflect.TypeOf(v).Elem().Name() }

var variantLink = regexp.MustCompile(`\[\*(\w+)\]`)

// variants returns the types that the doc comment of a sum lists.
func variants(t testing.TB, path, sum string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, decl := range file.Decls {
		decl, ok := decl.(*ast.GenDecl)
		if !ok || decl.Tok != token.TYPE || decl.Specs[0].(*ast.TypeSpec).Name.Name != sum {
			continue
		}
		for _, link := range variantLink.FindAllStringSubmatch(decl.Doc.Text(), -1) {
			names = append(names, link[1])
		}
	}
	if len(names) < 10 {
		t.Fatalf("%s of %s has the variants %q", sum, path, names)
	}
	return names
}

func textLine(t testing.TB) wire.Message {
	t.Helper()
	for msg, err := range wire.NewReader(strings.NewReader("hello\n"), nil).Messages() {
		if err != nil {
			t.Fatal(err)
		}
		return msg
	}
	t.Fatal("no message")
	return nil
}

func customMessage(t testing.TB) wire.Message {
	t.Helper()
	var registry wire.Registry
	kind := wire.Kind{Type: "custom"}
	if err := registry.Add(kind, func(raw json.RawMessage) (any, error) { return len(raw), nil }); err != nil {
		t.Fatal(err)
	}
	return wire.NewDecoder(&wire.ReaderOptions{Registry: &registry}).Decode([]byte(`{"type":"custom"}`))
}
