//go:build unix

package model_test

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// realCases run Claude Code, each over its own model.
var realCases = map[string]func(*realRun){
	"text":                     realText,
	"text from the arguments":  realPrint,
	"a turn without tools":     realBare,
	"a turn of one token":      realOneToken,
	"a home that is given":     realHome,
	"a model that is tried":    realSetModel,
	"a web search":             realWebSearch,
	"partial messages":         realPartial,
	"thinking":                 realThinking,
	"a command":                realCommand,
	"a file with permission":   realWrite,
	"an invalid request":       realInvalidRequest,
	"an overload that passes":  realOverload,
	"a cut stream":             realCut,
	"a title beside the turns": realTitle,
	"no network":               realNoNetwork,
}

// TestRealAgent runs the cases in parallel. The home of the caller is made for the test, and must
// not change. The test logs how long it took, about ten seconds on two processors, but does not
// check it: a machine may be busy.
func TestRealAgent(t *testing.T) {
	agent := clewtest.RealAgent(t)
	own := newOwnHome(t)
	home := plantHome(t, callerMarker)
	t.Setenv("CLEW_AGENT", agent) // the user's cache can't be found with another home
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"))
	t.Setenv("ANTHROPIC_AUTH_TOKEN", callerMarker)
	before, start := readTree(t, home), time.Now()
	t.Run("group", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(realCases)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				realCases[name](&realRun{t: t, model: clewtest.NewModel(t)})
			})
		}
	})
	t.Logf("%d runs took %v", len(realCases), time.Since(start).Round(time.Millisecond))
	if diff := cmp.Diff(before, readTree(t, home)); diff != "" {
		t.Errorf("the home of the caller changed (-before +after):\n%s", diff)
	}
	own.check(t)
}

// want checks the result of a successful turn.
func (r *realRun) want(text string) *wire.ResultMessage {
	r.t.Helper()
	res := r.result()
	if res.IsError || res.Result != text || r.code != 0 {
		r.t.Errorf("result %q, error %t, exit code %d; want %q", res.Result, res.IsError, r.code, text)
	}
	return res
}

func realText(r *realRun) {
	r.model.On("Say hello").Reply(clewtest.Text("Hello there.")).Usage(100, 42, 300, 20)
	r.ask("Say hello to the test")
	res := r.want("Hello there.")
	if u := res.Usage; u.InputTokens != 100 || u.OutputTokens != 42 || u.CacheReadInputTokens != 300 || u.CacheCreationInputTokens != 20 {
		r.t.Errorf("usage %+v", u)
	}
	files, err := filepath.Glob(filepath.Join(r.model.ConfigDir(), "projects", "*", res.SessionID+".jsonl"))
	if err != nil || len(files) != 1 {
		r.t.Fatalf("transcripts %q, %v", files, err)
	}
	transcript, err := os.ReadFile(files[0])
	if err != nil {
		r.t.Fatal(err)
	}
	for _, words := range []string{"Say hello to the test", "Hello there."} {
		if !bytes.Contains(transcript, []byte(words)) {
			r.t.Errorf("the transcript lacks %q", words)
		}
	}
}

func realPrint(r *realRun) {
	r.model.Reply("Printed.")
	r.run([]string{"--output-format", "stream-json", "--verbose", "-p", "Say hello"})
	r.want("Printed.")
	if list := r.model.Requests(); len(list) != 1 || list[0].Prompt() != "Say hello" {
		r.t.Errorf("%d requests", len(list))
	}
}

