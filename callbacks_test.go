package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// request is a request of the agent with the given body.
func request(t testing.TB, body string) *wire.ControlRequestMessage {
	t.Helper()
	msg := wire.Decode([]byte(`{"type":"control_request","request_id":"req_7","request":` + body + `}`))
	req, ok := msg.(*wire.ControlRequestMessage)
	if !ok {
		t.Fatalf("%s is no control request: %#v", body, msg)
	}
	return req
}

// serve returns the answer to a request with the given body.
func serve(t testing.TB, o *Options, body string) (string, error) {
	t.Helper()
	answer, err := newCallbacks(o).serve(t.Context(), request(t, body))
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), nil
}

// wantAnswer compares the answer to a request, as JSON.
func wantAnswer(t *testing.T, o *Options, body, want string) {
	t.Helper()
	got, err := serve(t, o, body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if diff := cmp.Diff(value(t, want), value(t, got)); diff != "" {
		t.Errorf("answer to %s (-want +got):\n%s", body, diff)
	}
}

// wantError compares the error that a request leads to.
func wantError(t *testing.T, o *Options, body, want string) {
	t.Helper()
	got, err := serve(t, o, body)
	if err == nil || err.Error() != want {
		t.Errorf("%s: answer %s, error %v; want the error %s", body, got, err, want)
	}
}

// value is a JSON text as plain Go values.
func value(t testing.TB, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestServeUnsupported(t *testing.T) {
	t.Parallel()
	for body, subtype := range map[string]string{
		`{"subtype":"brand_new"}`:               "brand_new",
		`{"subtype":"oauth_token_refresh"}`:     "oauth_token_refresh",
		`{"subtype":"host_auth_token_refresh"}`: "host_auth_token_refresh",
		`{"subtype":5}`:                         "",
		`{}`:                                    "",
		`[]`:                                    "",
		`null`:                                  "",
	} {
		_, err := serve(t, new(Options), body)
		unsupported, ok := errors.AsType[*unsupportedError](err)
		if !ok || unsupported.subtype != subtype || unsupported.Code() != "unsupported_request" {
			t.Errorf("%s: error %#v", body, err)
		}
		if want := `control request "` + subtype + `" is not supported`; !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %q, want %q in it", body, err, want)
		}
	}
}

func TestServeLeavesToOthers(t *testing.T) {
	t.Parallel()
	for _, subtype := range []string{
		"remote_tool_call", "remote_plumbing_call", "remote_tools_probe", "remote_tools_reannounce",
		"request_user_dialog", // nobody shows dialogs here
	} {
		wantError(t, new(Options), `{"subtype":"`+subtype+`"}`, errNoAnswer.Error())
	}
}

// panicky cannot be marshalled.
type panicky struct{}

func (panicky) MarshalJSON() ([]byte, error) { panic("while marshalling") }

const (
	bashRequest   = `{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_1"}`
	askRequest    = `{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[]}}`
	stopRequest   = `{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"Stop"}}`
	elicitRequest = `{"subtype":"elicitation","mcp_server_name":"calc","message":"Who?"}`
	dialogRequest = `{"subtype":"request_user_dialog","dialog_kind":"k","payload":{"a":1}}`
	pingRequest   = `{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":3,"method":"ping"}}`
)

// A callback that panics costs its request, and nothing else.
func TestServePanic(t *testing.T) {
	t.Parallel()
	o := &Options{
		CanUseTool:    func(context.Context, *permission.Request) (permission.Result, error) { panic("ouch") },
		OnQuestion:    func(context.Context, *QuestionRequest) (*QuestionResult, error) { panic(errors.New("ouch")) },
		OnElicitation: func(context.Context, *ElicitationRequest) (*ElicitationResult, error) { panic("ouch") },
		OnUserDialog: func(context.Context, *UserDialogRequest) (*UserDialogResult, error) {
			return &UserDialogResult{Result: panicky{}}, nil
		},
		Hooks: oneHook(hook.Stop, func(context.Context, hook.Input) (*hook.Output, error) { panic("ouch") }),
	}
	for body, want := range map[string]string{
		bashRequest:   "clew: panic in CanUseTool: ouch",
		askRequest:    "clew: panic in OnQuestion: ouch",
		elicitRequest: "clew: panic in OnElicitation: ouch",
		dialogRequest: "clew: panic in OnUserDialog: while marshalling",
		stopRequest:   "clew: panic in a hook at Stop: ouch",
	} {
		wantError(t, o, body, want)
	}
}

func TestServePanicIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := newCallbacks(&Options{
		CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) { panic("ouch") },
	})
	c.log = slog.New(slog.NewTextHandler(&log, nil))
	if _, err := c.serve(t.Context(), request(t, bashRequest)); err == nil {
		t.Error("no error")
	}
	for _, want := range []string{"clew: panic in CanUseTool: ouch", "stack=", "callbacks_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log: %s", want, log.String())
		}
	}
}

