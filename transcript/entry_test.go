package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

func TestDecodeEntry(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, line string
		want       Entry
	}{
		{
			"all of the envelope", `{"parentUuid":"p","logicalParentUuid":"lp","leafUuid":"l","isSidechain":true,"isMeta":true,` +
				`"isCompactSummary":true,"isApiErrorMessage":true,"type":"user","subtype":"s","uuid":"u",` +
				`"timestamp":"2026-11-15T00:44:42.913Z","sessionId":"s1","agentId":"a1","cwd":"/home","gitBranch":"main",` +
				`"version":"2.1.325","permissionMode":"plan","promptId":"pr","requestId":"rq","requestSessionId":"s0","teamName":"t","agentName":"n",` +
				`"sourceToolUseID":"toolu_1","toolUseResult":[1],"mcpMeta":{"_meta":{}},"content":"c","data":{"type":"d"},"compactMetadata":{}}`,
			Entry{
				ParentUUID: "p", LogicalParentUUID: "lp", LeafUUID: "l", IsSidechain: true, IsMeta: true,
				IsCompactSummary: true, IsAPIErrorMessage: true, Type: "user", Subtype: "s", UUID: "u",
				Timestamp: time.Date(2026, 11, 15, 0, 44, 42, 913e6, time.UTC), SessionID: "s1", AgentID: "a1", CWD: "/home",
				GitBranch: "main", Version: "2.1.325", PermissionMode: "plan", PromptID: "pr", RequestID: "rq", RequestSessionID: "s0",
				TeamName: "t", AgentName: "n", SourceToolUseID: "toolu_1", ToolUseResult: json.RawMessage(`[1]`), MCPMeta: json.RawMessage(`{"_meta":{}}`),
				Content: json.RawMessage(`"c"`), Data: json.RawMessage(`{"type":"d"}`), DataType: "d",
				CompactMetadata: json.RawMessage(`{}`),
			},
		},
		{
			"type behind the message", `{"message":{"model":"m","id":"msg_1","role":"assistant","content":[{"type":"text","text":"hi"}],` +
				`"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,` +
				`"cache_creation_input_tokens":4,"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":6},` +
				`"output_tokens_details":{"thinking_tokens":7},"server_tool_use":{"web_search_requests":8,"web_fetch_requests":9},` +
				`"speed":"fast","service_tier":"standard","iterations":[{"input_tokens":99}]}},"uuid":"u","type":"assistant"}`,
			Entry{Type: "assistant", UUID: "u", Message: &Message{
				ID: "msg_1", Role: "assistant", Model: "m", StopReason: "end_turn",
				Content: json.RawMessage(`[{"type":"text","text":"hi"}]`),
				Usage: &usage.Usage{
					InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheCreationTokens: 4, CacheCreation5mTokens: 5,
					CacheCreation1hTokens: 6, ThinkingTokens: 7, WebSearches: 8, WebFetches: 9, Fast: true, ServiceTier: "standard",
				},
			}},
		},
		{
			"a permission", `{"type":"user","sandboxed":false,"permissionDecision":{"decision":"accept","source":"user_temporary","reasonType":"other",` +
				`"ruleSource":"session","grantScope":"once","reasonCode":"unknown","circuitBreaker":1}}`,
			Entry{Type: "user", Sandboxed: new(false), Permission: PermissionDecision{
				Decision: "accept", Source: "user_temporary", ReasonType: "other", RuleSource: "session", GrantScope: "once", ReasonCode: "unknown",
			}},
		},
		{"no permission", `{"type":"user","sandboxed":"yes","permissionDecision":"accept"}`, Entry{Type: "user"}},
		{"a root", `{"type":"user","parentUuid":null}`, Entry{Type: "user", Root: true}},
		{"no parent told", `{"type":"user"}`, Entry{Type: "user"}},
		{"a result that is a string", `{"type":"user","toolUseResult":"User rejected tool use"}`, Entry{Type: "user", ToolUseResult: json.RawMessage(`"User rejected tool use"`)}},
		{"a result that is a list", `{"type":"user","toolUseResult":[{"type":"text"}]}`, Entry{Type: "user", ToolUseResult: json.RawMessage(`[{"type":"text"}]`)}},
		{"a result that is an object", `{"type":"user","toolUseResult":{"stdout":""}}`, Entry{Type: "user", ToolUseResult: json.RawMessage(`{"stdout":""}`)}},
		{"content that is a string", `{"type":"user","message":{"role":"user","content":"hi"}}`, Entry{Type: "user", Message: &Message{Role: "user", Content: json.RawMessage(`"hi"`)}}},
		{
			"content that mixes strings and blocks", `{"type":"user","message":{"content":["a",{"type":"text","text":"b"},null,[1]]}}`,
			Entry{Type: "user", Message: &Message{Content: json.RawMessage(`["a",{"type":"text","text":"b"},null,[1]]`)}},
		},
		{
			"an attachment whose type comes last", `{"type":"attachment","attachment":{"x":{"type":"no"},"type":"file"}}`,
			Entry{Type: "attachment", Attachment: json.RawMessage(`{"x":{"type":"no"},"type":"file"}`), AttachmentType: "file"},
		},
		{
			"superseded entries", `{"type":"system","subtype":"init","supersedesUuids":["a","b"],"retractedMessageUuids":["c",1,null],"refusedUserMessageUuid":"d"}`,
			Entry{Type: "system", Subtype: "init", Supersedes: []string{"a", "b", "c", "d"}},
		},
		{
			"wrong types everywhere", `{"type":"user","uuid":1,"parentUuid":{},"timestamp":17,"sessionId":[],"cwd":false,"isSidechain":"yes","isMeta":null,` +
				`"message":[1],"attachment":3,"data":"x","supersedesUuids":{"a":1},"version":2.1}`,
			Entry{Type: "user", Attachment: json.RawMessage(`3`), Data: json.RawMessage(`"x"`)},
		},
		{
			"wrong types in a message", `{"type":"user","message":{"id":1,"role":null,"model":{},"content":null,"usage":[]}}`,
			Entry{Type: "user", Message: &Message{Content: json.RawMessage(`null`)}},
		},
		{"usage that is null", `{"type":"user","message":{"usage":null}}`, Entry{Type: "user", Message: &Message{}}},
		{
			"numbers that are not counts", `{"type":"user","message":{"usage":{"input_tokens":3.0,"output_tokens":-5,"cache_read_input_tokens":1e30,` +
				`"cache_creation_input_tokens":"12","cache_creation":null,"server_tool_use":{"web_search_requests":1.5,"web_fetch_requests":9223372036854775807},` +
				`"output_tokens_details":[],"speed":1}}}`,
			Entry{Type: "user", Message: &Message{Usage: &usage.Usage{InputTokens: 3}}},
		},
		{
			"the largest count", `{"type":"user","message":{"usage":{"input_tokens":2147483647,"output_tokens":2147483648,"cache_read_input_tokens":1e9}}}`,
			Entry{Type: "user", Message: &Message{Usage: &usage.Usage{InputTokens: 2147483647, CacheReadTokens: 1e9}}},
		},
		{
			"of two the last one counts", `{"type":"a","uuid":"1","uuid":"2","parentUuid":"x","parentUuid":null,"isMeta":true,"isMeta":0,"type":"user",` +
				`"message":{"id":"1","model":"m"},"message":{"id":"2","content":[{"type":"nope"}],"content":"c","usage":{"input_tokens":1},"usage":{}}}`,
			Entry{Type: "user", UUID: "2", Root: true, Message: &Message{ID: "2", Content: json.RawMessage(`"c"`), Usage: &usage.Usage{}}},
		},
		{"a message that is taken back", `{"type":"user","message":{"id":"1"},"message":7}`, Entry{Type: "user"}},
		{"escaped names and values", `{"\u0074ype":"us\u0065r","uuid":"\u00e9\n"}`, Entry{Type: "user", UUID: "é\n"}},
		{"bytes that are not UTF-8", "{\"type\":\"user\",\"cwd\":\"/a\xff/b\",\"gitBranch\":\"\xc3\"}", Entry{Type: "user", CWD: "/a\ufffd/b", GitBranch: "\ufffd"}},
		{"spaces", " { \"type\" : \"user\" , \"message\" : { \"content\" : [ { \"type\" : \"text\" } ] } } ", Entry{Type: "user", Message: &Message{Content: json.RawMessage(`[ { "type" : "text" } ]`)}}},
		{"a bookkeeping line", `{"type":"last-prompt","lastPrompt":"x","leafUuid":"l","sessionId":"s"}`, Entry{Type: "last-prompt", LeafUUID: "l", SessionID: "s"}},
		{"a time without a zone", `{"type":"user","timestamp":"2026-11-15T00:44:42"}`, Entry{Type: "user", Timestamp: time.Date(2026, 11, 15, 0, 44, 42, 0, time.UTC)}},
		{"a time that is none", `{"type":"user","timestamp":"yesterday"}`, Entry{Type: "user"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := DecodeEntry([]byte(test.line))
			if err != nil {
				t.Fatal(err)
			}
			test.want.Raw = []byte(test.line)
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(Entry{}, "Unknown", "facts")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeEntryRejects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, want string }{
		{``, "transcript: unexpected end of JSON at byte 0"},
		{`42`, "transcript: expected object, found number at byte 0"},
		{`[{}]`, "transcript: expected object, found array at byte 0"},
		{`{"type":"user"`, "transcript: unexpected end of JSON at byte 14"},
		{`{"type":"user"}{}`, "transcript: unexpected '{' after the value at byte 15"},
		{`{"message":{"content":[{"type":"text",}]}}`, "transcript: unexpected '}' where a key belongs at byte 38"},
		{`{"message":{"usage":{"input_tokens":01}}}`, "transcript: unexpected '1' after a member at byte 37"},
		{"{\"cwd\":\"a\x00b\"}", `transcript: unexpected '\x00' at byte 9`},
		{`{"data":` + strings.Repeat("[", 20_000), "transcript: nested deeper than 10,000 levels at byte 10007"},
	} {
		e, err := DecodeEntry([]byte(test.line))
		if err == nil || err.Error() != test.want {
			t.Errorf("%.60q: %v, want %s", test.line, err, test.want)
		}
		if diff := cmp.Diff(Entry{}, e, cmpopts.IgnoreUnexported(Entry{})); diff != "" {
			t.Errorf("%.60q gives an entry (-want +got):\n%s", test.line, diff)
		}
	}
}

func TestParseEntry(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line string
		want bool
	}{
		{`{"type":"user","uuid":"u"}`, true},
		{`{"type":"summary","leafUuid":"l"}`, true},
		{`{"uuid":"u"}`, true},
		{`{"type":"user"}`, false},
		{`{"type":"user","uuid":""}`, false},
		{`{"type":"user","uuid":7}`, false},
		{`{"type":"user","uuid":"u"`, false},
		{`not JSON`, false},
	} {
		if e, ok := ParseEntry([]byte(test.line)); ok != test.want || !ok && e.Raw != nil {
			t.Errorf("%s: %v", test.line, ok)
		}
	}
}

