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

// talk lets a host play over what an agent would print.
func talk(t *testing.T, s *Scenario, output string) (*Host, error) {
	t.Helper()
	next, stop := iter.Pull2(wire.NewReader(strings.NewReader(output), nil).Messages())
	t.Cleanup(stop)
	p := &player{scenario: s, rec: new(Recording)}
	h := &Host{scenario: s, rec: p.rec, stdin: nowhere{}, next: next, answered: map[string]bool{}}
	return h, p.converse(h)
}

// nowhere is an agent's input that nobody reads.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }

const (
	ready    = `{"type":"control_response","response":{"subtype":"success","request_id":"req_1"}}`
	mayI     = `{"type":"control_request","request_id":"7","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"a": 1}}}`
	finished = `{"type":"result","subtype":"success","is_error":false,"uuid":"u","session_id":"s"}`
)

func TestHost(t *testing.T) {
	h, err := talk(t, &Scenario{Prompts: []string{"Say \"hi\""}}, ready+"\n"+mayI+"\n"+finished+"\n")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`> {"type":"control_request","request_id":"req_1","request":{"subtype":"initialize","hooks":null}}`,
		`< ` + ready,
		`> {"type":"user","message":{"role":"user","content":"Say \"hi\""},"parent_tool_use_id":null,"session_id":"default"}`,
		`< ` + mayI,
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
	if _, err := talk(t, &Scenario{Prompts: []string{"hi"}}, ready+"\n"); !errors.Is(err, errEnded) {
		t.Errorf("an agent that ends early: %v", err)
	}
	message := strings.Replace(mayI, "can_use_tool", "mcp_message", 1)
	if _, err := talk(t, new(Scenario), message+"\n"+ready+"\n"); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("a question that the scenario does not expect: %v", err)
	}
	broken := io.MultiReader(strings.NewReader(ready+"\n"), brokenReader{})
	next, stop := iter.Pull2(wire.NewReader(broken, nil).Messages())
	defer stop()
	p := &player{scenario: new(Scenario), rec: new(Recording)}
	h := &Host{scenario: p.scenario, rec: p.rec, stdin: nowhere{}, next: next, answered: map[string]bool{}}
	if err := p.converse(h); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("an output that breaks: %v", err)
	}
}

// brokenReader fails.
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
