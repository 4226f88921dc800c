package search

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/clewdev/clew/transcript"
)

// Only prompts of the user and answers of the session's own agent are said, and only this agent's
// calls are called.
func TestSources(t *testing.T) {
	t.Parallel()
	const answer = `"message":{"role":"assistant","model":"m","content":[{"type":"text","text":"T"},{"type":"thinking","thinking":"H"},` +
		`{"type":"tool_use","id":"c","name":"Bash","input":{"command":"C"}}]}`
	for _, test := range []struct{ name, line, want string }{
		{"prompt", `{"type":"user","message":{"content":"P"}}`, "said P"},
		{"prompt of blocks", `{"type":"user","message":{"content":[{"type":"text","text":"P"}]}}`, "said P"},
		{"prompt of a program", `{"type":"user","promptSource":"sdk","message":{"content":"P"}}`, "said P"},
		{"answer", `{"type":"assistant",` + answer + `}`, "said T|other H|called Bash\nC"},
		{"result", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"R"}]}}`, "other R"},
		{"text beside a result", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"R"},` +
			`{"type":"text","text":"B"}]}}`, "other R|other B"},
		{"answer of a subagent", `{"type":"assistant","isSidechain":true,` + answer + `}`, "other T|other H|other Bash\nC"},
		{"prompt for a subagent", `{"type":"user","agentId":"a1","message":{"content":"P"}}`, "other P"},
		{"prompt for a teammate", `{"type":"user","teamName":"red","agentName":"scout","message":{"content":"P"}}`, "other P"},
		{"message of a teammate", `{"type":"user","message":{"content":"<teammate-message teammate_id=\"scout\">P</teammate-message>"}}`, "other P"},
		{"prompt of a channel", `{"type":"user","origin":{"kind":"channel"},"message":{"content":"P"}}`, "other P"},
		{"text of a skill", `{"type":"user","isMeta":true,"message":{"content":"P"}}`, ""},
		{"text for a call", `{"type":"user","sourceToolUseID":"c","message":{"content":"P"}}`, "other P"},
		{"error in the model's place", `{"type":"assistant","isApiErrorMessage":true,"message":{"role":"assistant","model":"<synthetic>",` +
			`"content":[{"type":"text","text":"API Error: X"}]}}`, "other API Error: X"},
		{"summary", `{"type":"user","isCompactSummary":true,"message":{"content":"S"}}`, "other S"},
		{"command", `{"type":"user","message":{"content":"<command-name>/review</command-name>\n<command-args>main.go</command-args>"}}`,
			"said /review main.go"},
		{"text after a command", `{"type":"user","message":{"content":"<command-name>/review</command-name>\nDo X"}}`, "other /review\nDo X"},
		{"output of a command", `{"type":"user","message":{"content":"<local-command-stdout>O</local-command-stdout>"}}`, "other O\n"},
		{"shell command", `{"type":"user","message":{"content":"<bash-input>ls</bash-input>"}}`, "said ls"},
		{"output of a shell command", `{"type":"user","message":{"content":"<bash-stdout>O</bash-stdout><bash-stderr></bash-stderr>"}}`, "other O\n"},
		{"end of a task", `{"type":"user","message":{"content":"<task-notification><summary>N</summary></task-notification>"}}`, "other N\n"},
		{"queued prompt", `{"type":"attachment","attachment":{"type":"queued_command","prompt":"P","commandMode":"prompt"}}`, "said P"},
		{"queued by a peer", `{"type":"attachment","attachment":{"type":"queued_command","prompt":"P","origin":{"kind":"peer"}}}`, "other P"},
		{"queued in another mode", `{"type":"attachment","attachment":{"type":"queued_command","prompt":"P","commandMode":"orphaned-permission"}}`, "other P"},
		{"file", `{"type":"attachment","attachment":{"type":"file","content":{"file":{"content":"F"}}}}`, ""},
		{"memory", `{"type":"attachment","attachment":{"type":"nested_memory","content":"F"}}`, ""},
		{"message of a hook", `{"type":"attachment","attachment":{"type":"hook_system_message","hookName":"Stop","content":"K"}}`, "other Stop hook: K\n"},
		{"feedback of a hook", `{"type":"user","message":{"content":"Stop hook feedback:\nK"}}`, "other Stop hook feedback:\nK\n"},
		{"generated title", `{"type":"ai-title","aiTitle":"A"}`, "other A"},
		{"title", `{"type":"custom-title","customTitle":"A"}`, "other A"},
	} {
		e, err := transcript.DecodeEntry([]byte(test.line))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var got []string
		for _, p := range Passages(&e) {
			got = append(got, p.Source.String()+" "+p.Text)
		}
		if text := strings.Join(got, "|"); text != test.want {
			t.Errorf("%s: %q, want %q", test.name, text, test.want)
		}
	}
	if got := Source(99).String(); got != "" {
		t.Errorf("an unknown source is %q", got)
	}
}

// Only the first line marks a session as a teammate's. All of it is somebody else's.
func TestSourceOfTeammates(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	first := strings.Replace(promptLine(1, "apple"), `"type"`, `"teamName":"red","agentName":"scout","type"`, 1)
	d.write(deskSession+".jsonl", first+promptLine(2, "apple"), os.O_APPEND)
	for _, more := range []string{"", promptLine(3, "apple")} {
		d.write(deskSession+".jsonl", more, os.O_APPEND)
		q := words(t, "apple")
		q.Source = Said
		if got, err := d.index.Search(t.Context(), filesBelow(t, d.dir), q); err != nil || len(got.Hits) != 0 {
			t.Errorf("hits %+v, error %v", got.Hits, err)
		}
	}
}

// Lookup finds the content at the time of the last update, and lists the files that changed.
func TestLookup(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const other = "22222222-2222-4333-8444-555555555555.jsonl"
	d.write(deskSession+".jsonl", promptLine(1, "apple"), os.O_APPEND)
	lookup := func(want, outdated int) {
		t.Helper()
		got, err := d.index.Lookup(t.Context(), filesBelow(t, d.dir), words(t, "apple"))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Hits) != want || len(got.Outdated) != outdated || got.Updated.IsZero() {
			t.Errorf("%d hits, %d outdated, updated %v, want %d and %d", len(got.Hits), len(got.Outdated), got.Updated, want, outdated)
		}
	}
	if _, err := d.index.Lookup(t.Context(), nil, words(t, "apple")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without an index the error is %v", err)
	}
	update := func() {
		t.Helper()
		if unread, err := d.index.Update(t.Context(), filesBelow(t, d.dir)); err != nil || len(unread) > 0 {
			t.Fatal(unread, err)
		}
	}
	update()
	lookup(1, 0)
	d.write(deskSession+".jsonl", promptLine(2, "apple"), os.O_APPEND)
	d.write(other, promptLine(3, "apple"), os.O_APPEND)
	lookup(1, 2)
	update()
	lookup(3, 0)
	if err := os.Remove(d.path(other)); err != nil {
		t.Fatal(err)
	}
	lookup(2, 0)
	if err := os.Truncate(d.index.Path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := d.index.Lookup(t.Context(), filesBelow(t, d.dir), words(t, "apple")); err == nil {
		t.Error("a damaged index has results")
	}
	update()
	lookup(2, 0)
}
