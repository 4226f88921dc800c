package features_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

func (s *controlled) testTasks(t *testing.T) {
	var task string
	for msg, err := range s.Turn(t.Context(), "Serve") {
		if err != nil {
			t.Fatal(err)
		}
		if msg, ok := msg.(*wire.TaskStartedMessage); ok {
			task = msg.TaskID
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	output := must(s.TaskOutput(ctx, task))(t)
	for output.TotalBytes == 0 { // the command has only just begun
		output = must(s.TaskOutput(ctx, task))(t)
	}
	if diff := cmp.Diff(&clew.TaskOutput{Output: "serving\n", TotalBytes: 8}, output); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	_, err := s.TaskOutput(t.Context(), "nobody")
	wantRefused(t, err, "no shell or Monitor task")
	if err := s.StopTask(t.Context(), task); err != nil {
		t.Error(err)
	}

	var moved bool
	for msg, err := range s.Turn(t.Context(), "Build") {
		if err != nil {
			t.Fatal(err)
		}
		if msg, ok := msg.(*wire.TaskStartedMessage); ok {
			task, moved = msg.TaskID, must(s.BackgroundTask(t.Context(), msg.ToolUseID))(t)
		}
	}
	if !moved {
		t.Error("the task was not moved to the background")
	}
	if must(s.BackgroundTask(t.Context(), "nobody"))(t) {
		t.Error("a task that is not there was moved to the background")
	}
	if err := s.BackgroundTasks(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.StopTask(t.Context(), task); err != nil {
		t.Error(err)
	}
}

func (s *controlled) testFiles(t *testing.T) {
	notes := filepath.Join(s.dir, "notes.txt")
	got := must(s.ReadFile(t.Context(), "notes.txt", 0))(t)
	if diff := cmp.Diff(&clew.FileContents{Path: notes, Data: []byte("one\ntwo\n")}, got); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	got = must(s.ReadFile(t.Context(), notes, 3))(t)
	if diff := cmp.Diff(&clew.FileContents{Path: notes, Data: []byte("one"), Truncated: true}, got); diff != "" {
		t.Errorf("start of the file (-want +got):\n%s", diff)
	}
	_, err := s.ReadFile(t.Context(), "nothing.txt", 0)
	wantRefused(t, err, "read denied")

	if err := s.SeedReadState(t.Context(), notes, time.Now()); err != nil {
		t.Error(err)
	}
	files := must(s.FileSuggestions(t.Context(), ""))(t)
	if !slices.Contains(files.Suggestions, clew.FileSuggestion{Path: "CLAUDE.md"}) || files.CWD != s.dir {
		t.Errorf("suggestions %+v", files)
	}
}

// first is the prompt that made the agent write a file.
func (s *controlled) testRewind(t *testing.T, first string) {
	note := filepath.Join(s.dir, "note.txt")
	preview := must(s.PreviewRewind(t.Context(), first))(t)
	want := &clew.FileRewind{CanRewind: true, FilesChanged: []string{note}, Deletions: 1}
	if diff := cmp.Diff(want, preview); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
	if rewind := must(s.RewindFiles(t.Context(), first))(t); !rewind.CanRewind {
		t.Errorf("rewind %+v", rewind)
	}
	if _, err := os.Stat(note); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}

	const never = "7cb18dcc-06c9-4dfa-bd34-35be9a182d60"
	if preview := must(s.PreviewRewind(t.Context(), never))(t); preview.CanRewind || preview.Error == "" {
		t.Errorf("preview without a prompt %+v", preview)
	}
	_, err := s.RewindFiles(t.Context(), never)
	wantRefused(t, err, "No file checkpoint")
}

func (s *controlled) testSession(t *testing.T) {
	if err := s.Rename(t.Context(), "A new name"); err != nil {
		t.Error(err)
	}
	wantRefused(t, s.Rename(t.Context(), ""), "non-empty")
	if got := must(s.GenerateTitle(t.Context(), "Write tests"))(t); got != "A new name" {
		t.Errorf("title %q", got)
	}
	s.model.When(func(r *clewtest.Request) bool { return r.Background() }).Reply(clewtest.Text(`{"title":"Tests"}`)).Once()
	if got := must(s.SuggestTitle(t.Context(), "Write tests"))(t); got != "Tests" {
		t.Errorf("suggested title %q", got)
	}
	var refused *clew.ControlError
	if err := s.SetColor(t.Context(), "red"); !errors.As(err, &refused) || !refused.Unsupported() {
		t.Errorf("color: %v", err)
	}
	for _, watched := range []bool{false, true} {
		if err := s.SetHasSubscribers(t.Context(), watched); err != nil {
			t.Error(err)
		}
	}
	export := must(s.ExportConversation(t.Context()))(t)
	if !strings.Contains(export.Text, "Write a note") || !strings.HasSuffix(export.DefaultFilename, ".txt") {
		t.Errorf("export %+v", export)
	}
	if plan := must(s.Plan(t.Context()))(t); plan.Exists {
		t.Errorf("plan %+v", plan)
	}
}

func (s *controlled) testAside(t *testing.T) {
	answer := must(s.SideQuestion(t.Context(), "Is it good?"))(t)
	if diff := cmp.Diff(&clew.SideAnswer{Response: "Yes."}, answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	must(s.SideQuestion(t.Context(), "Why?", clew.SideExchange{Question: "Is it good?", Response: "Yes."}))(t)
	requests := s.model.Requests()
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, "Is it good?") {
		t.Errorf("the model was not told of the first question: %s", body)
	}
}

func (s *controlled) testReload(t *testing.T) {
	reload := must(s.ReloadPlugins(t.Context(), nil))(t)
	if len(reload.Commands) == 0 || len(reload.Plugins) == 0 || reload.Held != nil ||
		!slices.Contains(reload.Agents, clew.AgentInfo{Name: "helper", Description: "helps"}) {
		t.Errorf("reload %+v", reload)
	}
	plugin := filepath.Join(t.TempDir(), "greetings")
	writePlugin(t, plugin)
	reload = must(s.ReloadPlugins(t.Context(), &clew.ReloadPluginsOptions{
		HoldOnCacheImpact: true, AddPlugins: []clew.PluginConfig{{Path: plugin}},
	}))(t)
	if reload.Held == nil || *reload.Held ||
		!slices.ContainsFunc(reload.Plugins, func(p wire.Plugin) bool { return p.Name == "greetings" }) {
		t.Errorf("reload with a plugin %+v", reload)
	}
	skills := must(s.ReloadSkills(t.Context()))(t)
	if !slices.ContainsFunc(skills, func(c wire.SlashCommand) bool { return c.Name == "hello" }) {
		t.Errorf("skills %+v", skills)
	}
	if styles := must(s.ReloadOutputStyles(t.Context()))(t); !slices.Contains(styles, "Explanatory") {
		t.Errorf("styles %q", styles)
	}
}

func writePlugin(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, ".claude-plugin"), 0o700); err != nil {
		t.Fatal(err)
	}
	manifest := []byte(`{"name":"greetings","version":"1.0.0","description":"greets"}`)
	if err := os.WriteFile(filepath.Join(dir, ".claude-plugin", "plugin.json"), manifest, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *controlled) testFolders(t *testing.T) {
	sub := filepath.Join(s.dir, "sub")
	root := must(s.RegisterRepoRoot(t.Context(), sub, &clew.RepoRootOptions{ReloadSkills: true}))(t)
	if root != sub {
		t.Errorf("root %q", root)
	}
	_, err := s.RegisterRepoRoot(t.Context(), sub, nil)
	wantRefused(t, err, "already")

	change := must(s.SetCWD(t.Context(), s.dir))(t)
	if diff := cmp.Diff(&clew.CWDChange{CWD: s.dir, TranscriptRelocated: true}, change); diff != "" {
		t.Errorf("the same folder (-want +got):\n%s", diff)
	}
	_, err = s.SetCWD(t.Context(), filepath.Join(s.dir, "notes.txt"))
	wantRefused(t, err, "not a directory")
	_, err = s.SetCWD(t.Context(), sub)
	var untrusted *clew.UntrustedError
	if !errors.As(err, &untrusted) || untrusted.Directory != sub {
		t.Fatalf("error %v", err)
	}
	change = must(s.SetTrustedCWD(t.Context(), sub, untrusted.Directory))(t)
	if diff := cmp.Diff(&clew.CWDChange{CWD: sub, Changed: true, TranscriptRelocated: true}, change); diff != "" {
		t.Errorf("another folder (-want +got):\n%s", diff)
	}
}
