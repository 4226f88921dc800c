package simtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// Frames that scenarios are made of. The control protocol has the same ones in both directions.

func controlRequest(id, body string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":%s}`, id, body)
}

func controlSuccess(id, body string) string {
	return fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`,
		id, body)
}

func controlRefusal(id, text string) string {
	return fmt.Sprintf(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":%q}}`, id, text)
}

func controlCancel(id string) string {
	return fmt.Sprintf(`{"type":"control_cancel_request","request_id":%q}`, id)
}

func promptFrame(id, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"message":{"role":"user","content":[{"type":"text","text":%q}]}}`,
		id, text)
}

func assistantFrame(text string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%q}]}}`, text)
}

// resultFrame is a result that answers prompts, by their ids. Older agents name none.
func resultFrame(text string, prompts ...string) string {
	if len(prompts) == 0 {
		return fmt.Sprintf(`{"type":"result","subtype":"success","result":%q}`, text)
	}
	return fmt.Sprintf(`{"type":"result","subtype":"success","result":%q,"user_message_uuids":["%s"]}`,
		text, strings.Join(prompts, `","`))
}

// initialize is the first frame of every host.
var initialize = controlRequest("init", `{"subtype":"initialize"}`)

// connected returns a scenario in which the host is connected.
func connected() *clewtest.Scenario {
	return new(clewtest.Scenario).Expect(initialize).Send(controlSuccess("init", `{}`))
}

// inMemory adds to options, which may be nil, that the agent runs in memory.
func inMemory(agent *clewtest.Agent, opts *clew.Options) *clew.Options {
	if opts == nil {
		opts = new(clew.Options)
	}
	opts.Transport = clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
		return agent.Conn(), nil
	})
	return opts
}

// dial opens a session that the end of the test closes.
func dial(t *testing.T, opts *clew.Options) *clew.Session {
	t.Helper()
	s, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// simulate connects to an agent in memory that plays the scenario.
func simulate(t *testing.T, scenario *clewtest.Scenario, opts *clew.Options) (*clew.Session, *clewtest.Agent) {
	t.Helper()
	agent := clewtest.NewAgent(t, scenario)
	return dial(t, inMemory(agent, opts)), agent
}

// textsOf reads messages to their end, and returns their texts.
func textsOf(messages iter.Seq2[clew.Message, error]) ([]string, error) {
	var texts []string
	for msg, err := range messages {
		if err != nil {
			return texts, err
		}
		texts = append(texts, textOf(msg))
	}
	return texts, nil
}

// wantTurn runs a turn, which must say just that.
func wantTurn(t *testing.T, s *clew.Session, prompt string, want ...string) {
	t.Helper()
	got, err := textsOf(s.Turn(t.Context(), clew.Text(prompt)))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the turn %q: error %v (-want +got):\n%s", prompt, err, diff)
	}
}

// textOf returns what a message says, or else its type.
func textOf(msg clew.Message) string {
	switch m := msg.(type) {
	case *clew.AssistantMessage:
		return m.Content.Text()
	case *clew.ResultMessage:
		return "result: " + m.Result
	}
	return fmt.Sprintf("%T", msg)
}

// hostFrames returns the host's frames of a type.
func hostFrames(agent *clewtest.Agent, frameType string) []string {
	var frames []string
	for line := range strings.Lines(agent.Dialogue()) {
		frame, ok := strings.CutPrefix(strings.TrimSpace(line), "> ")
		if ok && strings.Contains(frame, fmt.Sprintf(`"type":%q`, frameType)) {
			frames = append(frames, frame)
		}
	}
	return frames
}

// decoded returns what a text holds.
func decoded[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// wantError fails the test unless err is, or wraps, want.
func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
