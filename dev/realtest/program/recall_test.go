package program_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// recallTool is the name that the agent gives to the tool of the plugin's server.
const recallTool = "mcp__plugin_recall_clew__search"

// clewInPath returns a directory in which this program is clew.
func clewInPath(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "clew")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An agent with the plugin finds text from an earlier session, after the usual question. It finds
// neither the asking session nor a tool result.
func TestRealRecallPlugin(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the agent starts a program by another name there")
	}
	model := clewtest.NewModel(t)
	dir := scene.Dir(t)
	model.On("Which port").Reply(scene.Bash("echo planted port 9999")).Once()
	model.OnToolResult("planted").Reply(clewtest.Text("I picked 8447 for the staging proxy.")).Once()
	past := scene.Connect(t, scene.Options(t, model, &clew.Options{
		Dir: dir, AllowedTools: []string{"Bash"},
	}))
	scene.Ask(t, past, "Which port should the staging proxy have?")
	if err := past.Close(); err != nil {
		t.Fatal(err)
	}

	plugin, err := filepath.Abs("../../../plugin")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	s := scene.Connect(t, scene.Options(t, model, &clew.Options{
		Dir: dir, Plugins: []clew.PluginConfig{{Path: plugin}},
		Env: []string{programVariable + "=1", "PATH=" + clewInPath(t) + string(filepath.ListSeparator) + os.Getenv("PATH")},
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
			if req.ToolName != recallTool {
				t.Errorf("a question about %s", req.ToolName)
			}
			asked.Add(1)
			return permission.Allow(), nil
		},
	}))
	model.On("What did we decide").Reply(clewtest.ToolUse(recallTool, map[string]any{"query": "What port number did we choose for the proxy?"})).Once()
	model.OnToolResult("8447").Reply(clewtest.Text("It was 8447.")).Once()
	messages := scene.Ask(t, s, "What did we decide about the port of the proxy?")
	var results []string
	for _, msg := range scene.Of[*wire.UserMessage](messages) {
		for _, block := range msg.Content {
			if result, ok := block.(*wire.ToolResultBlock); ok {
				results = append(results, string(result.Content))
			}
		}
	}
	got := strings.Join(results, "\n")
	if !strings.Contains(got, "8447") || !strings.Contains(got, "Searched: prompts and answers of 1 session of this project") {
		t.Errorf("the model got %s", got)
	}
	if strings.Contains(got, "9999") || strings.Contains(got, "What did we decide") {
		t.Errorf("it has a result, or the running session: %s", got)
	}
	if asked.Load() != 1 {
		t.Errorf("%d questions", asked.Load())
	}
}