// The caller finds out why a callback failed, and not that one had nothing to say or was not needed
// any more.
func TestServeErrorIsLogged(t *testing.T) {
	t.Parallel()
	withdrawn, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		o    *Options
		want string
	}{
		"failed": {
			t.Context(), decides(nil, errors.New("no entry with sk-ant-api03-x")),
			`level=WARN msg="callback failed" callback=CanUseTool error="no entry with sk-ant-***"` + "\n",
		},
		"not encoded": {
			t.Context(), decides(permission.AllowWith("x"), nil), `level=WARN msg="callback failed" callback=CanUseTool ` +
				`error="clew: the answer of CanUseTool: UpdatedInput is not a JSON object"` + "\n",
		},
		"no answer": {t.Context(), decides(nil, nil), ""},
		"withdrawn": {withdrawn, &Options{CanUseTool: waits[*permission.Request, permission.Result]}, ""},
		"answered":  {t.Context(), decides(permission.Allow(), nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			test.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			newCallbacks(test.o).serve(test.ctx, request(t, bashRequest)) //nolint:errcheck // the log is what counts
			if _, got, _ := strings.Cut(log.String(), " "); got != test.want {
				t.Errorf("log %q, want %q", got, test.want)
			}
		})
	}
}

// An answer that is not JSON is an error of the callback, not of the session.
func TestServeAnswerNotJSON(t *testing.T) {
	t.Parallel()
	o := &Options{CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
		return permission.AllowWith(wire.JSON(`{"cut`)), nil
	}}
	_, err := serve(t, o, bashRequest)
	if err == nil || !strings.HasPrefix(err.Error(), "clew: the answer of CanUseTool: ") {
		t.Errorf("error %v", err)
	}
}

// All requests are served at once: each callback here waits until the last one runs.
func TestServeAtOnce(t *testing.T) {
	t.Parallel()
	const requests = 16
	var together sync.WaitGroup
	together.Add(requests)
	meet := func() { together.Done(); together.Wait() }
	c := newCallbacks(&Options{
		CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
			meet()
			return permission.Allow(), nil
		},
		Hooks: oneHook(hook.Stop, func(context.Context, hook.Input) (*hook.Output, error) { meet(); return nil, nil }),
	})
	var served sync.WaitGroup
	for i := range requests {
		body, want := bashRequest, `{"behavior":"allow","updatedInput":{"command":"ls"},"toolUseID":"toolu_1"}`
		if i%2 == 1 {
			body, want = stopRequest, `{}`
		}
		req := request(t, body)
		served.Go(func() {
			if got, err := c.serve(t.Context(), req); err != nil || got != wire.JSON(want) {
				t.Errorf("answer %s, %v; want %s", got, err, want)
			}
		})
	}
	served.Wait()
}

// waits is a callback that waits for the end of its context.
func waits[Request, Result any](ctx context.Context, _ Request) (result Result, err error) {
	<-ctx.Done()
	return result, ctx.Err()
}

// The context of a callback ends when the agent withdraws its request.
func TestServeWithdrawn(t *testing.T) {
	t.Parallel()
	c := newCallbacks(&Options{
		CanUseTool:    waits[*permission.Request, permission.Result],
		OnQuestion:    waits[*QuestionRequest, *QuestionResult],
		OnElicitation: waits[*ElicitationRequest, *ElicitationResult],
		OnUserDialog:  waits[*UserDialogRequest, *UserDialogResult],
		Hooks:         oneHook(hook.Stop, waits[hook.Input, *hook.Output]),
	})
	for body, want := range map[string]error{
		bashRequest: context.Canceled, askRequest: context.Canceled, elicitRequest: context.Canceled,
		dialogRequest: context.Canceled, stopRequest: errNoAnswer,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.serve(ctx, request(t, body)); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", body, err, want)
		}
	}
}

// recorded returns what the agent asked in the recorded dialogues, by their name, and the answers,
// by request.
func recorded(t testing.TB) (requests map[string][]*wire.ControlRequestMessage, answers map[string]wire.JSON) {
	t.Helper()
	files, err := filepath.Glob("testdata/recorded/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("recorded dialogues: %v, %v", files, err)
	}
	requests, answers = make(map[string][]*wire.ControlRequestMessage), make(map[string]wire.JSON)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			frame, fromAgent := strings.CutPrefix(line, "< ")
			if !fromAgent {
				frame = strings.TrimPrefix(line, "> ")
			}
			switch msg := wire.Decode([]byte(frame)).(type) {
			case *wire.ControlRequestMessage:
				if fromAgent {
					name := strings.TrimSuffix(filepath.Base(file), ".txt")
					requests[name] = append(requests[name], msg)
				}
			case *wire.ControlResponseMessage:
				if !fromAgent {
					answers[msg.Response.RequestID] = msg.Response.Response
				}
			}
		}
	}
	return requests, answers
}

