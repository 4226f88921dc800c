package sessions_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// entry returns an entry with a UUID, a parent, which may be "", and more members.
func entry(kind, uuid, parent, more string) wire.JSON {
	link := "null"
	if parent != "" {
		link = `"` + parent + `"`
	}
	message := ""
	if !strings.Contains(more, `"message"`) {
		message = `,"message":{"content":"` + uuid + `"}`
	}
	return wire.JSON(fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s%s%s}`, kind, uuid, link, message, more))
}

func user(uuid, parent string) wire.JSON      { return entry("user", uuid, parent, "") }
func assistant(uuid, parent string) wire.JSON { return entry("assistant", uuid, parent, "") }

// call is a block with a tool call, and result its result.
func call(uuid, parent, message, id string) wire.JSON {
	return entry("assistant", uuid, parent, `,"message":{"id":"`+message+`","content":[{"type":"tool_use","id":"`+id+`"}]}`)
}

func result(uuid, parent, id string) wire.JSON {
	return entry("user", uuid, parent, `,"message":{"content":[{"type":"tool_result","tool_use_id":"`+id+`"}]}`)
}

// rewind is the entry that the agent writes when a prompt is removed from the conversation.
func rewind(uuid string) wire.JSON {
	return wire.JSON(`{"type":"last-prompt","explicit":true,"rewound":true,"cutUuid":"` + uuid + `"}`)
}

func TestMessagesChain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entries []wire.JSON
		want    string
	}{
		"nothing said":       {[]wire.JSON{entry("system", "s", "", "")}, ""},
		"a plain order":      {[]wire.JSON{user("1", ""), assistant("2", "1"), user("3", "2")}, "1 2 3"},
		"through attachment": {[]wire.JSON{user("1", ""), entry("attachment", "a", "1", ""), assistant("2", "a")}, "1 2"},
		"through progress":   {[]wire.JSON{user("1", ""), entry("progress", "p", "1", ""), assistant("2", "p")}, "1 2"},
		"an end that is not a message": {
			[]wire.JSON{user("1", ""), assistant("2", "1"), entry("attachment", "a", "2", ""), entry("system", "s", "a", "")}, "1 2",
		},
		"a branch that was left": {
			[]wire.JSON{user("1", ""), assistant("2", "1"), user("3", "2"), assistant("4", "3"), user("5", "2"), assistant("6", "5")},
			"1 2 5 6",
		},
		"a rewind": {
			[]wire.JSON{user("1", ""), assistant("2", "1"), user("3", "2"), assistant("4", "3"), rewind("3")}, "1 2",
		},
		"a rewind and another prompt": {
			[]wire.JSON{user("1", ""), assistant("2", "1"), user("3", "2"), assistant("4", "3"), rewind("3"), user("5", "2")}, "1 2 5",
		},
		"a rewind to the start": {[]wire.JSON{user("1", ""), assistant("2", "1"), rewind("1")}, ""},
		"a rewind that was given up": {
			[]wire.JSON{user("1", ""), assistant("2", "1"), user("3", "2"), rewind("3"), assistant("4", "3")}, "1 2 3 4",
		},
		"a rewind to nowhere": {[]wire.JSON{user("1", ""), assistant("2", "1"), rewind("x")}, "1 2"},
		"a subagent at the end": {
			[]wire.JSON{user("1", ""), assistant("2", "1"), entry("user", "x", "", `,"isSidechain":true`)}, "1 2",
		},
		"a team member at the end": {
			[]wire.JSON{user("1", ""), assistant("2", "1"), entry("user", "x", "1", `,"teamName":"t"`)}, "1 2",
		},
		"only a subagent": {[]wire.JSON{entry("user", "x", "", `,"isSidechain":true`)}, ""},
		"what is for the model alone": {
			[]wire.JSON{user("1", ""), entry("user", "m", "1", `,"isMeta":true`), assistant("2", "m")}, "1 2",
		},
		"a compaction": {
			[]wire.JSON{
				user("1", ""), assistant("2", "1"), entry("system", "c", "", `,"logicalParentUuid":"2"`),
				entry("user", "3", "c", `,"isCompactSummary":true`), assistant("4", "3"),
			},
			"3 4",
		},
		"messages kept by a compaction": {
			[]wire.JSON{
				user("1", ""), assistant("2", "1"), user("3", "2"), assistant("4", "3"),
				entry("system", "c", "", `,"compactMetadata":{"preservedMessages":{"anchorUuid":"s","uuids":["3","4"]}}`),
				entry("user", "s", "c", `,"isCompactSummary":true`), user("5", "4"), assistant("6", "5"),
			},
			"s 3 4 5 6",
		},
		"a part kept by a compaction": {
			[]wire.JSON{
				user("1", ""), assistant("2", "1"), user("3", "2"), entry("progress", "p", "3", ""), assistant("4", "p"),
				entry("system", "c", "", `,"compactMetadata":{"preservedSegment":{"headUuid":"3","anchorUuid":"s","tailUuid":"4"}}`),
				entry("user", "s", "c", `,"isCompactSummary":true`), user("5", "s"), assistant("6", "5"),
			},
			"s 3 4 5 6",
		},
		"kept messages that are missing": {
			[]wire.JSON{
				user("3", ""),
				entry("system", "c", "", `,"compactMetadata":{"preservedMessages":{"anchorUuid":"s","uuids":["3","gone"]}}`),
				entry("user", "s", "c", `,"isCompactSummary":true`), assistant("5", "s"),
			},
			"s 5",
		},
		"kept behind nothing": {
			[]wire.JSON{
				user("3", ""), entry("system", "c", "", `,"compactMetadata":{"preservedSegment":{"headUuid":"3","tailUuid":"3"}}`),
				entry("user", "s", "c", ""), assistant("5", "s"),
			},
			"s 5",
		},
		"a compaction that keeps its own summary": {
			[]wire.JSON{
				entry("system", "c", "", `,"compactMetadata":{"preservedSegment":{"headUuid":"s","anchorUuid":"s","tailUuid":"s"}}`),
				entry("user", "s", "c", ""), assistant("5", "s"),
			},
			"s 5",
		},
		"what was taken back": {
			[]wire.JSON{
				user("1", ""), assistant("2", "1"), user("3", "2"),
				entry("assistant", "4", "3", `,"supersedesUuids":["2"],"retractedMessageUuids":["gone"]`),
				entry("system", "r", "4", `,"refusedUserMessageUuid":"3"`), assistant("5", "r"),
			},
			"1 4 5",
		},
		"a missing parent":   {[]wire.JSON{user("1", ""), user("2", "gone"), assistant("3", "2")}, "2 3"},
		"a cycle":            {[]wire.JSON{user("1", "2"), assistant("2", "1")}, "1 2"},
		"its own parent":     {[]wire.JSON{user("1", "1")}, "1"},
		"a way into a cycle": {[]wire.JSON{user("1", "2"), assistant("2", "1"), user("3", "2")}, "1 2 3"},
		"a cycle of others":  {[]wire.JSON{entry("system", "a", "b", ""), entry("system", "b", "a", ""), user("1", "")}, "1"},
		"without a UUID":     {[]wire.JSON{`{"type":"user","message":{"content":"x"}}`, user("1", "")}, "1"},
		"calls at the same time": {
			[]wire.JSON{
				user("1", ""), call("a", "1", "m", "t1"), call("b", "a", "m", "t2"), call("c", "b", "m", "t3"),
				result("ra", "a", "t1"), result("rb", "b", "t2"), result("rc", "c", "t3"), assistant("2", "rc"),
			},
			"1 a b c ra rb rc 2",
		},
		"calls whose results come between": {
			[]wire.JSON{
				user("1", ""), call("a", "1", "m", "t1"), result("ra", "a", "t1"), call("b", "a", "m", "t2"),
				result("rb", "b", "t2"), assistant("2", "ra"),
			},
			"1 a b rb ra 2",
		},
		"a result that came twice": {
			[]wire.JSON{user("1", ""), call("a", "1", "m", "t1"), result("r", "a", "t1"), result("s", "a", "t1"), assistant("2", "s")},
			"1 a s 2",
		},
		"a call of another branch": {
			[]wire.JSON{user("1", ""), call("a", "1", "m", "t1"), result("r", "a", "t1"), user("2", ""), assistant("3", "2")}, "2 3",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sessions.NewMemory()
			mustAppend(t, s, keyA, append([]wire.JSON{`{"type":"mode"}`}, tt.entries...)...)
			if got := uuids(t, sessions.Messages(t.Context(), idA, &sessions.Options{Store: s})); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// uuids returns the UUIDs of messages, in order.
func uuids(t *testing.T, messages func(func(*sessions.RecordedMessage, error) bool)) string {
	t.Helper()
	var all []string
	for msg, err := range messages {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, msg.UUID)
	}
	return strings.Join(all, " ")
}

// A file may have entries twice. A store would not keep the second.
func TestMessagesRepeatedInFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := string(user("1", "")) + "\n" + string(call("2", "1", "m", "t")) + "\n" + string(result("3", "2", "t")) + "\n"
	write(t, dir, "p/"+idA+".jsonl", lines+"{broken\n"+lines)
	store := sessions.NewFolder(dir)
	skipped := 0
	store.Skipped = func(sessions.SkippedLine) { skipped++ }
	if got := uuids(t, sessions.Messages(t.Context(), idA, &sessions.Options{Store: store})); got != "1 2 3" {
		t.Errorf("got %q", got)
	}
	if skipped != 1 {
		t.Errorf("%d lines were reported, want 1", skipped)
	}
}

const (
	recordedAgent   = "2e08b01a-ae65-4bd9-9fea-b7b4b75b673b"
	recordedCompact = "9f225561-d390-4ec7-8e67-e5ae1e39e209"
)

func recorded() *sessions.Options {
	return &sessions.Options{Store: sessions.NewFolder("testdata/projects"), ProjectName: "-home-dev-project"}
}

// lines returns messages as text, one line each.
func lines(t *testing.T, messages func(func(*sessions.RecordedMessage, error) bool)) []string {
	t.Helper()
	var all []string
	for msg, err := range messages {
		if err != nil {
			t.Fatal(err)
		}
		var content wire.Content
		switch m := msg.Message.(type) {
		case *wire.UserMessage:
			content = m.Content
		case *wire.AssistantMessage:
			content = m.Content
		default:
			t.Fatalf("%T: %s", m, m.Raw())
		}
		if msg.Time.IsZero() || msg.UUID == "" || !strings.Contains(msg.Raw(), msg.UUID) {
			t.Errorf("got %+v", msg)
		}
		for _, block := range content {
			text := fmt.Sprintf("%s %T", msg.Kind(), block)
			if b, ok := block.(*wire.TextBlock); ok {
				text = fmt.Sprintf("%s %.20s", msg.Kind(), b.Text)
			}
			all = append(all, text)
		}
	}
	return all
}

func TestMessagesRecorded(t *testing.T) {
	t.Parallel()
	want := []string{
		"user Delegate", "assistant Delegating.", "assistant *wire.ToolUseBlock", "user *wire.ToolResultBlock",
		"assistant All done.", "user <task-notification>\n", "assistant The subagent finishe",
	}
	if diff := cmp.Diff(want, lines(t, sessions.Messages(t.Context(), recordedAgent, recorded()))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	want = []string{
		"user This session is bein", "user <command-name>/compa", "user <local-command-stdou",
	}
	if diff := cmp.Diff(want, lines(t, sessions.Messages(t.Context(), recordedCompact, recorded()))); diff != "" {
		t.Errorf("messages after a compaction (-want +got):\n%s", diff)
	}
}

func TestSubagentsRecorded(t *testing.T) {
	t.Parallel()
	agents, err := sessions.Subagents(t.Context(), recordedAgent, recorded())
	if err != nil || len(agents) != 1 || agents[0].ID != "ab45c76475627f755" {
		t.Fatalf("got %+v, %v", agents, err)
	}
	messages := sessions.SubagentMessages(t.Context(), recordedAgent, agents[0].ID, recorded())
	got := lines(t, messages)
	if len(got) < 2 || got[0] != "user INNER count" {
		t.Errorf("got %q", got)
	}
	for msg := range messages {
		if want := "toolu_13ceeed2d9dc4875a0c147"; msg.ParentToolUseID != want {
			t.Errorf("got parent %q, want %q", msg.ParentToolUseID, want)
		}
	}
	for _, err := range sessions.SubagentMessages(t.Context(), recordedAgent, "none", recorded()) {
		if !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	}
	none, err := sessions.Subagents(t.Context(), recordedCompact, recorded())
	if err != nil || len(none) != 0 {
		t.Errorf("got %v, %v", none, err)
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	memory := sessions.NewMemory()
	mustAppend(t, memory, wire.SessionKey{Project: "p", SessionID: idB}, user("1", ""))
	opts := &sessions.Options{Store: memory, ProjectName: "p"}
	calls := map[string]func(id string) error{
		"Get":    func(id string) error { _, err := sessions.Get(ctx, id, opts); return err },
		"Rename": func(id string) error { return sessions.Rename(ctx, id, "x", opts) },
		"Tag":    func(id string) error { return sessions.Tag(ctx, id, "x", opts) },
		"Delete": func(id string) error { return sessions.Delete(ctx, id, opts) },
		"Messages": func(id string) (failed error) {
			for _, failed = range sessions.Messages(ctx, id, opts) {
			}
			return failed
		},
		"Subagents": func(id string) error { _, err := sessions.Subagents(ctx, id, opts); return err },
		"Fork": func(id string) error {
			_, err := sessions.Fork(ctx, id, &sessions.ForkOptions{Store: memory})
			return err
		},
		"Import": func(id string) error {
			return sessions.Import(ctx, sessions.NewMemory(), id, &sessions.ImportOptions{Store: memory})
		},
	}
	for name, call := range calls {
		err := call(idA)
		if !errors.Is(err, sessions.ErrNotFound) || !strings.Contains(err.Error(), idA) {
			t.Errorf("%s: got %v, want ErrNotFound", name, err)
		}
		for _, bad := range []string{"", "x", "../" + idA, idA + "0", strings.Repeat("-", 36), strings.ReplaceAll(idA, "-", "0")} {
			if err := call(bad); err == nil || errors.Is(err, sessions.ErrNotFound) {
				t.Errorf("%s of %q: got %v, want an error that the ID is none", name, bad, err)
			}
		}
	}
}

// The error names the package once, the missing thing, and the place that was searched.
func TestNotFoundText(t *testing.T) {
	t.Parallel()
	if got, want := sessions.ErrNotFound.Error(), "sessions: not found"; got != want {
		t.Errorf("ErrNotFound is %q, want %q", got, want)
	}
	opts := &sessions.Options{Store: sessions.NewMemory(), ProjectName: "p"}
	_, err := sessions.Get(t.Context(), idA, opts)
	if want := "sessions: session " + idA + " not found in project p of the store"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	err = sessions.Restore(t.Context(), idA, opts)
	if want := "sessions: session " + idA + " not found in the trash"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}
