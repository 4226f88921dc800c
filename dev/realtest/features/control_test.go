package features_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A controlled is a session with Claude Code that control requests are tried on.
type controlled struct {
	*clew.Session
	model *clewtest.Model
	// dir is the project, with symbolic links followed.
	dir string
}

// Every control request goes to the same session, after a first turn; the order of the parts does
// not matter, except that the last one moves the session.
func TestRealControl(t *testing.T) {
	t.Parallel()
	s := connectControlled(t)
	first := s.turn(t, "Write a note")
	t.Run("info", func(t *testing.T) { s.testInfo(t) })
	t.Run("interrupt", func(t *testing.T) { s.testInterrupt(t) })
	t.Run("model and mode", func(t *testing.T) { s.testModel(t) })
	t.Run("thinking", func(t *testing.T) { s.testThinking(t) })
	t.Run("settings", func(t *testing.T) { s.testSettings(t) })
	t.Run("hooks and rules", func(t *testing.T) { s.testRules(t) })
	t.Run("context", func(t *testing.T) { s.testContext(t) })
	t.Run("usage", func(t *testing.T) { s.testUsage(t) })
	t.Run("servers", func(t *testing.T) { s.testServers(t) })
	t.Run("tasks", func(t *testing.T) { s.testTasks(t) })
	t.Run("files", func(t *testing.T) { s.testFiles(t) })
	t.Run("rewind", func(t *testing.T) { s.testRewind(t, first) })
	t.Run("session", func(t *testing.T) { s.testSession(t) })
	t.Run("questions aside", func(t *testing.T) { s.testAside(t) })
	t.Run("reload", func(t *testing.T) { s.testReload(t) })
	t.Run("folders", func(t *testing.T) { s.testFolders(t) })
}

