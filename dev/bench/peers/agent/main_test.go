package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
	"github.com/clewdev/clew/wire"
)

// play returns what the agent answers, each frame by its kind, and the last result.
func play(t *testing.T, args []string, input string) (kinds []wire.Kind, last *wire.ResultMessage) {
	t.Helper()
	t.Setenv(contest.LoadVariable, "events 2")
	var out bytes.Buffer
	if err := run(args, strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	for msg, err := range wire.NewReader(&out, nil).Messages() {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, msg.Kind())
		if result, ok := msg.(*wire.ResultMessage); ok {
			last = result
		}
	}
	return kinds, last
}

func TestAgentAnswersPrompts(t *testing.T) {
	turn := []wire.Kind{
		{Type: "system", Subtype: "init"}, {Type: "stream_event"}, {Type: "stream_event"},
		{Type: "result", Subtype: "success"},
	}
	prompt := `{"type":"user","uuid":"p1","message":{"role":"user","content":"Hi"}}` + "\n"
	for _, tt := range []struct {
		name, input, answers string
		args                 []string
		want                 []wire.Kind
	}{
		{name: "nothing"},
		{name: "argument", args: []string{"-p", "Hi"}, want: turn},
		{name: "prompt", input: prompt, answers: "p1", want: turn},
		{
			name:  "initialize",
			input: `{"type":"control_request","request_id":"r1","request":{"subtype":"initialize"}}` + "\n",
			want:  []wire.Kind{{Type: "control_response"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, result := play(t, tt.args, tt.input)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if result != nil && result.UserMessageUUID != tt.answers {
				t.Errorf("the result answers %q, want %q", result.UserMessageUUID, tt.answers)
			}
		})
	}
}

func TestAgentRefusesWhatItCannotRead(t *testing.T) {
	for _, tt := range []struct{ name, load, input string }{
		{"no load", "", ""},
		{"no JSON", "answer 1", "hello\n"},
		{"a cut frame", "answer 1", `{"type":"user"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(contest.LoadVariable, tt.load)
			if err := run(nil, strings.NewReader(tt.input), new(bytes.Buffer)); err == nil {
				t.Error("no error")
			}
		})
	}
}
