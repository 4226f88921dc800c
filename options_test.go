package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

func nopCanUseTool(context.Context, *permission.Request) (permission.Result, error) { return nil, nil }

func nopQuestion(context.Context, *QuestionRequest) (*QuestionResult, error) { return nil, nil }

func nopElicitation(context.Context, *ElicitationRequest) (*ElicitationResult, error) {
	return nil, nil
}

func nopUserDialog(context.Context, *UserDialogRequest) (*UserDialogResult, error) { return nil, nil }

type nopTransport struct{}

func (nopTransport) Connect(context.Context, *Launch) (Connection, error) { return nil, nil }

type nopStore struct{ Store }

type nopHandler struct{}

func (nopHandler) HandleMCP(context.Context, wire.JSON) (wire.JSON, error) { return "", nil }

// compactJSON returns a JSON text without space.
func compactJSON(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fullOptions returns options with something in every field, and in every nested field.
func fullOptions() *Options {
	o := &Options{}
	fillValue(reflect.ValueOf(o).Elem())
	return o
}

// fillValue puts something that is not zero into v.
func fillValue(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *Transport:
		*p = nopTransport{}
	case *Store:
		*p = nopStore{}
	case *MCPHandler:
		*p = nopHandler{}
	case **slog.Logger:
		*p = slog.New(slog.DiscardHandler)
	case *wire.JSON:
		*p = `{"member": 1}`
	case *map[string]MCPServer:
		stdio, sse, http, process := &MCPStdioServer{}, &MCPSSEServer{}, &MCPHTTPServer{}, &MCPInProcessServer{}
		*p = map[string]MCPServer{"stdio": stdio, "sse": sse, "http": http, "process": process}
		for _, s := range []any{stdio, sse, http, process} {
			fillValue(reflect.ValueOf(s).Elem())
		}
	default:
		fillKind(v)
	}
}

func fillKind(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fillValue(field)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillValue(key)
		fillValue(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { panic("not called") }))
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(2 * time.Second))
	case reflect.Float64:
		v.SetFloat(1.5)
	}
}

// TestEveryOptionDoesSomething sets one field after the other: each has to affect the agent's
// input, unless it is for Clew alone.
func TestEveryOptionDoesSomething(t *testing.T) {
	t.Parallel()
	ours := []string{
		"AgentPath", "AgentVersion", "AllowOldAgent", "Limits.ControlTimeout", "Transport", "InheritEnv", "Logger", "Limits.IdleTimeout", "Limits.OnIdle", "Limits.InitializeTimeout", "Limits.MaxFrameBytes",
		"Limits.MaxBacklogBytes", "Debug.Record", "VerbatimPrompts", "Reconnect", "Store.Project", "Store.Eager", "Store.Timeout",
		"KeepBackground", "Trace",
		// Hooks are parameters of initializeRequest.
		"Hooks", "OnElicitation", "OnUserDialog",
		// It determines how Plugins travel; the agent does not know the value used here.
		"PluginDelivery",
	}
	empty := optionsEffect(t, &Options{})
	full := reflect.ValueOf(fullOptions()).Elem()
	check := func(name string, index []int) {
		o := &Options{}
		reflect.ValueOf(o).Elem().FieldByIndex(index).Set(full.FieldByIndex(index))
		changed := !cmp.Equal(empty, optionsEffect(t, o))
		if own := slices.Contains(ours, name); changed == own {
			t.Errorf("%s changes what the agent gets: %t", name, changed)
		}
	}
	for field := range full.Type().Fields() {
		if field.Type.Kind() != reflect.Struct {
			check(field.Name, field.Index)
			continue
		}
		for member := range field.Type.Fields() {
			check(field.Name+"."+member.Name, append(slices.Clone(field.Index), member.Index...))
		}
	}
}