// recordedHost answers as the host of the recorded dialogues did.
func recordedHost(t *testing.T, answer wire.JSON) *Options {
	t.Helper()
	var said struct {
		Behavior     permission.Behavior
		Message      string
		MCPResponse  wire.JSON `json:"mcp_response"`
		HookSpecific wire.JSON `json:"hookSpecificOutput"`
	}
	if err := answer.Decode(&said); err != nil {
		t.Fatal(err)
	}
	o := &Options{
		CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
			if said.Behavior == permission.BehaviorDeny {
				return permission.Deny(said.Message), nil
			}
			return permission.Allow(), nil
		},
		OnQuestion: func(_ context.Context, req *QuestionRequest) (*QuestionResult, error) {
			first := req.Questions[0]
			return &QuestionResult{Answers: map[string][]string{first.Question: {first.Options[0].Label}}}, nil
		},
		MCPServers: map[string]MCPServer{"calc": &MCPInProcessServer{Handler: handlerFunc(
			func(context.Context, wire.JSON) (wire.JSON, error) { return said.MCPResponse, nil },
		)}},
	}
	say := func(context.Context, hook.Input) (*hook.Output, error) {
		return &hook.Output{Specific: &hook.RawOutput{JSON: said.HookSpecific}}, nil
	}
	o.Hooks = map[hook.Event][]hook.Matcher{hook.Stop: {{Hooks: []hook.Func{say, say, say, say}}}}
	return o
}

// Recorded requests of the agent get the answers that were recorded with them.
func TestServeRecorded(t *testing.T) {
	t.Parallel()
	requests, answers := recorded(t)
	seen := make(map[string]bool)
	for name, reqs := range requests {
		for _, req := range reqs {
			seen[req.Request.Subtype] = true
			got, err := newCallbacks(recordedHost(t, answers[req.RequestID])).serve(t.Context(), req)
			if err != nil {
				t.Errorf("%s: %s: %v", name, req.Request.Raw(), err)
				continue
			}
			gotValue := value(t, string(got.(wire.JSON))).(map[string]any)
			delete(gotValue, "toolUseID") // optional, and not said then
			if diff := cmp.Diff(value(t, string(answers[req.RequestID])), any(gotValue)); diff != "" {
				t.Errorf("%s: answer to %s (-want +got):\n%s", name, req.Request.Raw(), diff)
			}
		}
	}
	if want := map[string]bool{"can_use_tool": true, "hook_callback": true, "mcp_message": true}; !cmp.Equal(want, seen) {
		t.Errorf("recorded requests %v, want %v", seen, want)
	}
}

// Whatever the agent asks, it gets an object or an error, and nothing in this package panics.
func FuzzServe(f *testing.F) {
	requests, _ := recorded(f)
	for _, reqs := range requests {
		for _, req := range reqs {
			f.Add(req.Request.Raw())
		}
	}
	for _, body := range []string{askRequest, stopRequest, elicitRequest, dialogRequest, pingRequest, `null`} {
		f.Add(body)
	}
	for _, example := range hookInputExamples {
		f.Add(`{"subtype":"hook_callback","callback_id":"hook_0","input":` + example.json + `}`)
	}
	c := newCallbacks(&Options{
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
			return &permission.AllowResult{UpdatedPermissions: req.Suggestions}, nil
		},
		OnQuestion: func(context.Context, *QuestionRequest) (*QuestionResult, error) {
			return &QuestionResult{Response: "no"}, nil
		},
		OnElicitation: func(_ context.Context, req *ElicitationRequest) (*ElicitationResult, error) {
			return &ElicitationResult{Action: wire.ElicitationAccept, Content: req.RequestedSchema}, nil
		},
		OnUserDialog: func(_ context.Context, req *UserDialogRequest) (*UserDialogResult, error) {
			return &UserDialogResult{Result: req.Payload}, nil
		},
		Hooks: oneHook(hook.Stop, func(_ context.Context, in hook.Input) (*hook.Output, error) {
			return &hook.Output{Specific: &hook.RawOutput{JSON: in.Raw()}}, nil
		}),
		MCPServers: map[string]MCPServer{"calc": &MCPInProcessServer{Handler: handlerFunc(
			func(_ context.Context, message wire.JSON) (wire.JSON, error) { return message, nil },
		)}},
	})
	f.Fuzz(func(t *testing.T, body string) {
		frame := `{"type":"control_request","request_id":"q","request":` + body + `}`
		req, ok := wire.Decode([]byte(frame)).(*wire.ControlRequestMessage)
		if !ok {
			return
		}
		answer, err := c.serve(t.Context(), req)
		if err != nil {
			if strings.Contains(err.Error(), "panic") && !strings.Contains(body, "panic") {
				t.Error(err)
			}
			return
		}
		var object map[string]json.RawMessage
		if err := answer.(wire.JSON).Decode(&object); err != nil || object == nil {
			t.Errorf("answer %s: %v", answer, err)
		}
	})
}
