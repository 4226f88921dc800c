package turns_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A new model answers from the next turn on.
func TestRealChangeModel(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.Reply("Yes.")
	s := turnsConnect(t, turnsOptions(t, model))
	first := turnsAsk(t, s, "First")
	name, err := s.SetModel(t.Context(), "sonnet")
	if err != nil || !strings.HasPrefix(name, "claude-sonnet-") {
		t.Fatalf("model %q, %v", name, err)
	}
	second := turnsAsk(t, s, "Second")
	if _, err := s.SetModel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	third := turnsAsk(t, s, "Third")
	usual := turnsOf[*wire.InitMessage](first.messages)[0].Model
	for i, want := range []string{usual, name, usual} {
		turn := []*turnsOutcome{first, second, third}[i]
		if got := turnsOf[*wire.InitMessage](turn.messages)[0].Model; got != want || model.Requests()[i].Model != want {
			t.Errorf("turn %d: %q begins, %q is asked, want %q", i, got, model.Requests()[i].Model, want)
		}
	}
}

// A new permission mode counts from the next tool on, in the middle of a turn.
func TestRealChangeMode(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := turnsOptions(t, model)
	opts.AllowedTools = []string{"Bash"}
	path := filepath.Join(opts.Dir, "note.txt")
	model.On("Note").Reply(turnsBash(turnsUntilGo)).Once()
	model.OnToolResult("no output").Reply(clewtest.ToolUse("Write", map[string]string{
		"file_path": path, "content": "noted",
	}))
	model.Reply("Done.")
	s := turnsConnect(t, opts)
	got := turnsRead(s.Turn(t.Context(), "Note"), turnsOn(func(*wire.AssistantMessage) {
		if err := s.SetPermissionMode(t.Context(), wire.PermissionModeAcceptEdits); err != nil {
			t.Error(err)
		}
		turnsWriteFile(t, opts.Dir, "go")
	}))
	got.wantText(t, "Done.")
	if text, err := os.ReadFile(path); err != nil || string(text) != "noted" {
		t.Errorf("the file has %q, %v", text, err)
	}
	before := turnsOf[*wire.InitMessage](got.messages)[0].PermissionMode
	after := turnsOf[*wire.InitMessage](turnsAsk(t, s, "And now?").messages)[0].PermissionMode
	if before != wire.PermissionModeDefault || after != wire.PermissionModeAcceptEdits {
		t.Errorf("the mode was %q and is %q", before, after)
	}
}

// Requests that have no method, because they are newer than this package, can be made all the same.
func TestRealRawControl(t *testing.T) {
	t.Parallel()
	s := turnsConnect(t, turnsOptions(t, clewtest.NewModel(t)))
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