// optionsEffect returns all that an agent gets of options, as JSON.
func optionsEffect(t *testing.T, o *Options) string {
	t.Helper()
	var args []string
	for _, f := range append(agentFlags(o), agentFlag{args: o.ExtraArgs}) {
		args = append(args, f.args...)
	}
	data, err := json.Marshal([]any{
		args, agentEnv(o, nil), newInitializeBody(o), newServersRequest(o.MCPServers), o.Debug.Stderr != nil, o.Limits.CloseTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOptionsClone(t *testing.T) {
	t.Parallel()
	o := fullOptions()
	c := o.clone()
	unshared(t, "Options", reflect.ValueOf(o).Elem(), reflect.ValueOf(c).Elem())
	if want, got := optionsEffect(t, fullOptions()), optionsEffect(t, c); want != got {
		t.Errorf("effect (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func TestOptionsCloneKeepsNil(t *testing.T) {
	t.Parallel()
	var none *Options
	if diff := cmp.Diff(&Options{}, none.clone()); diff != "" {
		t.Errorf("clone of nil (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&Options{}, (&Options{}).clone()); diff != "" {
		t.Errorf("clone of zero (-want +got):\n%s", diff)
	}
	empty := &Options{
		Tools: []string{}, Skills: []string{}, InheritEnv: []string{}, Settings: SettingsOptions{Sources: []SettingSource{}},
		SystemPrompt: &SystemPrompt{Custom: []string{}}, Agents: map[string]AgentDefinition{"a": {Tools: []string{}}},
	}
	if diff := cmp.Diff(empty, empty.clone()); diff != "" {
		t.Errorf("clone of empty (-want +got):\n%s", diff)
	}
	bad := &Options{MCPServers: map[string]MCPServer{"a": (*MCPHTTPServer)(nil), "b": nil}}
	for name, server := range bad.clone().MCPServers {
		if server != nil {
			t.Errorf("server %s is %v", name, server)
		}
	}
}

// unshared fails if a and b, which are alike, have memory in common that one could change under the
// other.
func unshared(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Struct:
		for field, value := range a.Fields() {
			unshared(t, path+"."+field.Name, value, b.FieldByIndex(field.Index))
		}
	case reflect.Pointer, reflect.Slice, reflect.Map:
		switch a.Type() {
		case reflect.TypeFor[*slog.Logger](), reflect.TypeFor[*Budget]():
			return // they are meant to be shared
		case reflect.TypeFor[[]hook.Matcher]():
			return // what matchers hold is not known here
		}
		if a.IsNil() || b.IsNil() || a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared, or nil", path)
			return
		}
		unsharedElements(t, path, a, b)
	case reflect.Interface:
		if a.Type() == reflect.TypeFor[MCPServer]() {
			unshared(t, path, a.Elem(), b.Elem())
		}
	}
}

func unsharedElements(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer:
		unshared(t, path, a.Elem(), b.Elem())
	case reflect.Slice:
		for i := range a.Len() {
			unshared(t, path+"[]", a.Index(i), b.Index(i))
		}
	case reflect.Map:
		for key, value := range a.Seq2() {
			unshared(t, path+"["+key.String()+"]", value, b.MapIndex(key))
		}
	}
}

func TestCheckRule(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"Read":                 "",
		"--evil":               "",
		"mcp__server__*":       "",
		"Bash(git log:*,x)":    "",
		"Bash(npm run test *)": "",
		`Bash(echo "a)b")`:     "",
		"Edit(docs/ü.md)":      "",
		"":                     "is empty",
		"Read,Write":           "would be read as several rules",
		"Read Write":           "would be read as several rules",
		" Read":                "would be read as several rules",
		"Bash(a),Write":        "would be read as several rules",
		"Bash(echo (a) b)":     "would be read as several rules",
		`X(a\) b)`:             "would be read as several rules",
		"Write(c":              "has a parenthesis that is not closed",
		"Read\tWrite":          "has a control character",
		"Edit(\n)":             "has a control character",
	}
	for rule, want := range tests {
		if got := checkRule(rule); got != want {
			t.Errorf("%q: %q, want %q", rule, got, want)
		}
	}
}

func TestCheckSkill(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pdf", "my skill", "plugin:skill", `dir\sub`, "a*b", "schön"} {
		if reason := checkSkill(name); reason != "" {
			t.Errorf("%q %s", name, reason)
		}
	}
	for _, name := range []string{
		"", "x),Bash(*", "a,b", "pdf:*", "pdf *", "*", "/pdf", " pdf", "pdf\n", `a\\b`, `a\`, "\uFEFFpdf", "a\x01", "a\x7f",
		"a\u0085b", "a\xffb",
	} {
		if checkSkill(name) == "" {
			t.Errorf("%q was accepted", name)
		}
	}
}

func TestSkillsLeaveTheCallersListAlone(t *testing.T) {
	t.Parallel()
	rules := append(make([]string, 0, 8), "Read")
	o := &Options{AllowedTools: rules, Skills: []string{"pdf"}}
	if diff := cmp.Diff([]string{"Read", "Skill(pdf)"}, allowedTools(o)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Read", ""}, rules[:2]); diff != "" {
		t.Errorf("the caller's rules (-want +got):\n%s", diff)
	}
}

func TestOptionsWarnings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    *Options
		want []string
	}{
		{"nil", nil, nil},
		{"no callback", &Options{PermissionMode: PermissionModeBypassPermissions, AllowedTools: []string{"Read"}}, nil},
		{"callback alone", &Options{CanUseTool: nopCanUseTool}, nil},
		{"bypass", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModeBypassPermissions},
			[]string{"is not asked: PermissionMode is bypassPermissions"}},
		{"don't ask", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModeDontAsk},
			[]string{"is not asked: tools that it could allow are denied: PermissionMode is dontAsk"}},
		{"edits", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModeAcceptEdits},
			[]string{"is not asked about edits and simple file commands in the working directories: " +
				"PermissionMode is acceptEdits"}},
		{"auto", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModeAuto},
			[]string{"is not asked about tools that the agent's classifier decides about: PermissionMode is auto"}},
		{"plan", &Options{CanUseTool: nopCanUseTool, PermissionMode: PermissionModePlan}, nil},
		{"nobody", &Options{CanUseTool: nopCanUseTool, PermissionPrompts: PermissionPromptsNone},
			[]string{"is not asked: PermissionPrompts is none"}},
		{"whole tools",
			&Options{CanUseTool: nopCanUseTool, AllowedTools: []string{"Read", "Bash(ls:*)", "Edit()", "Write(*)", "Read(*)"}},
			[]string{"is not asked about tools that are always allowed: Read, Edit, Write"}},
		{"all skills", &Options{CanUseTool: nopCanUseTool, Skills: []string{AllSkills}},
			[]string{"is not asked about tools that are always allowed: Skill"}},
		{"one skill", &Options{CanUseTool: nopCanUseTool, Skills: []string{"pdf"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, w := range tt.o.Warnings() {
				if w.Option != "CanUseTool" {
					t.Errorf("warning about %s", w.Option)
				}
				got = append(got, w.Reason)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLaunchLogsWarnings(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	o := &Options{CanUseTool: nopCanUseTool, AllowedTools: []string{"Read"}, Logger: logger}
	plan, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	plan.launch("claude")
	const want = `level=WARN msg="option is probably a mistake" option=CanUseTool ` +
		`reason="is not asked about tools that are always allowed: Read"`
	if _, got, _ := strings.Cut(log.String(), " "); got != want+"\n" {
		t.Errorf("log: %s", got)
	}
	o.Logger = nil
	plan.launch("claude") // logs nothing
}
