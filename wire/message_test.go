package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// Without the raw bytes the typed fields have the same values, and are written with them.
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

type weather struct {
	City string `json:"city"`
}

func decodeWeather(raw json.RawMessage) (any, error) {
	w := new(weather)
	return w, json.Unmarshal(raw, w)
}

// register returns options with a decoder for a kind.
func register(t testing.TB, kind wire.Kind, decode func(json.RawMessage) (any, error)) *wire.ReaderOptions {
	t.Helper()
	registry := new(wire.Registry)
	if err := registry.Add(kind, decode); err != nil {
		t.Fatal(err)
	}
	return &wire.ReaderOptions{Registry: registry}
}

func TestRegistryDecodes(t *testing.T) {
	for kind, frame := range map[wire.Kind]string{
		{Type: "weather"}:                    `{"city":"Graz","type":"weather","new":1}`,
		{Type: "system", Subtype: "weather"}: `{"type":"system","city":"Graz","subtype":"weather"}`,
	} {
		for _, discard := range []bool{false, true} {
			opts := register(t, kind, decodeWeather)
			opts.DiscardRaw = discard
			msg, ok := wire.NewDecoder(opts).Decode([]byte(frame)).(*wire.CustomMessage)
			if !ok || msg.Kind() != kind || msg.Raw() != frame {
				t.Fatalf("message %+v", msg)
			}
			if diff := cmp.Diff(&weather{"Graz"}, msg.Value); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := encoded(t, msg); string(got) != frame {
				t.Errorf("encoded %s", got)
			}
			if text, err := json.Marshal(msg); err != nil || string(text) != frame {
				t.Errorf("marshalled %s, %v", text, err)
			}
		}
	}
}

func TestRegistryLeavesOthersAlone(t *testing.T) {
	d := wire.NewDecoder(register(t, wire.Kind{Type: "weather"}, decodeWeather))
	for frame, want := range map[string]string{
		`{"type":"climate"}`:                    "*wire.UnknownMessage",
		`{"type":"system","subtype":"weather"}`: "*wire.SystemMessage",
		`{"type":"keep_alive"}`:                 "*wire.KeepAliveMessage",
		`{"type":"weather"`:                     "*wire.InvalidFrame",
		`{"type":"weather"} x`:                  "*wire.InvalidFrame",
	} {
		if got := fmt.Sprintf("%T", d.Decode([]byte(frame))); got != want {
			t.Errorf("%s: %s, want %s", frame, got, want)
		}
	}
}

func TestRegistryRefuses(t *testing.T) {
	registry := new(wire.Registry)
	if err := registry.Add(wire.Kind{Type: "weather"}, decodeWeather); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []wire.Kind{
		{}, {Subtype: "x"}, {Type: "system"}, {Type: "weather", Subtype: "rain"},
		{Type: "user"}, {Type: "stream_event"}, {Type: "content_block_delta"}, {Type: "system", Subtype: "init"},
		{Type: "weather"},
	} {
		if err := registry.Add(kind, decodeWeather); err == nil || !strings.HasPrefix(err.Error(), "wire: ") {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
	if err := registry.Add(wire.Kind{Type: "climate"}, nil); err == nil {
		t.Error("no decoder at all was accepted")
	}
}

func TestRegistryDecoderFails(t *testing.T) {
	for name, decode := range map[string]func(json.RawMessage) (any, error){
		"error": func(json.RawMessage) (any, error) { return 1, errors.New("no rain") },
		"panic": func(json.RawMessage) (any, error) { panic("no rain") },
	} {
		t.Run(name, func(t *testing.T) {
			d := wire.NewDecoder(register(t, wire.Kind{Type: "weather"}, decode))
			const frame = `{"type":"weather"}`
			msg, ok := d.Decode([]byte(frame)).(*wire.InvalidFrame)
			if !ok || !strings.Contains(msg.Error(), "no rain") || msg.Raw() != frame || msg.Kind().Type != "weather" {
				t.Errorf("message %+v", msg)
			}
			if _, ok := d.Decode([]byte(`{"type":"keep_alive"}`)).(*wire.KeepAliveMessage); !ok {
				t.Error("the next frame is not decoded")
			}
		})
	}
}

func TestRegistryNil(t *testing.T) {
	d := wire.NewDecoder(&wire.ReaderOptions{Registry: nil})
	if _, ok := d.Decode([]byte(`{"type":"weather"}`)).(*wire.UnknownMessage); !ok {
		t.Error("not unknown")
	}
}

func TestRegistryFromSeveralGoroutines(t *testing.T) {
	registry := new(wire.Registry)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			kind := wire.Kind{Type: fmt.Sprintf("weather%d", i)}
			if err := registry.Add(kind, decodeWeather); err != nil {
				t.Error(err)
			}
			d := wire.NewDecoder(&wire.ReaderOptions{Registry: registry})
			for range 100 {
				if _, ok := d.Decode([]byte(`{"type":"` + kind.Type + `"}`)).(*wire.CustomMessage); !ok {
					t.Errorf("%s is not decoded", kind)
				}
			}
		})
	}
	group.Wait()
}

func TestSessionKeyCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key  wire.SessionKey
		good bool
	}{
		"a session":             {wire.SessionKey{Project: "-home-me", SessionID: "1"}, true},
		"a subagent":            {wire.SessionKey{Project: "-home-me", SessionID: "1", Subpath: "subagents/agent-1"}, true},
		"no project":            {wire.SessionKey{SessionID: "1"}, false},
		"no session":            {wire.SessionKey{Project: "p"}, false},
		"the folder above":      {wire.SessionKey{Project: "..", SessionID: "1"}, false},
		"a path":                {wire.SessionKey{Project: "p", SessionID: "a/b"}, false},
		"a path of Windows":     {wire.SessionKey{Project: "p", SessionID: `a\b`}, false},
		"a drive":               {wire.SessionKey{Project: "C:", SessionID: "1"}, false},
		"a NUL":                 {wire.SessionKey{Project: "p", SessionID: "1\x00"}, false},
		"not UTF-8":             {wire.SessionKey{Project: "p\xff", SessionID: "1"}, false},
		"a subpath up":          {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "subagents/../../x"}, false},
		"an absolute subpath":   {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "/etc/passwd"}, false},
		"an empty element":      {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "a//b"}, false},
		"a subpath that stays":  {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "./a"}, false},
		"a subpath of a drive":  {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "D:/a"}, false},
		"a subpath with an end": {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "a/"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tt.key.Check(); (err == nil) != tt.good {
				t.Errorf("%q: %v", tt.key, err)
			}
		})
	}
}

// The frames that belong neither to the conversation nor to type system.
var noticeExamples = []example{
	{"tool_progress", new(wire.ToolProgressMessage), `{
		"type": "tool_progress", "tool_use_id": "toolu_1", "tool_name": "Bash", "parent_tool_use_id": "toolu_0",
		"elapsed_time_seconds": 2.5, "task_id": "t1", "heartbeat": true, "subagent_type": "Explore",
		"subagent_retry": {
			"agent_id": "agent-1", "attempt": 1, "max_retries": 2, "retry_delay_ms": 3, "error_status": 500,
			"error_category": "server_error"
		},
		"uuid": "x", "session_id": "s1"
	}`},
	{"tool_use_summary", new(wire.ToolUseSummaryMessage), `{
		"type": "tool_use_summary", "summary": "Read two files.", "preceding_tool_use_ids": ["toolu_1", "toolu_2"],
		"uuid": "x", "session_id": "s1"
	}`},
	{"auth_status", new(wire.AuthStatusMessage), `{
		"type": "auth_status", "isAuthenticating": true, "output": ["Open the page."], "error": "timed out",
		"uuid": "x", "session_id": "s1"
	}`},
	{"rate_limit_event", new(wire.RateLimitMessage), `{
		"type": "rate_limit_event",
		"rate_limit_info": {
			"status": "allowed_warning", "resetsAt": 1763121600, "rateLimitType": "seven_day_opus",
			"utilization": 0.85, "overageStatus": "rejected", "overageResetsAt": 1763125200,
			"overageDisabledReason": "out_of_credits", "isUsingOverage": true, "overageInUse": true,
			"overageEnabled": true, "surpassedThreshold": 0.75, "limitScope": "group_pool",
			"errorCode": "credits_required", "canUserPurchaseCredits": true, "hasChargeableSavedPaymentMethod": true
		},
		"uuid": "x", "session_id": "s1"
	}`},
	{"prompt_suggestion", new(wire.PromptSuggestionMessage), `{
		"type": "prompt_suggestion", "suggestion": "Now the tests.", "uuid": "x", "session_id": "s1"
	}`},
	{"conversation_reset", new(wire.ConversationResetMessage), `{
		"type": "conversation_reset", "new_conversation_id": "s2", "trigger": "clear", "user_message_uuid": "u1",
		"timestamp": "2026-11-14T12:00:00Z", "uuid": "x", "session_id": "s1"
	}`},
	{"active_goal", new(wire.ActiveGoalMessage), `{
		"type": "active_goal",
		"value": {
			"condition": "tests pass", "iterations": 2, "set_at": 1763121600000, "tokens_at_start": 1000,
			"last_reason": "one fails"
		},
		"uuid": "x", "session_id": "s1"
	}`},
	{"transcript_mirror", new(wire.TranscriptMirrorMessage), `{
		"type": "transcript_mirror", "filePath": "/h/projects/-p/s1.jsonl",
		"entries": [{"type": "user", "uuid": "u1"}, {"type": "summary"}, null]
	}`},
	{"command_lifecycle", new(wire.CommandLifecycleMessage), `{
		"type": "command_lifecycle", "command_uuid": "u1", "state": "queued", "uuid": "x", "session_id": "s1"
	}`},
	{"autocompact_state", new(wire.AutocompactStateMessage), `{
		"type": "autocompact_state", "uuid": "x", "session_id": "s1"
	}`},
	{"keep_alive", new(wire.KeepAliveMessage), `{"type": "keep_alive", "startup_mark": "settings_loaded"}`},
}
