package turns_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/wire"
)

// Errors between agent and API fail at most a turn. The session continues.
func TestRealAPIFailures(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	// A failed prompt is still part of the next request, so the last rule comes first.
	model.On("Cut").Reply(clewtest.Text("Never whole.")).ChunkSize(6).Cut(4).Once()
	model.On("Cut").Reply(clewtest.Text("Whole again."))
	model.On("Exhaust").Fail(529)
	model.On("Overload").Fail(529).Once()
	model.On("Overload").Reply(clewtest.Text("At last."))
	model.On("Refuse").Fail(400).Message("scripted bad request")
	opts := options(t, model)
	opts.Env = append(opts.Env, "CLAUDE_CODE_MAX_RETRIES=1")
	s := scene.Connect(t, opts)
	tests := []struct {
		prompt  string
		text    string // of the result, or of the error
		status  int    // of the failure, or 0
		retries int
	}{
		{"Refuse", "scripted bad request", 400, 0},
		{"Overload", "At last.", 0, 1},
		{"Exhaust", "529", 529, 1},
		{"Cut", "Whole again.", 0, 1},
	}
	for _, test := range tests {
		got := read(s.Turn(t.Context(), clew.Text(test.prompt)), nil)
		if test.status == 0 {
			got.wantText(t, test.text)
		} else {
			failed := failure(t, got.err)
			if failed.Result != got.result(t) || failed.Result.APIErrorStatus != test.status || failed.Interrupted() ||
				!strings.Contains(got.err.Error(), test.text) {
				t.Errorf("%s: error %v with result %s", test.prompt, got.err, failed.Result.Raw())
			}
		}
		if retries := scene.Of[*wire.APIRetryMessage](got.messages); len(retries) != test.retries {
			t.Errorf("%s: retries %v", test.prompt, retries)
		}
	}
}

// A failure ends a run with the error and the exit code of the agent.
func TestRealRunFails(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Fail").Fail(400).Message("scripted bad request")
	result, err := clew.Run(t.Context(), "Fail", options(t, model))
	failed := failure(t, err)
	if result == nil || failed.Result != result || failed.Exit == nil || failed.Exit.Code != 1 {
		t.Errorf("result %v, error %v, exit %v", result, err, failed.Exit)
	}
}

func TestRealLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		limit   func(*clew.Options)
		subtype wire.ResultSubtype
	}{
		{"turns", func(o *clew.Options) { o.Limits.MaxTurns = 1 }, wire.ResultErrorMaxTurns},
		{"budget", func(o *clew.Options) { o.Limits.MaxBudgetUSD = 0.000001 }, wire.ResultErrorMaxBudgetUSD},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("Work").Reply(scene.Bash("true"))
			model.Reply("Done.")
			opts := options(t, model)
			test.limit(opts)
			s := scene.Connect(t, opts)
			got := read(s.Turn(t.Context(), clew.Text("Work")), nil)
			if failed := failure(t, got.err); failed.Result.Subtype != test.subtype || failed.Text() == "" {
				t.Errorf("error %v with result %s", got.err, failed.Result.Raw())
			}
			if n := len(model.Requests()); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			ask(t, s, "/cost")
		})
	}
}

// An agent whose model never answers is silent. That ends the session, or the caller decides.
func TestRealIdle(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Hang").Hang()
	opts := options(t, model)
	opts.Limits.IdleTimeout, opts.Limits.CloseTimeout = time.Second, 500*time.Millisecond
	s, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(s.Turn(t.Context(), clew.Text("Hang")), nil); !errors.Is(got.err, clew.ErrIdle) {
		t.Errorf("error %v", got.err)
	}
	if !errors.Is(s.Err(), clew.ErrIdle) {
		t.Errorf("the session's error is %v", s.Err())
	}
	s.Close() //nolint:errcheck // the error says how the agent was ended
	wantGone(t, s.Info().PID)
}

func TestRealOnIdle(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Hang").Hang().Once()
	model.Reply("Fine.")
	opts := options(t, model)
	opts.Limits.IdleTimeout = time.Second
	var s *clew.Session
	var once sync.Once
	opts.Limits.OnIdle = func(silence time.Duration) {
		if silence < opts.Limits.IdleTimeout {
			t.Errorf("called after %v", silence)
		}
		if len(model.Requests()) > 0 { // a slow agent is also silent before it asks
			once.Do(func() { interrupt(t, s) })
		}
	}
	s = scene.Connect(t, opts)
	read(s.Turn(t.Context(), clew.Text("Hang")), nil).wantInterrupted(t, wire.TerminalReasonAbortedStreaming)
	ask(t, s, "Again").wantText(t, "Fine.")
}

