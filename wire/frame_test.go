package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestUserFrames(t *testing.T) {
	t.Run("string content is one text block", func(t *testing.T) {
		msg := decodeAs[*wire.UserMessage](t, `{"type":"user","message":{"role":"user","content":"hi"}}`)
		if len(msg.Content) != 1 || msg.Content.Text() != "hi" {
			t.Errorf("content %v", msg.Content)
		}
	})
	t.Run("list content and id are kept", func(t *testing.T) {
		msg := decodeAs[*wire.UserMessage](t, `{"type":"user","uuid":"u1","message":{"content":[{"type":"text","text":"hi"}]}}`)
		if len(msg.Content) != 1 || msg.Content.Text() != "hi" || msg.UUID != "u1" {
			t.Errorf("content %v, id %q", msg.Content, msg.UUID)
		}
	})
	t.Run("failed tool result", func(t *testing.T) {
		block := blockOf[*wire.ToolResultBlock](t, `{"type":"tool_result","tool_use_id":"1","content":"x","is_error":true}`)
		if block.Text() != "x" || !block.Failed() {
			t.Errorf("block %+v", block)
		}
	})
	t.Run("tool result without content and is_error", func(t *testing.T) {
		block := blockOf[*wire.ToolResultBlock](t, `{"type":"tool_result","tool_use_id":"1"}`)
		if block.Content != "" || block.IsError != nil {
			t.Errorf("block %+v", block)
		}
	})
	t.Run("structured tool result and parent are kept", func(t *testing.T) {
		msg := decodeAs[*wire.UserMessage](t,
			`{"type":"user","message":{"content":[]},"tool_use_result":{"stdout":"x"},"parent_tool_use_id":"toolu_0"}`)
		if msg.ToolUseResult != `{"stdout":"x"}` || msg.ParentToolUseID != "toolu_0" {
			t.Errorf("result %s, parent %q", msg.ToolUseResult, msg.ParentToolUseID)
		}
	})
	t.Run("image is kept beside text", func(t *testing.T) {
		msg := decodeAs[*wire.UserMessage](t, `{"type":"user","message":{"content":[{"type":"image",
			"source":{"type":"url","url":"https://a"}},{"type":"text","text":"hi"}]}}`)
		if image, ok := msg.Content[0].(*wire.ImageBlock); !ok || image.Source.URL != "https://a" || len(msg.Content) != 2 {
			t.Errorf("content %v", msg.Content)
		}
	})
	t.Run("content element that is no object names its type", func(t *testing.T) {
		msg := decodeAs[*wire.UserMessage](t, `{"type":"user","message":{"content":["x"]}}`)
		block, ok := msg.Content[0].(*wire.InvalidBlock)
		if !ok || !strings.Contains(block.Err().Error(), "expected object, found string") {
			t.Errorf("block %+v", msg.Content[0])
		}
	})
	t.Run("without message, and with null, the same error", func(t *testing.T) {
		for _, frame := range []string{`{"type":"user"}`, `{"type":"user","message":null}`} {
			want := &wire.FieldError{Pointer: "/message", Missing: true, Reason: "required field is missing"}
			if diff := cmp.Diff(want, misfit[*wire.UserMessage](t, frame)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", frame, diff)
			}
		}
	})
}

func TestOrigins(t *testing.T) {
	const frame = `{"type":"user","message":{"content":"hi"},"origin":%}`
	msg := decodeAs[*wire.UserMessage](t, fill(frame, `{"kind":"peer","from":"a","future":1}`))
	if msg.Origin == nil || msg.Origin.Kind != wire.OriginPeer || msg.Origin.From != "a" ||
		!strings.Contains(msg.Raw(), `"origin":{"kind":"peer","from":"a","future":1}`) {
		t.Errorf("origin %+v", msg.Origin)
	}
	for _, origin := range []string{`"human"`, `{}`, `null`, `{"kind":null}`, `{"kind":5}`, `[]`} {
		msg := decodeAs[*wire.UserMessage](t, fill(frame, origin))
		if msg.Origin != nil {
			t.Errorf("origin of %s is %+v", origin, msg.Origin)
		}
		if diff := cmp.Diff(value(t, []byte(fill(frame, origin))), value(t, encoded(t, msg))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", origin, diff)
		}
	}
}

