package record

import (
	"errors"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// playHost plays the host of a scenario over a given output of the agent.
func playHost(t *testing.T, s *Scenario, output string) (*Host, error) {
	t.Helper()
	next, stop := iter.Pull2(wire.NewReader(strings.NewReader(output), nil).Messages())
	t.Cleanup(stop)
	p := &player{scenario: s, rec: new(Recording)}
	h := &Host{scenario: s, rec: p.rec, stdin: discardInput{}, next: next, answered: map[string]bool{}}
	return h, p.converse(h)
}

// A discardInput is an agent's input that nobody reads.
type discardInput struct{}

func (discardInput) Write(p []byte) (int, error) { return len(p), nil }
func (discardInput) Close() error                { return nil }

const (
	ready        = `{"type":"control_response","response":{"subtype":"success","request_id":"req_1"}}`
	toolQuestion = `{"type":"control_request","request_id":"7","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"a": 1}}}`
	finished     = `{"type":"result","subtype":"success","is_error":false,"uuid":"u","session_id":"s"}`
)

func TestHost(t *testing.T) {
	h, err := playHost(t, &Scenario{Prompts: []string{"Say \"hi\""}}, ready+"\n"+toolQuestion+"\n"+finished+"\n")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`> {"type":"control_request","request_id":"req_1","request":{"subtype":"initialize","hooks":null}}`,
		`< ` + ready,
		`> {"type":"user","message":{"role":"user","content":"Say \"hi\""},"parent_tool_use_id":null,"session_id":"default"}`,
		`< ` + toolQuestion,
		`> {"type":"control_response","response":{"subtype":"success","request_id":"7","response":{"behavior":"allow","updatedInput":{"a": 1}}}}`,
		`< ` + finished,
		`# host closes stdin`,
		``,
	}, "\n")
	if diff := cmp.Diff(want, h.rec.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostFails(t *testing.T) {
	if _, err := playHost(t, &Scenario{Prompts: []string{"hi"}}, ready+"\n"); !errors.Is(err, errEnded) {
		t.Errorf("an agent that ends early: %v", err)
	}
	message := strings.Replace(toolQuestion, "can_use_tool", "mcp_message", 1)
	if _, err := playHost(t, new(Scenario), message+"\n"+ready+"\n"); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("a question that the scenario does not expect: %v", err)
	}
	broken := io.MultiReader(strings.NewReader(ready+"\n"), brokenReader{})
	next, stop := iter.Pull2(wire.NewReader(broken, nil).Messages())
	defer stop()
	p := &player{scenario: new(Scenario), rec: new(Recording)}
	h := &Host{scenario: p.scenario, rec: p.rec, stdin: discardInput{}, next: next, answered: map[string]bool{}}
	if err := p.converse(h); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("an output that breaks: %v", err)
	}
}

// A brokenReader always fails.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStageGates(t *testing.T) {
	stage := newStage(t.Context(), nil, "")
	passed := make(chan struct{})
	go func() {
		stage.Hold("a")
		close(passed)
	}()
	stage.Release("a")
	<-passed
	if !stage.Hold("a") {
		t.Error("Hold is true")
	}
}

func TestFaults(t *testing.T) {
	for frame, want := range map[string]string{
		`{"type":"keep_alive"}`:                                              "",
		`{"type":"keep_alive","new":1}`:                                      `unknown fields ["new"]`,
		`{"type":"brand_new"}`:                                               "unknown kind brand_new",
		`{"type":"system","subtype":"x",` + ids + `}`:                        "unknown kind system/x",
		`{"type":"stream_event","event":{"type":"x"},` + ids + `}`:           "unknown event x",
		`{"type":"user","message":{"role":"user","content":[{"type":"x"}]}}`: "unknown block x",
		`{"type":"assistant"}`:                                               "misfit: /message",
		`no frame`:                                                           "invalid: ",
	} {
		got := strings.Join(Faults(Parse("< "+frame+"\n")), "\n")
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", frame, got, want)
		}
	}
}

const ids = `"uuid":"u","session_id":"s"`

func TestShape(t *testing.T) {
	rec := Parse(strings.Join([]string{
		`# CLI 1.2.3 (Claude Code)`,
		`> {"type":"control_request","request_id":"req_1","request":{"subtype":"initialize"}}`,
		`< {"type":"control_response","response":{"subtype":"success","request_id":"req_1"}}`,
		`> {"type":"user","message":{"role":"user","content":"hi"}}`,
		`< {"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool"}}`,
		`> {"type":"control_response","response":{"subtype":"error","request_id":"1","error":"x"}}`,
		`< {"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}},` + ids + `}`,
		`< {"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}},` + ids + `}`,
		`< {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"a"}]},"parent_tool_use_id":"t",` + ids + `}`,
		`< {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"a"}]},` + ids + `}`,
		`< {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"a"}]},` + ids + `}`,
		`< {"type":"keep_alive"}`,
		`< not JSON`,
		`# exit 3`,
		``,
	}, "\n"))
	want := Shape{
		Host:        []string{"control_request initialize", "user text"},
		HostAnswers: []string{"control_response error"},
		Agent: []string{
			"control_request can_use_tool", "stream_event content_block_delta", "assistant text of a subagent",
			"assistant text", "assistant text", "keep_alive", "*wire.InvalidFrame",
		},
		AgentAnswers: []string{"control_response success"},
		Exit:         "exit 3",
	}
	if diff := cmp.Diff(want, ShapeOf(rec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDialogueText(t *testing.T) {
	text := "# CLI 1.2.3 (Claude Code)\n# args \"--verbose\"\n> {\"a\":1}\n< {\"b\":\"<>\"}\n# exit 0\n"
	if diff := cmp.Diff(text, Parse("\n"+text+"\nelse\n>\n").String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
