package turns_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/wire"
)

// A new model answers from the next turn on.
func TestRealChangeModel(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.Reply("Yes.")
	s := scene.Connect(t, options(t, model))
	first := ask(t, s, "First")
	name, err := s.SetModel(t.Context(), "sonnet")
	if err != nil || !strings.HasPrefix(name, "claude-sonnet-") {
		t.Fatalf("model %q, %v", name, err)
	}
	second := ask(t, s, "Second")
	if _, err := s.SetModel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	third := ask(t, s, "Third")
	usual := scene.Of[*wire.InitMessage](first.messages)[0].Model
	for i, want := range []string{usual, name, usual} {
		turn := []*outcome{first, second, third}[i]
		if got := scene.Of[*wire.InitMessage](turn.messages)[0].Model; got != want || model.Requests()[i].Model != want {
			t.Errorf("turn %d: %q begins, %q is asked, want %q", i, got, model.Requests()[i].Model, want)
		}
	}
}

// A new permission mode applies from the next tool call, in the middle of a turn.
func TestRealChangeMode(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := options(t, model)
	opts.AllowedTools = []string{"Bash"}
	path := filepath.Join(opts.Dir, "note.txt")
	model.On("Note").Reply(scene.Bash(untilGo)).Once()
	model.OnToolResult("no output").Reply(clewtest.ToolUse("Write", map[string]string{
		"file_path": path, "content": "noted",
	}))
	model.Reply("Done.")
	s := scene.Connect(t, opts)
	got := read(s.Turn(t.Context(), clew.Text("Note")), on(func(*wire.AssistantMessage) {
		if err := s.SetPermissionMode(t.Context(), wire.PermissionModeAcceptEdits); err != nil {
			t.Error(err)
		}
		writeFile(t, opts.Dir, "go")
	}))
	got.wantText(t, "Done.")
	if text, err := os.ReadFile(path); err != nil || string(text) != "noted" {
		t.Errorf("the file has %q, %v", text, err)
	}
	before := scene.Of[*wire.InitMessage](got.messages)[0].PermissionMode
	after := scene.Of[*wire.InitMessage](ask(t, s, "And now?").messages)[0].PermissionMode
	if before != wire.PermissionModeDefault || after != wire.PermissionModeAcceptEdits {
		t.Errorf("the mode was %q and is %q", before, after)
	}
}

// Requests that are newer than this package, and so have no method, can be made anyway.
func TestRealRawControl(t *testing.T) {
	t.Parallel()
	s := scene.Connect(t, options(t, clewtest.NewModel(t)))
	var answer struct {
		Version string `json:"version"`
	}
	err := s.Control(t.Context(), "get_binary_version", nil, &answer)
	if err != nil || answer.Version != clewtest.AgentVersion {
		t.Errorf("version %q, %v", answer.Version, err)
	}
	err = s.Control(t.Context(), "no_such_request", map[string]int{"x": 1}, nil)
	refused, ok := errors.AsType[*clew.ControlError](err)
	if !ok || !refused.Unsupported() || refused.Subtype != "no_such_request" {
		t.Errorf("error %v", err)
	}
}

