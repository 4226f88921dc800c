package simagent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		name, want, got string
		diffs           []string
	}{
		{"same", `{"type":"user","n":1}`, `{"type":"user","n":1}`, nil},
		{"order of keys", `{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`, nil},
		{"more members", `{"a":{}}`, `{"a":{"b":1},"c":[1,2]}`, nil},
		{"missing member", `{"a":{"b":1}}`, `{"a":{}}`, []string{`/a/b: want 1, got nothing`}},
		{"null may be missing", `{"a":null}`, `{}`, nil},
		{"null is null", `{"a":null}`, `{"a":null}`, nil},
		{"null is not a value", `{"a":null}`, `{"a":0}`, []string{`/a: want null, got 0`}},
		{"another type", `{"a":"1"}`, `{"a":1}`, []string{`/a: want "1", got 1`}},
		{"an object for a list", `{"a":[]}`, `{"a":{}}`, []string{`/a: want [], got {}`}},
		{"numbers by value", `{"a":1,"b":1.5,"c":100}`, `{"a":1.0,"b":15e-1,"c":1e2}`, nil},
		{"long integers by digit", `{"a":9007199254740993}`, `{"a":9007199254740992}`,
			[]string{`/a: want 9007199254740993, got 9007199254740992`}},
		{"booleans", `{"a":true}`, `{"a":false}`, []string{`/a: want true, got false`}},
		{"lists by element", `{"a":[1,{"b":2}]}`, `{"a":[1,{"b":3,"c":4}]}`, []string{`/a/1/b: want 2, got 3`}},
		{"lists by length", `{"a":[1]}`, `{"a":[1,2]}`, []string{`/a: want a list of 1, [1], got a list of 2, [1,2]`}},
		{"anything", `{"a":"<any>","b":["<any>","<any>"]}`, `{"a":{"x":1},"b":[null,"y"]}`, nil},
		{"anything must be there", `{"a":"<any>"}`, `{}`, []string{`/a: want "<any>", got nothing`}},
		{"a star is a star", `{"matcher":"*"}`, `{"matcher":null}`, []string{`/matcher: want "*", got null`}},
		{"pointers", `{"a/b":{"c~d":1}}`, `{"a/b":{"c~d":2}}`, []string{`/a~1b/c~0d: want 1, got 2`}},
		{"all differences", `{"a":1,"b":2,"c":3}`, `{"b":3}`,
			[]string{`/a: want 1, got nothing`, `/b: want 2, got 3`, `/c: want 3, got nothing`}},
		{"a prompt as a list", `{"type":"user","message":{"content":"Hi"}}`,
			`{"type":"user","message":{"content":[{"type":"text","text":"Hi"}]}}`, nil},
		{"a prompt as a text", `{"type":"user","message":{"content":[{"type":"text","text":"Hi"}]}}`,
			`{"type":"user","message":{"content":"Hi"}}`, nil},
		{"another prompt as a list", `{"type":"user","message":{"content":"Hi"}}`,
			`{"type":"user","message":{"content":[{"type":"text","text":"Ho"}]}}`,
			[]string{`/message/content/0/text: want "Hi", got "Ho"`}},
		{"a text elsewhere", `{"type":"x","message":{"content":"Hi"}}`,
			`{"type":"x","message":{"content":[{"type":"text","text":"Hi"}]}}`,
			[]string{`/message/content: want "Hi", got [{"text":"Hi","type":"text"}]`}},
		{"ids of requests", `{"type":"control_request","request_id":"r9"}`, `{"type":"control_request","request_id":"x"}`, nil},
		{"an id that was bound", `{"type":"control_request","request_id":"r1"}`, `{"type":"control_request","request_id":"y"}`,
			[]string{`/request_id: want "host-1", as before for "r1", got "y"`}},
		{"an id used twice", `{"type":"control_request","request_id":"r2"}`, `{"type":"control_request","request_id":"host-1"}`,
			[]string{`/request_id: want a new id for "r2", got "host-1", which stands for "r1" already`}},
		{"a request needs an id", `{"type":"control_request","request_id":"r2"}`, `{"type":"control_request"}`,
			[]string{`/request_id: want "r2", got nothing`}},
		{"an id that is not a string", `{"request_id":"r2"}`, `{"request_id":2}`, []string{`/request_id: want "r2", got 2`}},
		{"the agent's id", `{"type":"control_response","response":{"request_id":"r1"}}`,
			`{"type":"control_response","response":{"request_id":"host-1"}}`,
			[]string{`/response/request_id: want "r1", got "host-1"`}},
		{"ids of messages and sessions", `{"uuid":"u","session_id":"s"}`, `{"uuid":"v","session_id":""}`, nil},
		{"ids that may be missing", `{"uuid":"u","session_id":"s"}`, `{}`, nil},
		{"ids that may be null", `{"uuid":"u","session_id":"s"}`, `{"uuid":null,"session_id":null}`, nil},
		{"no ids deeper down", `{"type":"user","message":{"content":[{"uuid":"u"}]},"x":{"session_id":"s","request_id":"r1"}}`,
			`{"type":"user","message":{"content":[{"uuid":"v"}]},"x":{"request_id":"host-1"}}`,
			[]string{`/message/content/0/uuid: want "u", got "v"`, `/x/request_id: want "r1", got "host-1"`,
				`/x/session_id: want "s", got nothing`}},
		{"no ids in the input of a tool",
			`{"type":"control_response","response":{"request_id":"a","response":{"updatedInput":{"session_id":"s","uuid":"u"}}}}`,
			`{"type":"control_response","response":{"request_id":"a","response":{"updatedInput":{"session_id":"t"}}}}`,
			[]string{`/response/response/updatedInput/session_id: want "s", got "t"`,
				`/response/response/updatedInput/uuid: want "u", got nothing`}},
		{"a session that is named", `{"type":"control_request","request":{"subtype":"rename_session","session_id":"s"}}`,
			`{"type":"control_request","request":{"subtype":"rename_session","session_id":"t"}}`,
			[]string{`/request/session_id: want "s", got "t"`}},
		{"a message that is named", `{"type":"control_request","request":{"subtype":"rewind_files","user_message_id":"s"}}`,
			`{"type":"control_request","request":{"subtype":"rewind_files","user_message_id":"t"}}`, nil},
		{"a message that must be named", `{"type":"control_request","request":{"subtype":"rewind_files","user_message_id":"s"}}`,
			`{"type":"control_request","request":{"subtype":"rewind_files"}}`,
			[]string{`/request/user_message_id: want "s", got nothing`}},
		{"ids of hooks", hooks("a", "b", "a"), hooks("x", "x", "x"), nil},
		{"an id of two hooks", hooks("a", "b", "a"), hooks("x", "y", "z"),
			[]string{`/request/hooks/Stop/1/hookCallbackIds/0: want "x", as before for "a", got "z"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ids := newIDTable()
			ids.bind([]binding{{idKey{requestID, "r1"}, "host-1"}})
			w, err := newWanted(tt.want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeObject(tt.got)
			if err != nil {
				t.Fatal(err)
			}
			var diffs []string
			for _, d := range match(ids, w, got).diffs {
				diffs = append(diffs, d.String())
			}
			if diff := cmp.Diff(tt.diffs, diffs); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

// hooks returns an initialize request with these callback ids.
func hooks(a, b, c string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":"r","request":{"subtype":"initialize","hooks":`+
		`{"Stop":[{"hookCallbackIds":[%q,%q]},{"hookCallbackIds":[%q]}]}}}`, a, b, c)
}

func TestDifferenceOfLongTexts(t *testing.T) {
	same := strings.Repeat("é", 300)
	tests := []struct{ name, want, got, text string }{
		{"late", same + "a" + same, same + "b",
			`: want …` + same[:40] + "a" + same[:196] + `… (from byte 560 of 1201), got …` + same[:40] + `b (from byte 560 of 601)`},
		{"at the end", same, same + "b",
			`: want …` + same[:40] + ` (from byte 560 of 600), got …` + same[:40] + `b (from byte 560 of 601)`},
		{"early", "a" + same, "b",
			`: want a` + same[:238] + `… (601 bytes), got b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.text, difference{"", tt.want, tt.got}.String()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRewrite(t *testing.T) {
	tests := []struct{ name, frame, want string }{
		{"response", `{"response": {"request_id": "r1", "n": 1.50}, "type":"control_response"}`,
			`{"response": {"request_id": "host-1", "n": 1.50}, "type":"control_response"}`},
		{"the agent's own request", `{"type":"control_request","request_id":"r1"}`, `{"type":"control_request","request_id":"r1"}`},
		{"the agent's own cancellation", `{"type":"control_cancel_request","request_id":"r1"}`,
			`{"type":"control_cancel_request","request_id":"r1"}`},
		{"message", `{"type":"user","uuid":"u","user_message_uuids":["x","u",{"uuid":"u"}],"text":"u"}`,
			`{"type":"user","uuid":"u","user_message_uuids":["x","a\"b",{"uuid":"u"}],"text":"u"}`},
		{"replay", `{"type":"user","uuid":"u","isReplay":true}`, `{"type":"user","uuid":"a\"b","isReplay":true}`},
		{"lifecycle", `{"type":"command_lifecycle","command_uuid":"u","uuid":"u"}`,
			`{"type":"command_lifecycle","command_uuid":"a\"b","uuid":"u"}`},
		{"interrupt", `{"type":"control_response","response":{"request_id":"r1","response":{"still_queued":["u","v"]}}}`,
			`{"type":"control_response","response":{"request_id":"host-1","response":{"still_queued":["a\"b","v"]}}}`},
		{"after other values", `{"a":[{"b":[]},[null,true,2],[[]]],"c":{}, "user_message_uuid" : "u" }`,
			`{"a":[{"b":[]},[null,true,2],[[]]],"c":{}, "user_message_uuid" : "a\"b" }`},
		{"escapes", `{"type":"control_response","response":{"request_id":"\u0072\u0031"}}`,
			`{"type":"control_response","response":{"request_id":"host-1"}}`},
		{"progress", `{"type":"system","subtype":"control_request_progress","request_id":"r1"}`,
			`{"type":"system","subtype":"control_request_progress","request_id":"host-1"}`},
		{"an id of the API", `{"type":"assistant","request_id":"r1"}`, `{"type":"assistant","request_id":"r1"}`},
		{"hook", `{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback","callback_id":"h","input":{"callback_id":"h"}}}`,
			`{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback","callback_id":"H","input":{"callback_id":"h"}}}`},
		{"the input of a tool", `{"type":"control_request","request":{"subtype":"can_use_tool","input":{"request_id":"r1","callback_id":"h"}}}`,
			`{"type":"control_request","request":{"subtype":"can_use_tool","input":{"request_id":"r1","callback_id":"h"}}}`},
		{"requests that wait", `{"type":"control_response","response":{"request_id":"r1","pending_permission_requests":[{"request_id":"r1"}]}}`,
			`{"type":"control_response","response":{"request_id":"host-1","pending_permission_requests":[{"request_id":"r1"}]}}`},
		{"unknown id", `{"type":"control_response","request_id":"r9"}`, `{"type":"control_response","request_id":"r9"}`},
		{"not JSON", `warning: "u"`, `warning: "u"`},
	}
	ids := newIDTable()
	ids.bind([]binding{
		{idKey{requestID, "r1"}, "host-1"}, {idKey{messageID, "u"}, `a"b`}, {idKey{callbackID, "h"}, "H"},
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ids.rewrite(tt.frame)); diff != "" {
				t.Errorf("frame (-want +got):\n%s", diff)
			}
		})
	}
}
