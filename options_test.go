package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func nopCanUseTool(context.Context, *PermissionRequest) (PermissionResult, error) { return nil, nil }

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

// fullOptions returns options with something in every field, and in every field of what they hold.
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

// TestEveryOptionDoesSomething sets one field after the other: each has to show in what the agent gets, unless it is
// for Clew alone.
func TestEveryOptionDoesSomething(t *testing.T) {
	t.Parallel()
	ours := []string{
		"AgentPath", "Transport", "InheritEnv", "Logger", "IdleTimeout", "OnIdle", "InitializeTimeout", "MaxFrameBytes",
		"MaxBacklogBytes", "Record", "VerbatimPrompts", "Reconnect", "StoreProject", "StoreEager", "StoreTimeout",
		// Hooks are given to initializeRequest by those who call them.
		"Hooks", "OnElicitation", "OnUserDialog",
		// It says how Plugins travel; its value here is none that the agent knows.
		"PluginDelivery",
	}
	empty := optionsEffect(t, &Options{})
	full := reflect.ValueOf(fullOptions()).Elem()
	for field, value := range full.Fields() {
		o := &Options{}
		reflect.ValueOf(o).Elem().FieldByIndex(field.Index).Set(value)
		changed := !cmp.Equal(empty, optionsEffect(t, o))
		if own := slices.Contains(ours, field.Name); changed == own {
			t.Errorf("%s changes what the agent gets: %t", field.Name, changed)
		}
	}
}

// optionsEffect returns all that an agent gets of options, as JSON.
func optionsEffect(t *testing.T, o *Options) string {
	t.Helper()
	var args []string
	for _, f := range append(o.flags(), agentFlag{args: o.ExtraArgs}) {
		args = append(args, f.args...)
	}
	data, err := json.Marshal([]any{
		args, o.environ(nil), o.initializeRequest(nil), o.mcpServersRequest(), o.Stderr != nil, o.CloseTimeout,
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
		Tools: []string{}, Skills: []string{}, InheritEnv: []string{}, SettingSources: []SettingSource{},
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

// unshared fails if a and b, which are alike, have memory in common that one could change under the other.
func unshared(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Struct:
		for field, value := range a.Fields() {
			unshared(t, path+"."+field.Name, value, b.FieldByIndex(field.Index))
		}
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if a.Type() == reflect.TypeFor[*slog.Logger]() || a.Type() == reflect.TypeFor[[]HookMatcher]() {
			return // the logger is meant to be shared; what matchers hold is not known here
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