func TestRealNotStarted(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := options(t, model)
	opts.AgentPath = filepath.Join(opts.Dir, "claude")
	_, err := clew.Connect(t.Context(), opts)
	if missing, ok := errors.AsType[*clew.NotFoundError](err); !ok || !strings.Contains(missing.Error(), opts.AgentPath) {
		t.Errorf("without an agent: %v", err)
	}

	opts = options(t, model)
	opts.Dir = filepath.Join(opts.Dir, "nowhere")
	_, err = clew.Connect(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), opts.Dir) {
		t.Errorf("without a folder: %v", err)
	}
}

// dot is a picture of one red pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

// Tool results that are not just a line of text.
func TestRealToolOutput(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := options(t, model)
	opts.AllowedTools = []string{"Bash"}
	text := strings.Repeat("0123456789abcdef\n", 2000)
	picture, err := base64.StdEncoding.DecodeString(dot)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"long.txt": text, "dot.png": string(picture)} {
		path := filepath.Join(opts.Dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		model.On("Read " + name).Reply(clewtest.ToolUse("Read", map[string]string{"file_path": path}))
	}
	model.On("Print a lot").Reply(scene.Bash("yes 'a line of output' | head -c 2000000"))
	model.Reply("Done.")
	s := scene.Connect(t, opts)
	t.Run("too long", func(t *testing.T) { testTooLongOutput(t, toolResult(t, s, "Print a lot"), model) })
	t.Run("long", func(t *testing.T) { testLongOutput(t, toolResult(t, s, "Read long.txt"), text) })
	t.Run("picture", func(t *testing.T) { testPicture(t, toolResult(t, s, "Read dot.png")) })
}

// toolResult runs a turn and returns its tool result.
func toolResult(t *testing.T, s *clew.Session, prompt string) *wire.UserMessage {
	t.Helper()
	results := scene.Of[*wire.UserMessage](ask(t, s, prompt).messages)
	if len(results) != 1 {
		t.Fatalf("%d results of tools", len(results))
	}
	return results[0]
}

// Output that is too long for the conversation is cut for the model, and kept in a file.
func testTooLongOutput(t *testing.T, result *wire.UserMessage, model *clewtest.Model) {
	var output struct {
		Path string `json:"persistedOutputPath"`
		Size int64  `json:"persistedOutputSize"`
	}
	if err := result.ToolUseResult.Decode(&output); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(output.Path)
	if err != nil || info.Size() != 2_000_000 || output.Size != 2_000_000 {
		t.Errorf("the output of %d bytes is kept in %q: %v", output.Size, output.Path, err)
	}
	told := model.Requests()[1].ToolResults()[0].Text()
	if len(told) > 100_000 || !strings.Contains(told, output.Path) {
		t.Errorf("the model was told %d bytes", len(told))
	}
}

func testLongOutput(t *testing.T, result *wire.UserMessage, want string) {
	var output struct {
		File struct {
			Content string `json:"content"`
		} `json:"file"`
	}
	if err := result.ToolUseResult.Decode(&output); err != nil || output.File.Content != want {
		t.Errorf("%d bytes of %d came, %v", len(output.File.Content), len(want), err)
	}
}

func testPicture(t *testing.T, result *wire.UserMessage) {
	block, ok := result.Content[0].(*wire.ToolResultBlock)
	if !ok {
		t.Fatalf("result %s", result.Raw())
	}
	blocks, err := block.Blocks()
	if err != nil || len(blocks) == 0 {
		t.Fatalf("result %s, %v", result.Raw(), err)
	}
	image, ok := blocks[0].(*wire.ImageBlock)
	if !ok || image.Source.MediaType != "image/png" || image.Source.Data != dot {
		t.Errorf("result %s", result.Raw())
	}
}

// Files are restored to their state before a prompt.
func TestRealRewindFiles(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := options(t, model)
	opts.AllowedTools, opts.EnableFileCheckpointing = []string{"Write", "Edit"}, true
	path := filepath.Join(opts.Dir, "note.txt")
	model.On("Write").Reply(clewtest.ToolUse("Write", map[string]string{"file_path": path, "content": "one\n"})).Once()
	model.On("Change").Reply(clewtest.ToolUse("Edit", map[string]string{
		"file_path": path, "old_string": "one", "new_string": "two",
	})).Once()
	model.Reply("Done.")
	s := scene.Connect(t, opts)
	ask(t, s, "Write")
	prompt := ask(t, s, "Change").result(t).UserMessageUUID
	wantFile := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("the file has %q, %v, want %q", got, err, want)
		}
	}
	wantFile("two\n")

	want := &clew.FileRewind{CanRewind: true, FilesChanged: []string{path}, Insertions: 1, Deletions: 1}
	preview, err := s.PreviewRewind(t.Context(), prompt)
	if diff := cmp.Diff(want, preview); err != nil || diff != "" {
		t.Errorf("preview: %v (-want +got):\n%s", err, diff)
	}
	wantFile("two\n")
	if rewind, err := s.RewindFiles(t.Context(), prompt); err != nil || !rewind.CanRewind {
		t.Errorf("rewind %+v, %v", rewind, err)
	}
	wantFile("one\n")
}
