package storetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// optionalTests test the interfaces that a store need not implement. They pass if it does not.
var optionalTests = map[string]func(*testing.T, sessions.Store){
	"projects": func(t *testing.T, s sessions.Store) {
		lister, ok := s.(sessions.ProjectLister)
		if !ok {
			return
		}
		check := func(want ...string) {
			t.Helper()
			got, err := lister.Projects(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sorted(want), append([]string{}, got...)); diff != "" {
				t.Errorf("projects (-want +got):\n%s", diff)
			}
		}
		check()
		for _, key := range []wire.SessionKey{elsewhere, main, agent, other} {
			mustAppend(t, s, key, numbered(0, 1)...)
		}
		check(main.Project, elsewhere.Project)
		mustDelete(t, s, elsewhere)
		check(main.Project)
		mustDelete(t, s, main)
		mustDelete(t, s, other)
		check()
	},
	"summaries follow a session": func(t *testing.T, s sessions.Store) {
		checkSummaries(t, s)
		for i := range conversation {
			mustAppend(t, s, main, conversation[i])
			checkSummaries(t, s, main.SessionID)
		}
		mustAppend(t, s, other, conversation...)
		checkSummaries(t, s, main.SessionID, other.SessionID)
	},
	"a repeated entry does not change the summary": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, titles...)
		mustAppend(t, s, main, titles[0])
		checkSummaries(t, s, main.SessionID)
		mustAppend(t, s, main, titles[0], titles[1], titles[0])
		checkSummaries(t, s, main.SessionID)
	},
	"summaries leave out what is below": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, agent, conversation...)
		checkSummaries(t, s)
		mustAppend(t, s, main, numbered(0, 1)...)
		mustAppend(t, s, agent, `{"type":"custom-title","customTitle":"below"}`)
		checkSummaries(t, s, main.SessionID)
	},
	"summaries vanish with a session": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, conversation...)
		mustAppend(t, s, other, conversation...)
		mustDelete(t, s, main)
		checkSummaries(t, s, other.SessionID)
		mustAppend(t, s, main, conversation[2:]...)
		checkSummaries(t, s, main.SessionID, other.SessionID)
	},
	"any time can be summed up": func(t *testing.T, s sessions.Store) {
		for i, at := range []string{
			"9999-12-31T23:59:59-10:00", "0000-01-01T00:00:00+10:00", "0001-01-01T00:00:00Z", "yesterday", "",
			"2026-03-01T10:00:00.123456789+05:30",
		} {
			entry := wire.JSON(fmt.Sprintf(`{"type":"user","uuid":"%d","timestamp":%q}`, i, at))
			mustAppend(t, s, main, entry)
			checkSummaries(t, s, main.SessionID)
		}
	},
}

// titles are two titles of a session. The second one counts.
var titles = []wire.JSON{
	`{"type":"custom-title","uuid":"t-1","customTitle":"old"}`, `{"type":"custom-title","uuid":"t-2","customTitle":"new"}`,
}

// conversation sets each field of a summary.
var conversation = []wire.JSON{
	`{"type":"user","uuid":"0","isSidechain":true,"timestamp":"2026-03-01T10:00:00.250Z","cwd":"/home/me/code",` +
		`"gitBranch":"main","teamName":"red","message":{"role":"user","content":"<command-name>/model</command-name>"}}`,
	`{"type":"user","uuid":"1","parentUuid":"0","version":"2.1.1","permissionMode":"plan","entrypoint":"cli","agentName":"scout",` +
		`"forkedFrom":{"sessionId":"0c8f7a52-6a3e-4c57-9d8b-3f1e2d4c5b6a","messageUuid":"9"},"message":{"role":"user","content":"First prompt"}}`,
	`{"type":"assistant","uuid":"2","parentUuid":"1","timestamp":"2026-03-01T10:00:01Z","gitBranch":"main",` +
		`"message":{"role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"Yes"},` +
		`{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]}}`,
	`{"type":"user","uuid":"3","parentUuid":"2","timestamp":"2026-03-01T10:00:02Z","gitBranch":"feature",` +
		`"message":{"role":"user","content":[{"type":"text","text":"Second prompt"}]}}`,
	`{"type":"summary","summary":"A recap","leafUuid":"3"}`,
	`{"type":"ai-title","aiTitle":"A title"}`,
	`{"type":"last-prompt","lastPrompt":"Second prompt"}`,
	`{"type":"tag","tag":"first"}`,
	`{"type":"custom-title","customTitle":"My title"}`,
	`{"type":"tag","tag":"second"}`,
}

// checkSummaries compares the summaries of the project, if the store has them, with summaries made
// from its transcripts.
func checkSummaries(t *testing.T, s sessions.Store, ids ...string) {
	t.Helper()
	summarizer, ok := s.(sessions.Summarizer)
	if !ok {
		return
	}
	want := map[string]sessions.Summary{}
	for _, id := range ids {
		var summary sessions.Summary
		for _, entry := range mustLoad(t, s, wire.SessionKey{Project: main.Project, SessionID: id}) {
			summary.Add(entry)
		}
		want[id] = summary
	}
	got, err := summarizer.Summaries(t.Context(), main.Project)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("summaries (-want +got):\n%s", diff)
	}
}
