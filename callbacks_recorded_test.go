package clew

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// recorded returns what the agent asked in the recorded dialogues, by their name, and the answers, by request.
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
		Behavior     PermissionBehavior
		Message      string
		MCPResponse  wire.JSON `json:"mcp_response"`
		HookSpecific wire.JSON `json:"hookSpecificOutput"`
	}
	if err := answer.Decode(&said); err != nil {
		t.Fatal(err)
	}
	o := &Options{
		CanUseTool: func(context.Context, *PermissionRequest) (PermissionResult, error) {
			if said.Behavior == PermissionBehaviorDeny {
				return Deny(said.Message), nil
			}
			return Allow(), nil
		},
		OnQuestion: func(_ context.Context, req *QuestionRequest) (*QuestionResult, error) {
			first := req.Questions[0]
			return &QuestionResult{Answers: map[string][]string{first.Question: {first.Options[0].Label}}}, nil
		},
		MCPServers: map[string]MCPServer{"calc": &MCPInProcessServer{Handler: handlerFunc(
			func(context.Context, wire.JSON) (wire.JSON, error) { return said.MCPResponse, nil },
		)}},
	}
	hook := func(context.Context, HookInput) (*HookOutput, error) {
		return &HookOutput{Specific: &RawHookOutput{said.HookSpecific}}, nil
	}
	o.Hooks = map[HookEvent][]HookMatcher{HookStop: {{Hooks: []HookFunc{hook, hook, hook, hook}}}}
	return o
}

// What the agent asked when it was recorded is answered as it was then.
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
		CanUseTool: func(_ context.Context, req *PermissionRequest) (PermissionResult, error) {
			return &AllowResult{UpdatedPermissions: req.Suggestions}, nil
		},
		OnQuestion: func(context.Context, *QuestionRequest) (*QuestionResult, error) {
			return &QuestionResult{Response: "no"}, nil
		},
		OnElicitation: func(_ context.Context, req *ElicitationRequest) (*ElicitationResult, error) {
			return &ElicitationResult{Action: ElicitationAccept, Content: req.RequestedSchema}, nil
		},
		OnUserDialog: func(_ context.Context, req *UserDialogRequest) (*UserDialogResult, error) {
			return &UserDialogResult{Result: req.Payload}, nil
		},
		Hooks: oneHook(HookStop, func(_ context.Context, in HookInput) (*HookOutput, error) {
			return &HookOutput{Specific: &RawHookOutput{in.Raw()}}, nil
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