func TestAssistantFrames(t *testing.T) {
	t.Run("blocks keep their order", func(t *testing.T) {
		msg := decodeAs[*wire.AssistantMessage](t, `{"type":"assistant","message":{"model":"m","content":[
			{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"Bash","input":{}},{"type":"text","text":"b"}]}}`)
		var kinds []string
		for _, block := range msg.Content {
			kinds = append(kinds, block.BlockType())
		}
		if diff := cmp.Diff([]string{"text", "tool_use", "text"}, kinds); diff != "" || msg.Model != "m" {
			t.Errorf("model %q, blocks (-want +got):\n%s", msg.Model, diff)
		}
	})
	t.Run("thinking with and without signature", func(t *testing.T) {
		for text, want := range map[string]string{
			`{"type":"thinking","thinking":"So.","signature":"s"}`: "s",
			`{"type":"thinking","thinking":"So."}`:                 "",
		} {
			if block := blockOf[*wire.ThinkingBlock](t, text); block.Thinking != "So." || block.Signature != want {
				t.Errorf("block %+v", block)
			}
		}
	})
	t.Run("advisor call and any result of it", func(t *testing.T) {
		use := blockOf[*wire.ServerToolUseBlock](t, `{"type":"server_tool_use","id":"1","name":"advisor","input":{}}`)
		result := blockOf[*wire.AdvisorToolResultBlock](t, `{"type":"advisor_tool_result","tool_use_id":"1","content":{"a":[1]}}`)
		if use.Name != "advisor" || use.Input != `{}` || result.Content != `{"a":[1]}` {
			t.Errorf("use %+v, result %+v", use, result)
		}
	})
	t.Run("redacted thinking and web search alone", func(t *testing.T) {
		redacted := blockOf[*wire.RedactedThinkingBlock](t, `{"type":"redacted_thinking","data":"eA=="}`)
		found := blockOf[*wire.WebSearchToolResultBlock](t, `{"type":"web_search_tool_result","tool_use_id":"1","content":[]}`)
		if redacted.Data != "eA==" || found.Content != `[]` {
			t.Errorf("redacted %+v, found %+v", redacted, found)
		}
	})
	t.Run("string content", func(t *testing.T) {
		msg := decodeAs[*wire.AssistantMessage](t, `{"type":"assistant","message":{"content":"hi"}}`)
		if msg.Content.Text() != "hi" {
			t.Errorf("text %q", msg.Content.Text())
		}
	})
	t.Run("without model, without content", func(t *testing.T) {
		msg := decodeAs[*wire.AssistantMessage](t, `{"type":"assistant","message":{}}`)
		if msg.Model != "" || msg.Content != nil || msg.Content.Text() != "" {
			t.Errorf("message %+v", msg)
		}
	})
	t.Run("errors, known or not", func(t *testing.T) {
		for _, want := range []wire.AssistantError{wire.AssistantErrorRateLimit, "brand_new"} {
			msg := decodeAs[*wire.AssistantMessage](t, `{"type":"assistant","message":{"content":[]},"error":"`+string(want)+`"}`)
			if msg.Error != want {
				t.Errorf("error %q, want %q", msg.Error, want)
			}
		}
	})
	t.Run("absent fields are zero", func(t *testing.T) {
		msg := decodeAs[*wire.AssistantMessage](t, `{"type":"assistant","message":{"content":[]}}`)
		want := &wire.AssistantMessage{APIMessage: wire.APIMessage{Content: wire.Content{}}}
		if diff := cmp.Diff(want, msg, exported); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestResultFrames(t *testing.T) {
	t.Run("six fields", func(t *testing.T) {
		msg := decodeAs[*wire.ResultMessage](t, `{"type":"result","subtype":"success","duration_ms":1,"duration_api_ms":2,
			"is_error":false,"num_turns":3,"session_id":"s"}`)
		want := &wire.ResultMessage{Subtype: wire.ResultSuccess, Duration: 1, APIDuration: 2, NumTurns: 3, SessionID: "s"}
		if diff := cmp.Diff(want, msg, exported); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("empty list is not nil", func(t *testing.T) {
		msg := decodeAs[*wire.ResultMessage](t, `{"type":"result","subtype":"error_max_turns","permission_denials":[],
			"errors":["too many"],"api_error_status":529,"terminal_reason":"max_turns","structured_output":[1]}`)
		if msg.PermissionDenials == nil || len(msg.PermissionDenials) != 0 || msg.Errors[0] != "too many" ||
			msg.APIErrorStatus != 529 || msg.TerminalReason != wire.TerminalReasonMaxTurns || msg.StructuredOutput != `[1]` {
			t.Errorf("result %+v", msg)
		}
	})
	t.Run("subtype alone", func(t *testing.T) {
		msg := decodeAs[*wire.ResultMessage](t, `{"type":"result","subtype":"error_of_the_future"}`)
		if msg.Kind().String() != "result/error_of_the_future" || msg.IsError || msg.Result != "" {
			t.Errorf("result %+v", msg)
		}
	})
	t.Run("deferred call, complete, partial and empty", func(t *testing.T) {
		for text, want := range map[string]wire.DeferredToolUse{
			`{"id":"1","name":"Ask","input":{"q":1}}`: {ID: "1", Name: "Ask", Input: `{"q":1}`},
			`{"name":"Ask"}`: {Name: "Ask"},
			`{}`:             {},
		} {
			msg := decodeAs[*wire.ResultMessage](t, `{"type":"result","subtype":"success","deferred_tool_use":`+text+`}`)
			if diff := cmp.Diff(&want, msg.DeferredToolUse, exported); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		}
	})
	t.Run("errors of another shape", func(t *testing.T) {
		msg := decodeAs[*wire.ResultMessage](t, `{"type":"result","subtype":"error_during_execution","errors":[{"m":1}]}`)
		if diff := cmp.Diff([]string{""}, msg.Errors); diff != "" || !strings.Contains(string(encoded(t, msg)), `"errors":[{"m":1}]`) {
			t.Errorf("errors %q, encoded %s", msg.Errors, encoded(t, msg))
		}
	})
}

func TestStreamEventFrames(t *testing.T) {
	msg := decodeAs[*wire.StreamEventMessage](t, `{"type":"stream_event","event":{"type":"new_event","a":1},"uuid":"u",
		"session_id":"s","parent_tool_use_id":null}`)
	if msg.Event.Raw() != `{"type":"new_event","a":1}` || msg.UUID != "u" || msg.SessionID != "s" {
		t.Errorf("message %+v", msg)
	}
}

func TestRateLimitFrames(t *testing.T) {
	msg := decodeAs[*wire.RateLimitMessage](t, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","new":1}}`)
	want := wire.RateLimitInfo{Status: wire.RateLimitRejected}
	if diff := cmp.Diff(want, msg.Info, exported); diff != "" || !strings.Contains(msg.Raw(), `{"status":"rejected","new":1}`) {
		t.Errorf("raw %s (-want +got):\n%s", msg.Raw(), diff)
	}
}

func TestConversationResetFrames(t *testing.T) {
	msg := decodeAs[*wire.ConversationResetMessage](t,
		`{"type":"conversation_reset","new_conversation_id":"s2","uuid":"u","session_id":"s1"}`)
	if msg.NewConversationID != "s2" || msg.UUID != "u" || msg.SessionID != "s1" {
		t.Errorf("message %+v", msg)
	}
	err := misfit[*wire.ConversationResetMessage](t, `{"type":"conversation_reset","uuid":"u","session_id":"s1"}`)
	if !strings.Contains(err.Error(), "/new_conversation_id: required field is missing") {
		t.Errorf("error %v", err)
	}
}

// Notices have no required fields, and a frame of an unknown type comes unchanged.
func TestBareNoticesAndNewTypes(t *testing.T) {
	decodeAs[*wire.ToolProgressMessage](t, `{"type":"tool_progress"}`)
	decodeAs[*wire.AuthStatusMessage](t, `{"type":"auth_status"}`)
	decodeAs[*wire.PromptSuggestionMessage](t, `{"type":"prompt_suggestion"}`)
	const frame = `{"type":"brand_new","subtype":"x","a":{"b":[1,null]}}`
	msg := decodeAs[*wire.UnknownMessage](t, frame)
	if msg.Raw() != frame || msg.Kind().Type != "brand_new" || wire.Known(msg.Kind()) {
		t.Errorf("kind %s, raw %s", msg.Kind(), msg.Raw())
	}
}

// A bad frame does not affect the frames after it.
func TestBadFrameAmongGoodOnes(t *testing.T) {
	stream := `{"typ":"assistant"}
{"type":"assistant","message":{"content":"hi"}}
{"type":"result","subtype":"success","result":"hi"}
`
	var kinds []string
	for msg, err := range wire.NewReader(strings.NewReader(stream), nil).Messages() {
		if err != nil {
			t.Fatal(err)
		}
		var bad *wire.InvalidFrame
		if err, ok := msg.(error); ok && errors.As(err, &bad) {
			kinds = append(kinds, "invalid")
			continue
		}
		kinds = append(kinds, msg.Kind().String())
	}
	if diff := cmp.Diff([]string{"invalid", "assistant", "result/success"}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// recorded returns the frames of the recorded dialogues, both directions, by dialogue.
func recorded(t testing.TB) map[string][][]byte {
	t.Helper()
	paths, err := filepath.Glob("../testdata/recorded/*/*.txt")
	if err != nil || len(paths) < 14 {
		t.Fatalf("%d recorded dialogues, %v", len(paths), err)
	}
	dialogues := map[string][][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			if line := lines.Bytes(); bytes.HasPrefix(line, []byte("< ")) || bytes.HasPrefix(line, []byte("> ")) {
				dialogues[path] = append(dialogues[path], bytes.Clone(line[2:]))
			}
		}
	}
	return dialogues
}

func TestRecordedFramesAreKnownAndRoundTrip(t *testing.T) {
	for path, frames := range recorded(t) {
		for _, frame := range frames {
			msg := wire.Decode(frame)
			switch msg := msg.(type) {
			case *wire.InvalidFrame, *wire.UnknownMessage, *wire.SystemMessage, *wire.TextLine:
				t.Errorf("%s: %T: %v for %.200s", path, msg, msg, frame)
				continue
			}
			if fields := wire.UnknownFields(msg); fields != nil {
				t.Errorf("%s: %s has unknown fields %q", path, msg.Kind(), fields)
			}
			again, err := wire.Append(nil, msg)
			if err != nil {
				t.Errorf("%s: %s: %v", path, msg.Kind(), err)
				continue
			}
			if diff := cmp.Diff(value(t, frame), value(t, again)); diff != "" {
				t.Errorf("%s: %s does not round-trip (-want +got):\n%s", path, msg.Kind(), diff)
			}
		}
	}
}

// value decodes JSON into the general form that tests compare.
func value(t testing.TB, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %.200s", err, data)
	}
	return v
}