func realPartial(r *realRun) {
	r.model.On("Count").Reply(clewtest.Text("one two three")).ChunkSize(4)
	r.args = []string{"--include-partial-messages"}
	r.ask("Count")
	r.want("one two three")
	var parts []string
	for _, msg := range realMessages[*wire.StreamEventMessage](r) {
		if delta, ok := msg.Event.(*wire.TextDeltaEvent); ok {
			parts = append(parts, delta.Text)
		}
	}
	if diff := cmp.Diff([]string{"one ", "two ", "thre", "e"}, parts); diff != "" {
		r.t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

func realThinking(r *realRun) {
	r.model.On("Think").Reply(clewtest.Thinking("With care.", "c2lnbmF0dXJl"), clewtest.Text("Thought."))
	r.ask("Think first")
	r.want("Thought.")
	blocks := realBlocks[*wire.ThinkingBlock](r)
	if len(blocks) != 1 || blocks[0].Thinking != "With care." || blocks[0].Signature != "c2lnbmF0dXJl" {
		r.t.Errorf("%d blocks of thinking", len(blocks))
	}
}

func realCommand(r *realRun) {
	r.model.On("Run echo").Reply(clewtest.Text("Running."),
		clewtest.ToolUse("Bash", map[string]string{"command": "echo one; echo two >&2", "description": "Echo"}))
	r.model.OnToolResult("one\ntwo").Reply(clewtest.Text("All done."))
	r.args = []string{"--permission-mode", "bypassPermissions"}
	r.ask("Run echo")
	r.want("All done.")
	uses, results := realBlocks[*wire.ToolUseBlock](r), realBlocks[*wire.ToolResultBlock](r)
	if len(uses) != 1 || len(results) != 1 || results[0].ToolUseID != uses[0].ID || results[0].Text() != "one\ntwo" {
		r.t.Errorf("%d uses, %d results", len(uses), len(results))
	}
}

func realWrite(r *realRun) {
	file := filepath.Join(r.t.TempDir(), "note.txt")
	r.model.On("Write").Reply(clewtest.ToolUse("Write", map[string]string{"file_path": file, "content": "noted"}))
	r.model.OnToolResult("").Reply(clewtest.Text("Written."))
	r.ask("Write a note")
	r.want("Written.")
	if n := len(realMessages[*wire.ControlRequestMessage](r)); n != 1 {
		r.t.Errorf("the agent asked %d times", n)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "noted" {
		r.t.Errorf("the file holds %q, %v", data, err)
	}
}

func realInvalidRequest(r *realRun) {
	r.model.On("Fail").Fail(400).Message("scripted bad request")
	r.ask("Fail")
	res := r.result()
	if !res.IsError || res.APIErrorStatus != 400 || !strings.Contains(res.Result, "scripted bad request") || r.code != 1 {
		r.t.Errorf("result %q, status %d, error %t, exit code %d", res.Result, res.APIErrorStatus, res.IsError, r.code)
	}
}

func realOverload(r *realRun) {
	r.model.On("Try").Fail(529).Times(2)
	r.model.On("Try").Reply(clewtest.Text("At last."))
	r.env = []string{"CLAUDE_CODE_MAX_RETRIES=2"}
	r.ask("Try it")
	r.want("At last.")
	retries := realMessages[*wire.APIRetryMessage](r)
	if len(retries) != 2 || retries[0].ErrorStatus != 529 || len(r.model.Requests()) != 3 {
		r.t.Errorf("%d retries, %d requests", len(retries), len(r.model.Requests()))
	}
}

func realCut(r *realRun) {
	r.model.On("Cut").Reply(clewtest.Text("Never whole.")).Cut(4).Once()
	r.model.On("Cut").Reply(clewtest.Text("Whole again."))
	r.env = []string{"CLAUDE_CODE_MAX_RETRIES=2"}
	r.ask("Cut it")
	r.want("Whole again.")
	if n := len(r.model.Requests()); n != 2 {
		r.t.Errorf("%d requests", n)
	}
}

func realNoNetwork(r *realRun) {
	r.model.On("Fetch").Reply(clewtest.ToolUse("WebFetch", map[string]string{"url": "https://example.com/", "prompt": "what"}))
	r.model.OnToolResult("").Reply(clewtest.Text("No page."))
	r.args = []string{"--permission-mode", "bypassPermissions"}
	r.ask("Fetch the page")
	r.want("No page.")
	if results := realBlocks[*wire.ToolResultBlock](r); len(results) != 1 || !results[0].Failed() {
		r.t.Errorf("%d results", len(results))
	}
	var hosts []string
	for _, req := range r.model.AllRequests() {
		if req.Method == http.MethodConnect {
			hosts = append(hosts, req.Host)
		}
	}
	if len(hosts) == 0 {
		r.t.Error("the agent did not ask the model for a connection")
	}
}

// bareArgs turn off tools and thinking.
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

// realSetModel makes the agent try a model. The agent's prompt contains the rule's words.
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

// wantRequests checks how many requests the agent made in the conversation, and how many in the
// background.
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
