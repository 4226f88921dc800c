package turns_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// turnsDot is a picture of one red pixel.
const turnsDot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

// Results of tools that are not just a line of text.
func TestRealToolOutput(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := turnsOptions(t, model)
	opts.AllowedTools = []string{"Bash"}
	text := strings.Repeat("0123456789abcdef\n", 2000)
	picture, err := base64.StdEncoding.DecodeString(turnsDot)
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
	model.On("Print a lot").Reply(turnsBash("yes 'a line of output' | head -c 2000000"))
	model.Reply("Done.")
	s := turnsConnect(t, opts)
	t.Run("too long", func(t *testing.T) { testTooLongOutput(t, turnsToolResult(t, s, "Print a lot"), model) })
	t.Run("long", func(t *testing.T) { testLongOutput(t, turnsToolResult(t, s, "Read long.txt"), text) })
	t.Run("picture", func(t *testing.T) { testPicture(t, turnsToolResult(t, s, "Read dot.png")) })
}

// turnsToolResult runs a turn and returns the result of its tool.
func turnsToolResult(t *testing.T, s *clew.Session, prompt string) *wire.UserMessage {
	t.Helper()
	results := turnsOf[*wire.UserMessage](turnsAsk(t, s, prompt).messages)
	if len(results) != 1 {
		t.Fatalf("%d results of tools", len(results))
	}
	return results[0]
}

// What is too long for the conversation is cut for the model and kept in a file.
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
	if !ok || image.Source.MediaType != "image/png" || image.Source.Data != turnsDot {
		t.Errorf("result %s", result.Raw())
	}
}

// Files go back to what they were before a prompt.
func TestRealRewindFiles(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := turnsOptions(t, model)
	opts.AllowedTools, opts.EnableFileCheckpointing = []string{"Write", "Edit"}, true
	path := filepath.Join(opts.Dir, "note.txt")
	model.On("Write").Reply(clewtest.ToolUse("Write", map[string]string{"file_path": path, "content": "one\n"})).Once()
	model.On("Change").Reply(clewtest.ToolUse("Edit", map[string]string{
		"file_path": path, "old_string": "one", "new_string": "two",
	})).Once()
	model.Reply("Done.")
	s := turnsConnect(t, opts)
	turnsAsk(t, s, "Write")
	prompt := turnsAsk(t, s, "Change").result(t).UserMessageUUID
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
