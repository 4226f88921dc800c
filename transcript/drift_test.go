package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

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