func TestChained(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"user", "assistant", "system", "attachment", "progress"} {
		if e := (Entry{Type: kind, UUID: "u"}); !e.Chained() {
			t.Errorf("%s is not chained", kind)
		}
		if e := (Entry{Type: kind}); e.Chained() {
			t.Errorf("%s is chained without a UUID", kind)
		}
	}
	if e := (Entry{Type: "last-prompt", UUID: "u"}); e.Chained() {
		t.Error("bookkeeping is chained")
	}
}

// equalBytes compares raw members at once, and not byte by byte.
var equalBytes = cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })

// An entry has nothing of the lines decoded before it, and does not change when the next line is
// decoded.
func TestDecoderForgets(t *testing.T) {
	t.Parallel()
	lines := recordedLines(t)
	var d entryDecoder
	var reused Entry
	for i, line := range lines {
		want, err := DecodeEntry(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.decode([]byte(`{"type":"user","message":{"id":"x","usage":{"input_tokens":5}},"supersedesUuids":["x"],"nope":1}`), &reused); err != nil {
			t.Fatal(err)
		}
		if err := d.decode(line, &reused); err != nil {
			t.Fatal(err)
		}
		got := reused
		got.Supersedes, got.Unknown = slices.Concat(got.Supersedes), slices.Concat(got.Unknown) // nil if empty
		if diff := cmp.Diff(want, got, equalBytes, cmpopts.IgnoreFields(Entry{}, "Raw", "facts")); diff != "" {
			t.Errorf("line %d (-alone +reused):\n%s", i, diff)
		}
	}
}

func TestDecodeAllocatesLittle(t *testing.T) {
	lines := recordedLines(t)
	var d entryDecoder
	var e Entry
	allocs := testing.AllocsPerRun(10, func() {
		for _, line := range lines {
			if err := d.decode(line, &e); err != nil {
				t.Fatal(err)
			}
		}
	})
	if perLine := allocs / float64(len(lines)); perLine > 1.5 {
		t.Errorf("%.2f allocations a line", perLine)
	}
}

// FuzzDecodeEntry holds the decoder to encoding/json.
func FuzzDecodeEntry(f *testing.F) {
	f.Add([]byte(`{"type":"user","uuid":"u","message":{"content":[{"type":"x"}],"usage":{"input_tokens":1e2}},"odd":[]}`))
	f.Add([]byte(`{"parentUuid":null,"supersedesUuids":["a"],"attachment":{"type":"file"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := DecodeEntry(line)
		var members map[string]json.RawMessage
		stdErr := json.Unmarshal(line, &members)
		if isObject := stdErr == nil && members != nil; (err == nil) != isObject {
			t.Fatalf("%v, encoding/json says %v", err, stdErr)
		}
		if err != nil {
			return
		}
		var uuid string
		if json.Unmarshal(members["uuid"], &uuid) != nil {
			uuid = ""
		}
		if e.UUID != uuid {
			t.Errorf("UUID %q, want %q", e.UUID, uuid)
		}
		for name, raw := range map[string]json.RawMessage{
			"toolUseResult": e.ToolUseResult, "attachment": e.Attachment, "data": e.Data, "content": e.Content,
		} {
			if string(raw) != string(members[name]) {
				t.Errorf("%s is %s, want %s", name, raw, members[name])
			}
		}
	})
}

func TestRecordingsHoldNothingUnknown(t *testing.T) {
	t.Parallel()
	var drift Drift
	for i, line := range recordedLines(t) {
		e, err := DecodeEntry(line)
		if err != nil {
			t.Fatal(err)
		}
		e.Position.Line = i
		drift.note(&e)
	}
	if diff := cmp.Diff([]Finding{}, drift.Findings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line string
		want []Unknown
	}{
		{`{"type":"user","uuid":"u","cwd":"/","userType":"external"}`, nil},
		{`{"type":"user","news":1,"type":"assistant","more":2}`, []Unknown{{UnknownField, "news"}, {UnknownField, "more"}}},
		{`{"n\u0065ws":1,"type":"user"}`, []Unknown{{UnknownField, "news"}}},
		{`{"message":{"content":[{"type":"text"},{"type":"hologram"},{"x":1}]},"type":"user"}`, []Unknown{{UnknownBlock, "hologram"}, {UnknownBlock, ""}}},
		{`{"message":{"content":[{"type":"hologram"}],"content":"x"},"type":"user"}`, nil},
		{`{"type":"system","content":"oldest form"}`, nil},
		{`{"type":"system","subtype":"sunrise"}`, []Unknown{{UnknownSystem, "sunrise"}}},
		{`{"type":"attachment","attachment":{"type":"scroll"}}`, []Unknown{{UnknownAttachment, "scroll"}}},
		{`{"type":"attachment"}`, []Unknown{{UnknownAttachment, ""}}},
		{`{"type":"progress","data":{"type":"telegraph"}}`, []Unknown{{UnknownProgress, "telegraph"}}},
		{`{"type":"progress","data":{"type":"bash_progress"},"toolUseID":"x","parentToolUseID":"y"}`, nil},
		{`{"type":"oracle","said":"yes"}`, []Unknown{{UnknownEntry, "oracle"}}},
		{`{"said":"yes"}`, []Unknown{{UnknownEntry, ""}}},
		{`{"type":"cost-state","said":"yes","message":{"content":[{"type":"hologram"}]}}`, nil},
		{`{"type":"summary","summary":"x","leafUuid":"l"}`, nil},
	} {
		e, err := DecodeEntry([]byte(test.line))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, e.Unknown); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.line, diff)
		}
	}
}

// Blocks are known if package wire knows them.
func TestKnownBlocksAreThoseOfWire(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{
		"text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document", "server_tool_use",
		"web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result", "code_execution_tool_result",
		"bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result",
		"mcp_tool_use", "mcp_tool_result", "tool_reference", "container_upload", "search_result", "compaction", "fallback",
		"hologram",
	} {
		content, err := wire.DecodeContent(wire.JSON(`[{"type":"` + kind + `"}]`))
		if err != nil {
			t.Fatal(err)
		}
		if _, unknown := content[0].(*wire.UnknownBlock); unknown == knownBlock(kind) {
			t.Errorf("%s: unknown to wire is %t, known here is %t", kind, unknown, knownBlock(kind))
		}
	}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	var drift Drift
	for i, line := range []string{
		`{"type":"oracle"}`,
		`{"type":"user","version":"2.1.10","news":1}`,
		`{"type":"oracle"}`,
		`{"type":"oracle"}`,
		`{"type":"user","version":"2.1.9","news":1}`,
		`{"type":"user","version":"2.1.9","news":1,"message":{"content":[{"type":"hologram"}]}}`,
		`{"type":"user","version":"2.1.11"}`,
	} {
		e, err := DecodeEntry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		e.Position = wire.Position{Line: i + 1}
		drift.note(&e)
	}
	finding := func(version string, u Unknown, count, line int) Finding {
		return Finding{Version: version, Unknown: u, Count: count, First: wire.Position{Line: line}}
	}
	want := []Finding{
		finding("", Unknown{UnknownEntry, "oracle"}, 1, 1),
		finding("2.1.9", Unknown{UnknownBlock, "hologram"}, 1, 6),
		finding("2.1.9", Unknown{UnknownField, "news"}, 2, 5),
		finding("2.1.10", Unknown{UnknownEntry, "oracle"}, 2, 3),
		finding("2.1.10", Unknown{UnknownField, "news"}, 1, 2),
	}
	if diff := cmp.Diff(want, drift.Findings()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	var twice Drift
	twice.Merge(drift)
	if !twice.Equal(drift) {
		t.Errorf("a merge into nothing gives %v", twice.Findings())
	}
	twice.Merge(drift)
	for i := range want {
		want[i].Count *= 2
	}
	if diff := cmp.Diff(want, twice.Findings()); diff != "" || twice.Equal(drift) {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
}

func TestDriftIsBounded(t *testing.T) {
	t.Parallel()
	var drift Drift
	for i := range 3 * maxFindings {
		drift.note(&Entry{Unknown: []Unknown{{UnknownField, fmt.Sprint(i)}}})
	}
	found := drift.Findings()
	if len(found) != maxFindings+1 || found[0].Name != otherNames || found[0].Count != 2*maxFindings {
		t.Errorf("%d findings, the first %+v", len(found), found[0])
	}
	drift = Drift{}
	drift.note(&Entry{Unknown: []Unknown{{UnknownField, strings.Repeat("日", 1000)}}})
	if name := drift.Findings()[0].Name; name != strings.Repeat("日", 33)+"…" {
		t.Errorf("a long name is kept as %q", name)
	}
}

func TestDriftAsJSON(t *testing.T) {
	t.Parallel()
	var drift Drift
	drift.note(&Entry{Version: "2.1.9", Unknown: []Unknown{{UnknownEntry, "oracle"}}})
	got, err := json.Marshal(drift)
	want := `[{"version":"2.1.9","kind":"entry","name":"oracle","count":1,"first":{"Line":0,"Offset":0,"Bytes":0}}]`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
