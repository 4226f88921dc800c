package agentcli

import (
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/wire"
)

// The last line shows the known facts about the turn, even without a result, and how to continue.
func TestClosingLine(t *testing.T) {
	t.Parallel()
	const id = "9a6a0100-1111"
	half := &wire.AssistantMessage{SessionID: id, APIMessage: wire.APIMessage{ID: "m", Usage: &wire.Usage{InputTokens: 900, OutputTokens: 100}}}
	result := &wire.ResultMessage{
		Duration: wire.Millis((48 * time.Second).Milliseconds()), TotalCostUSD: 0.123, SessionID: id,
		Usage: &wire.Usage{InputTokens: 1400, CacheReadInputTokens: 20000},
	}
	for _, tt := range []struct {
		name      string
		messages  []wire.Message
		ephemeral bool
		want      string
	}{
		{"a result", []wire.Message{half, half, result}, false, `48 s · 21.4k tokens · $0.12 · session 9a6a0100 · clew run --continue "..."`},
		{"nothing is kept", []wire.Message{&wire.ResultMessage{SessionID: "x"}}, true, "3.0 s · $0.00"},
		{"no result", []wire.Message{half, half}, false, `3.0 s · 1k tokens · session 9a6a0100 · clew run --continue "..."`},
		{"no message", []wire.Message{&wire.InitMessage{SessionID: id}}, false, `3.0 s · session 9a6a0100 · clew run --continue "..."`},
		{"no session", nil, false, ""},
	} {
		var account turnAccount
		for _, msg := range tt.messages {
			account.follow(msg)
		}
		if got := strings.Join(account.parts(3*time.Second, tt.ephemeral), " · "); got != tt.want {
			t.Errorf("%s: it is %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The usage of a result is printed with the fields that this version does not know.
func TestUsageOfResult(t *testing.T) {
	for frame, want := range map[string]wire.JSON{
		`{"type":"result","subtype":"success","usage":{"input_tokens":3,"new":[1]}}`: `{"input_tokens":3,"new":[1]}`,
		`{"type":"result","subtype":"success","usage":null}`:                         "null",
		`{"type":"result","subtype":"success"}`:                                      "",
	} {
		if got := usageOf(wire.Decode([]byte(frame)).(*wire.ResultMessage)); got != want {
			t.Errorf("%s has the usage %q, want %q", frame, got, want)
		}
	}
}
