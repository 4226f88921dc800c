//go:build unix

package clewtest_test

import "github.com/clewdev/clew/clewtest"

// bareArgs make turns that have neither tools nor thinking.
var bareArgs = []string{"--tools", "", "--model", "claude-3-5-haiku-20241022"}

func realBare(r *realRun) {
	r.model.Reply("Scripted.")
	r.args = bareArgs
	r.ask("Hi")
	r.want("Scripted.")
	r.wantRequests(1, 0)
}

func realOneToken(r *realRun) {
	r.model.Reply("Scripted.")
	r.args = bareArgs
	r.env = []string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS=1"}
	r.ask("Hi")
	r.want("Scripted.")
	r.wantRequests(1, 0)
}

func realTitle(r *realRun) {
	r.model.On("Fix the thing").Reply(clewtest.Text("Fixed.")).Once()
	title := map[string]any{"subtype": "generate_session_title", "description": "Fix the thing", "persist": false}
	r.frames = []any{controlFrame("title", title), userFrame("Fix the thing")}
	r.chat()
	r.want("Fixed.")
	r.wantRequests(1, 1)
}

// realSetModel has the agent try a model out, with the very words of the rule.
func realSetModel(r *realRun) {
	r.model.On("Hi").Reply(clewtest.Text("Hi.")).Once()
	model := map[string]any{"subtype": "set_model", "model": "claude-sonnet-5"}
	r.frames = []any{controlFrame("model", model), userFrame("Hi")}
	r.chat()
	r.want("Hi.")
	r.wantRequests(1, 1)
}

func realWebSearch(r *realRun) {
	r.model.On("Search").Reply(clewtest.ToolUse("WebSearch", map[string]string{"query": "Search engines"})).Once()
	r.model.OnToolResult("").Reply(clewtest.Text("Searched."))
	r.args = []string{"--permission-mode", "bypassPermissions"}
	r.ask("Search the web")
	r.want("Searched.")
	r.wantRequests(2, 1)
}

// wantRequests checks how many requests the agent made in the conversation, and how many in the background.
func (r *realRun) wantRequests(conversation, background int) {
	r.t.Helper()
	aside := 0
	for _, req := range r.model.AllRequests() {
		if req.Background() {
			aside++
		}
	}
	if n := len(r.model.Requests()); n != conversation || aside != background {
		r.t.Errorf("%d requests in the conversation, %d in the background; want %d and %d", n, aside, conversation, background)
	}
}
