package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// Bytes that are not UTF-8, and halves of surrogate pairs, are U+FFFD in the
// string and untouched in the raw bytes.
func TestTextThatIsNotUnicode(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"stray byte":              {"a\xffb", "a\uFFFDb"},
		"cut character":           {"a\xe2\x82", "a\uFFFD\uFFFD"},
		"surrogate in UTF-8":      {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		"overlong":                {"\xc0\x80", "\uFFFD\uFFFD"},
		"high half":               {`a\ud83d`, "a\uFFFD"},
		"low half":                {`\ude00b`, "\uFFFDb"},
		"halves in the wrong way": {`\ude00\ud83d`, "\uFFFD\uFFFD"},
		"high half, then letter":  {`\ud83dx`, "\uFFFDx"},
		"high half, then escape":  {`\ud83d\n`, "\uFFFD\n"},
		"whole pair":              {`\ud83d\ude00`, "😀"},
		"NUL":                     {`\u0000`, "\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			frame := `{"type":"prompt_suggestion","suggestion":"` + tt.in + `","new":"` + tt.in + `"}`
			for _, opts := range []*wire.ReaderOptions{nil, {DiscardRaw: true}} {
				msg, ok := wire.NewDecoder(opts).Decode([]byte(frame)).(*wire.PromptSuggestionMessage)
				if !ok || msg.Suggestion != tt.want {
					t.Fatalf("text %q, want %q", msg.Suggestion, tt.want)
				}
				if opts == nil && msg.Raw() != frame {
					t.Errorf("raw %q", msg.Raw())
				}
				again := decodeAs[*wire.PromptSuggestionMessage](t, string(encoded(t, msg)))
				if again.Suggestion != tt.want {
					t.Errorf("text %q after encoding, want %q", again.Suggestion, tt.want)
				}
			}
			msg := decodeAs[*wire.PromptSuggestionMessage](t, frame)
			if diff := cmp.Diff(value(t, []byte(frame)), value(t, encoded(t, msg))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEscapes(t *testing.T) {
	const frame = `{"type":"prompt_suggestion","suggestion":"\"\\\/\b\f\n\r\t\u00e9\u4E2d<&>"}`
	msg := decodeAs[*wire.PromptSuggestionMessage](t, frame)
	if want := "\"\\/\b\f\n\r\té中<&>"; msg.Suggestion != want {
		t.Errorf("text %q, want %q", msg.Suggestion, want)
	}
	if got := encoded(t, msg); string(got) != frame {
		t.Errorf("encoded %s", got)
	}
}

// Of a member that comes twice the last one counts, but it is the first type,
// and the first subtype, that decide what the frame is.
func TestDuplicateKeys(t *testing.T) {
	msg := decodeAs[*wire.PromptSuggestionMessage](t,
		`{"suggestion":"a","type":"prompt_suggestion","suggestion":"b","type":"keep_alive"}`)
	if msg.Suggestion != "b" {
		t.Errorf("suggestion %q", msg.Suggestion)
	}
	decodeAs[*wire.SessionTitleChangedMessage](t,
		`{"type":"system","subtype":"session_title_changed","subtype":"init","title":"x"}`)
	user := decodeAs[*wire.UserMessage](t, `{"type":"user","message":{"content":"a"},"message":{"content":"b"}}`)
	if user.Content.Text() != "b" {
		t.Errorf("text %q", user.Content.Text())
	}
	if got := encoded(t, user); strings.Count(string(got), "message") != 1 {
		t.Errorf("encoded %s", got)
	}
}

// Names are matched exactly: another spelling is an unknown field.
func TestCaseOfKeys(t *testing.T) {
	const frame = `{"type":"prompt_suggestion","Suggestion":"a","UUID":"x","Type":"user","session_ID":"s"}`
	msg := decodeAs[*wire.PromptSuggestionMessage](t, frame)
	if msg.Suggestion != "" || msg.UUID != "" || msg.SessionID != "" {
		t.Errorf("message %+v", msg)
	}
	want := []string{"Suggestion", "Type", "UUID", "session_ID"}
	if diff := cmp.Diff(want, wire.UnknownFields(msg)); diff != "" {
		t.Errorf("unknown fields (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(value(t, []byte(frame)), value(t, encoded(t, msg))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_ = invalid(t, `{"Type":"user","message":{"content":"x"}}`)
}

func TestEscapedKeys(t *testing.T) {
	msg := decodeAs[*wire.UserMessage](t,
		`{"\u0074ype":"us\u0065r","mess\u0061ge":{"\u0063ontent":[{"typ\u0065":"te\u0078t","\u0074ext":"a"}]}}`)
	if msg.Content.Text() != "a" {
		t.Errorf("text %q", msg.Content.Text())
	}
	if fields := wire.UnknownFields(msg); fields != nil {
		t.Errorf("unknown fields %q", fields)
	}
	event := decodeAs[*wire.StreamEventMessage](t,
		`{"type":"content_block_delta","delt\u0061":{"\u0074ype":"text_delta","text":"a"}}`)
	if delta, ok := event.Event.(*wire.TextDeltaEvent); !ok || delta.Text != "a" {
		t.Errorf("event %+v", event.Event)
	}
}

func TestWhiteSpaceAroundEverything(t *testing.T) {
	const frame = " \r\n\t{ \"type\" : \"user\" , \"message\" : { \"content\" : [ { \"type\" : \"text\" , \"text\" : \"a\" } ] } } \n"
	msg := decodeAs[*wire.UserMessage](t, frame)
	if msg.Content.Text() != "a" || msg.Raw() != strings.TrimSpace(frame) {
		t.Errorf("text %q, raw %q", msg.Content.Text(), msg.Raw())
	}
}

func TestHugeFrame(t *testing.T) {
	text := strings.Repeat("0123456789abcde\\n", 10<<20/17)
	frame := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"` + text + `"}]}}`
	msg := decodeAs[*wire.UserMessage](t, frame)
	if got := msg.Content.ToolResults()[0].Text(); len(got) != len(text)/17*16 {
		t.Errorf("%d bytes of text", len(got))
	}
	if got := encoded(t, msg); string(got) != frame {
		t.Errorf("%d bytes encoded, want %d", len(got), len(frame))
	}
}
