package transcript

import (
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
)

// aside makes a line that of a subagent in the same file.
func aside(line string) string {
	return strings.Replace(line, `{"type"`, `{"isSidechain":true,"type"`, 1)
}

// sidesIn lists what the sidechains say.
func sidesIn(tr *Transcript) (sides []string) {
	for _, side := range tr.Sidechains {
		sides = append(sides, saidIn(side.Chunks))
	}
	return sides
}

// Subagents of older versions stand in the file of the session.
func TestSidechainsInTheSameFile(t *testing.T) {
	t.Parallel()
	sides := aside(asks("s1", "")) + aside(replies("s2", "s1")) + aside(asks("x1", "")) + aside(replies("s3", "s2"))
	for name, copies := range map[string]int{"once": 1, "each line twice": 2} {
		text := asks("u1", "") + callsTool("c1", "u1", "t1") + strings.Repeat(sides, copies) +
			returns("r1", "c1", "t1") + replies("a1", "r1")
		tr, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"s1 s2\ns3", "x1"}, sidesIn(tr)); diff != "" || saidIn(tr.Chunks) != "u1 a1 t1=r1" {
			t.Errorf("%s: session %q, sidechains (-want +got):\n%s", name, saidIn(tr.Chunks), diff)
		}
	}
}

// What a subagent is does not tell what its session is, but for the time.
func TestInfoOfASessionWithSidechains(t *testing.T) {
	t.Parallel()
	answer := func(uuid, parent, members string) string {
		return chained("assistant", uuid, parent, members+`,"message":{"id":"m`+uuid+`","model":"model of `+uuid+`","content":"x"}`)
	}
	text := asks("u", "") + answer("a", "u", `"cwd":"/a","timestamp":"2026-11-15T10:00:00Z"`) +
		aside(answer("s", "", `"agentId":"7","agentName":"scout","timestamp":"2026-11-15T10:00:05Z"`))
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	first, last := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC), time.Date(2026, 11, 15, 10, 0, 5, 0, time.UTC)
	want := []Info{
		{Model: "model of a", CWD: "/a", Created: first, Modified: last},
		{Model: "model of s", AgentID: "7", AgentName: "scout", Created: last, Modified: last},
	}
	if diff := cmp.Diff(want, []Info{tr.Info, tr.Sidechains[0].Info}); diff != "" {
		t.Errorf("session and subagent (-want +got):\n%s", diff)
	}
}

// Who comes to a running session late may hear a subagent first.
func TestRunningSubagentIsNoSession(t *testing.T) {
	t.Parallel()
	speaks := func(uuid, call string) wire.Message {
		content := wire.Content{&wire.TextBlock{Text: uuid}}
		return &wire.AssistantMessage{
			UUID: uuid, ParentToolUseID: call, APIMessage: wire.APIMessage{ID: "m-" + uuid, Model: "claude", Content: content},
		}
	}
	b := NewBuilder(nil)
	for _, msg := range []wire.Message{speaks("s1", "t1"), speaks("a1", ""), speaks("s2", "t1")} {
		b.AddMessage(msg, time.Time{})
	}
	tr := b.Transcript()
	if diff := cmp.Diff([]string{"s1\ns2"}, sidesIn(tr)); diff != "" || saidIn(tr.Chunks) != "a1" {
		t.Errorf("session %q, sidechains (-want +got):\n%s", saidIn(tr.Chunks), diff)
	}
}