// Commands run in one session. /clear comes last.
func TestRealCommands(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("CRITICAL: Respond with TEXT ONLY").Reply(clewtest.Text("<summary>\nTalked about words.\n</summary>"))
	model.Reply("Yes.")
	s := scene.Connect(t, options(t, model))
	ask(t, s, "First words")
	t.Run("cost", func(t *testing.T) { testLocalCommand(t, s, "cost", "Estimated cost:") })
	t.Run("context", func(t *testing.T) { testLocalCommand(t, s, "context", "Context Usage") })
	if n := len(model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	t.Run("compact", func(t *testing.T) { testCompact(t, s, model) })
	t.Run("clear", func(t *testing.T) { testClear(t, s, model) })
}

// After some turns, commands report more than after one: which messages a compaction has kept.
func TestCommandsAfterFourTurns(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("CRITICAL: Respond with TEXT ONLY").Reply(clewtest.Text("<summary>\nTalked about words.\n</summary>"))
	model.Reply("Yes.")
	s := scene.Connect(t, options(t, model))
	for _, prompt := range []string{"One", "Two", "Three", "Four"} {
		ask(t, s, prompt)
	}
	said := scene.Of[*wire.AssistantMessage](ask(t, s, "/context").messages)
	if len(said) != 1 || said[0].LocalCommandRun == nil || said[0].LocalCommandRun.Command != "context" || said[0].LocalCommandSource == "" {
		t.Errorf("/context says %v", said)
	}
	if n := len(scene.Of[*wire.CompactBoundaryMessage](ask(t, s, "/compact").messages)); n != 1 {
		t.Errorf("%d compactions", n)
	}
}

// A command that needs no model is a turn like any other: its result names the prompt.
func testLocalCommand(t *testing.T, s *clew.Session, command, words string) {
	got := ask(t, s, "/"+command)
	result := got.result(t)
	if result.LocalCommand != command || !strings.Contains(result.Result, words) {
		t.Errorf("result %s", result.Raw())
	}
	states := scene.Of[*wire.CommandLifecycleMessage](got.messages)
	started := states[len(states)-1].CommandUUID
	if diff := cmp.Diff([]string{started}, result.UserMessageUUIDs); diff != "" {
		t.Errorf("the prompts of the result (-want +got):\n%s", diff)
	}
}

func testCompact(t *testing.T, s *clew.Session, model *clewtest.Model) {
	id := s.ID()
	got := ask(t, s, "/compact")
	boundaries := scene.Of[*wire.CompactBoundaryMessage](got.messages)
	if len(boundaries) != 1 || boundaries[0].Metadata.Trigger != wire.CompactTriggerManual {
		t.Errorf("boundaries %v", boundaries)
	}
	states := scene.Of[*wire.StatusMessage](got.messages)
	if len(states) != 2 || states[0].Status != wire.SessionStatusCompacting || states[1].CompactResult != "success" {
		t.Errorf("states %v", states)
	}
	ask(t, s, "Second words")
	said := newestTexts(model)
	if strings.Contains(said, "First words") || !strings.Contains(said, "Talked about words.") {
		t.Errorf("after that the model was told %q", said)
	}
	if s.ID() != id {
		t.Error("the session has another id")
	}
}

func testClear(t *testing.T, s *clew.Session, model *clewtest.Model) {
	old := s.ID()
	got := ask(t, s, "/clear")
	resets := scene.Of[*wire.ConversationResetMessage](got.messages)
	if len(resets) != 1 || resets[0].Trigger != wire.ResetTriggerClear || resets[0].SessionID != old {
		t.Errorf("resets %v", resets)
	}
	if id := got.result(t).SessionID; id == old || s.ID() != id {
		t.Errorf("the session is %q, the result says %q, before it was %q", s.ID(), id, old)
	}
	ask(t, s, "Third words")
	if said := newestTexts(model); strings.Contains(said, "Second words") || !strings.Contains(said, "Third words") {
		t.Errorf("after that the model was told %q", said)
	}
	if !strings.Contains(readTranscript(t, model, s.ID()), "Third words") {
		t.Error("what was said is not in the transcript of the new session")
	}
}

// newestTexts returns the texts of the user and of the model in the newest request.
func newestTexts(model *clewtest.Model) string {
	requests := model.Requests()
	return strings.Join(scene.Said(requests[len(requests)-1]), "\n")
}

// A session in a directory with an unusual name is found again.
func TestRealFolderName(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := options(t, model)
	opts.Dir = filepath.Join(opts.Dir, "mein Ordner – 資料 'x'")
	if err := os.Mkdir(opts.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	opts.AllowedTools = []string{"Bash"}
	model.On("Where").Reply(scene.Bash("pwd"))
	model.OnToolResult(opts.Dir).Reply(clewtest.Text("Here."))
	s := scene.Connect(t, opts)
	got := ask(t, s, "Where")
	got.wantText(t, "Here.")
	if dir := scene.Of[*wire.InitMessage](got.messages)[0].CWD; dir != opts.Dir {
		t.Errorf("the agent is in %q, want %q", dir, opts.Dir)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	opts.Session.Continue = true
	ask(t, scene.Connect(t, opts), "Where")
	if diff := cmp.Diff([]string{"Where", "Here.", "Where"}, scene.Said(model.Requests()[2])); diff != "" {
		t.Errorf("the session that goes on (-want +got):\n%s", diff)
	}
}

// Another program can start the agent: Wrap changes the command, and everything else stays the
// same.
func TestRealWrap(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs the programs of Unix")
	}
	tests := []struct {
		name string
		argv []string
	}{
		{"env", []string{"env", "WRAPPED=yes"}},
		{"sh", []string{"sh", "-c", `WRAPPED=yes exec "$0" "$@"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("Look").Reply(scene.Bash("echo $WRAPPED in $PWD"))
			opts := options(t, model)
			model.OnToolResult("yes in " + opts.Dir).Reply(clewtest.Text("Wrapped."))
			opts.AllowedTools = []string{"Bash"}
			opts.Transport = &clew.ProcessTransport{Wrap: func(l *clew.Launch) error {
				path, err := exec.LookPath(test.argv[0])
				l.Args = append(append(test.argv[1:], l.Path), l.Args...)
				l.Path = path
				return err
			}}
			s := scene.Connect(t, opts)
			ask(t, s, "Look").wantText(t, "Wrapped.")
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			wantGone(t, s.Info().PID)
		})
	}
}

func TestRealWrapFails(t *testing.T) {
	t.Parallel()
	opts := options(t, clewtest.NewModel(t))
	full := errors.New("no room in the container")
	opts.Transport = &clew.ProcessTransport{Wrap: func(*clew.Launch) error { return full }}
	if _, err := clew.Connect(t.Context(), opts); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}