func connectControlled(t *testing.T) *controlled {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeProject(t, dir)
	model := clewtest.NewModel(t)
	model.On("Write a note").Reply(clewtest.ToolUse("Write", map[string]string{
		"file_path": filepath.Join(dir, "note.txt"), "content": "noted\n",
	}))
	model.On("Serve").Reply(clewtest.ToolUse("Bash", map[string]any{
		"command": "echo serving; sleep 60", "description": "Serve", "run_in_background": true,
	}))
	model.On("Build").Reply(clewtest.ToolUse("Bash", map[string]any{
		"command": "echo building; sleep 60", "description": "Build",
	}))
	model.OnToolResult("").Reply(clewtest.Text("Done."))
	model.On("Think").Reply(clewtest.Text("Yes."))
	// The prompt of an interrupted turn is still part of the next one: this rule comes after the
	// others.
	model.On("Wait for ever").Hang()
	model.Reply("Yes.")
	s, err := clew.Connect(t.Context(), over(t, model, &clew.Options{
		Dir: dir, AllowedTools: []string{"Write", "Bash"}, EnableFileCheckpointing: true,
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &controlled{s, model, dir}
}

// writeProject makes a project with a memory file, a subagent, a skill, and settings with a rule
// and a hook.
func writeProject(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"CLAUDE.md":                     "Be kind.\n",
		"notes.txt":                     "one\ntwo\n",
		"sub/go.mod":                    "module sub\n",
		".claude/agents/helper.md":      "---\nname: helper\ndescription: helps\n---\nHelp.\n",
		".claude/skills/hello/SKILL.md": "---\nname: hello\ndescription: says hello\n---\nSay hello.\n",
		".claude/settings.json": `{"permissions":{"deny":["Read(./secret)"]},"hooks":{"PreToolUse":` +
			`[{"matcher":"Grep","hooks":[{"type":"command","command":"true","timeout":5}]}]}}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// turn runs a turn to its end and returns the UUID of its prompt.
func (s *controlled) turn(t *testing.T, prompt string) string {
	t.Helper()
	var uuid string
	for msg, err := range s.Turn(t.Context(), clew.Text(prompt)) {
		if err != nil {
			t.Fatal(err)
		}
		if msg, ok := msg.(*wire.AssistantMessage); ok && uuid == "" {
			uuid = msg.UserMessageUUID
		}
	}
	return uuid
}

// must returns the first of a call's two results, or ends the test.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantRefused checks that the agent refused a request, with words.
func wantRefused(t *testing.T, err error, words string) {
	t.Helper()
	var refused *clew.ControlError
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, words) {
		t.Errorf("error %v, want a refusal with %q", err, words)
	}
}

func (s *controlled) testInfo(t *testing.T) {
	info := s.Info()
	if info.Version != clewtest.AgentVersion || info.PID == 0 || info.Account.APIProvider != "firstParty" ||
		info.CurrentPermissionMode != wire.PermissionModeDefault || !info.Supports("reload_plugins_refuse_if_busy_v1") {
		t.Errorf("info %s", info.Raw())
	}
	if !slices.ContainsFunc(info.Agents, func(a clew.AgentInfo) bool { return a.Name == "helper" }) {
		t.Errorf("agents %+v", info.Agents)
	}
	models := must(s.Models(t.Context()))(t)
	if len(models) == 0 || models[0].Value != "default" || models[0].ResolvedModel == "" ||
		!slices.Contains(models[0].SupportedEffortLevels, wire.EffortHigh) {
		t.Errorf("models %+v", models)
	}
}

func (s *controlled) testInterrupt(t *testing.T) {
	var result *wire.ResultMessage
	for msg, err := range s.Turn(t.Context(), clew.Text("Wait for ever")) {
		switch msg := msg.(type) {
		case *wire.InitMessage:
			must(s.Interrupt(t.Context(), nil))(t)
		case *wire.ResultMessage:
			result = msg
		}
		var failed *clew.ResultError
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
	}
	if result == nil || !result.IsError {
		t.Errorf("the turn was not interrupted: %v", result)
	}
	receipt := must(s.Interrupt(t.Context(), &clew.InterruptOptions{CancelQueued: true}))(t)
	if diff := cmp.Diff(&clew.InterruptReceipt{StillQueued: []string{}, Canceled: []string{}}, receipt); diff != "" {
		t.Errorf("nothing to interrupt (-want +got):\n%s", diff)
	}
	if must(s.CancelPrompt(t.Context(), "7cb18dcc-06c9-4dfa-bd34-35be9a182d60"))(t) {
		t.Error("a prompt that was never sent was cancelled")
	}
}

func (s *controlled) testModel(t *testing.T) {
	if got := must(s.SetModel(t.Context(), "sonnet"))(t); !strings.HasPrefix(got, "claude-sonnet-") {
		t.Errorf("model %q", got)
	}
	if got := must(s.SetModel(t.Context(), ""))(t); strings.HasPrefix(got, "claude-sonnet-") || got == "" {
		t.Errorf("model after a reset %q", got)
	}
	if err := s.SetPermissionMode(t.Context(), wire.PermissionModePlan); err != nil {
		t.Error(err)
	}
	if err := s.SetPermissionMode(t.Context(), wire.PermissionModeDefault); err != nil {
		t.Error(err)
	}
	wantRefused(t, s.SetPermissionMode(t.Context(), "nonsense"), "must be one of")
	wantRefused(t, s.SetPermissionMode(t.Context(), wire.PermissionModeBypassPermissions), "not launched with")
}

func TestRealQuery(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Hello.")
	k := query(t, model, "Greet me", nil)
	if init := only(t, of[*wire.InitMessage](k)); init.Version != clewtest.AgentVersion {
		t.Errorf("init %s", init.Raw())
	}
	if got := k.answer().Text(); got != "Hello." || k.result.Result != got {
		t.Errorf("answer %q, result %q", got, k.result.Result)
	}
	if got := newest(model).Prompt(); got != "Greet me" {
		t.Errorf("prompt %q", got)
	}
}

func TestRealRun(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Greet me").Reply(clewtest.Text("Hello.")).Usage(100, 42, 300, 20)
	result, err := clew.Run(t.Context(), "Greet me", over(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	if result.Result != "Hello." || result.IsError || result.NumTurns != 1 || result.TotalCostUSD <= 0 ||
		result.Usage.OutputTokens != 42 {
		t.Errorf("result %s", result.Raw())
	}
}

func TestRealTurns(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("First").Reply(clewtest.Text("One."))
	model.On("Second").Reply(clewtest.Text("Two."))
	s := connect(t, model, nil)
	first, second := ask(t, s, "First").result, ask(t, s, "Second").result
	if first.Result != "One." || second.Result != "Two." {
		t.Errorf("results %q, %q", first.Result, second.Result)
	}
	if s.ID() == "" || s.ID() != first.SessionID || s.ID() != second.SessionID {
		t.Errorf("session %q, results of %q and %q", s.ID(), first.SessionID, second.SessionID)
	}
	wantText(t, "the second request", string(newest(model).Body), "One.")
}

func TestRealPartialMessages(t *testing.T) {
	t.Parallel()
	const answer = "An answer that comes in pieces, the one after the other."
	model := clewtest.NewModel(t)
	model.On("Tell me").Reply(clewtest.Text(answer)).ChunkSize(7)
	k := query(t, model, "Tell me", &clew.Options{IncludePartialMessages: true})
	var deltas, shown string
	var collector wire.Collector
	for _, msg := range k.messages {
		shown += collector.Add(msg)
	}
	for _, msg := range of[*wire.StreamEventMessage](k) {
		if delta, ok := msg.Event.(*wire.TextDeltaEvent); ok {
			deltas += delta.Text
		}
	}
	if deltas != answer || shown != answer || collector.Text() != answer {
		t.Errorf("deltas %q, shown %q, text %q", deltas, shown, collector.Text())
	}
}

func TestRealThinking(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Think").Reply(clewtest.Thinking("Let me see.", "c2lnbmF0dXJl"), clewtest.Text("I see."))
	k := query(t, model, "Think", nil)
	blocks := k.answer()
	if len(blocks) != 2 || k.result.Result != "I see." {
		t.Fatalf("%d blocks, result %q", len(blocks), k.result.Result)
	}
	thinking, ok := blocks[0].(*wire.ThinkingBlock)
	if !ok || thinking.Thinking != "Let me see." || thinking.Signature != "c2lnbmF0dXJl" {
		t.Errorf("first block %s", blocks[0].Raw())
	}
}

func TestRealControlDialogs(t *testing.T) {
	t.Parallel()
	s := connectControlled(t)
	for _, subtype := range []string{"get_hooks_listing", "get_memory_dialog", "get_workspace_diff"} { // package screens names them
		if err := s.Control(t.Context(), subtype, nil, nil); err != nil {
			t.Errorf("%s: %v", subtype, err)
		}
	}
	wantRefused(t, s.Control(t.Context(), "get_chrome_browsers", nil, nil), "not connected")
	wantRefused(t, s.Control(t.Context(), "select_chrome_browser", nil, nil), "not connected")
	wantRefused(t, s.Control(t.Context(), "set_chrome_browser_hints", nil, nil), "remote-hosted")
}

// Requests that would leave the machine are refused here, and nothing is sent.
func TestRealControlOutside(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	s := connect(t, model, nil)
	enabled := map[string]bool{"enabled": true}
	wantRefused(t, s.Control(t.Context(), "remote_control", enabled, nil), "Remote Control is only available")
	enabled["enabled"] = false
	if err := s.Control(t.Context(), "remote_control", enabled, nil); err != nil {
		t.Error(err)
	}
	wantRefused(t, s.EnableChannel(t.Context(), "nobody"), "not connected")
	for _, subtype := range []string{"submit_feedback", "submit_survey_feedback"} {
		var receipt struct {
			ID     string `json:"feedback_id"`
			Reason string `json:"unavailable_reason"`
		}
		if err := s.Control(t.Context(), subtype, nil, &receipt); err != nil || receipt.ID != "" || receipt.Reason == "" {
			t.Errorf("%s: %+v, %v", subtype, receipt, err)
		}
	}
	var launch struct {
		Status      string `json:"status"`
		GateBlocker string `json:"gate_blocker"`
	}
	err := s.Control(t.Context(), "ultrareview_launch", nil, &launch)
	if err != nil || launch.Status != "error" || launch.GateBlocker == "" {
		t.Errorf("ultrareview %+v, %v", launch, err)
	}
	wantRefused(t, s.RateMessage(t.Context(), nil), "must be")
	rating := &clew.MessageRating{MessageUUID: "u", Sentiment: "positive", Surface: "assistant_text"}
	if err := s.RateMessage(t.Context(), rating); err != nil {
		t.Error(err)
	}
	for _, request := range model.AllRequests() {
		t.Errorf("a request to %s", request.Host)
	}
}

func TestRealRewindConversation(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Yes.")
	s := &controlled{Session: connect(t, model, &clew.Options{PromptSuggestions: true}), model: model}
	if err := s.SetPromptSuggestions(t.Context(), false); err != nil {
		t.Error(err)
	}
	if err := s.Control(t.Context(), "set_has_subscribers", map[string]any{"has_subscribers": nil}, nil); err != nil {
		t.Error(err)
	}
	prompt := s.turn(t, "Hello")
	if got := must(s.RewindConversation(t.Context(), "nobody"))(t); got.Rewound || got.Reason != "target_not_found" {
		t.Errorf("no such prompt: %+v", got)
	}
	if got := must(s.RewindConversation(t.Context(), prompt))(t); !got.Rewound || got.Prompt != "Hello" {
		t.Errorf("rewind %+v", got)
	}
	other := &clew.RenameOptions{SessionID: "another"}
	wantRefused(t, s.Rename(t.Context(), "A name", other), "not the current session")
	same := &clew.RenameOptions{Source: "remote", SessionID: s.ID()}
	if err := s.Rename(t.Context(), "A name", same); err != nil {
		t.Error(err)
	}
}
