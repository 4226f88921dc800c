package reconnect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/wire"
)

// A counter is an MCP server with a tool that counts its calls.
type counter struct{ calls atomic.Int32 }

func (c *counter) HandleMCP(_ context.Context, message wire.JSON) (wire.JSON, error) {
	var m struct {
		ID     wire.JSON `json:"id"`
		Method string    `json:"method"`
	}
	if err := message.Decode(&m); err != nil || m.ID == "" {
		return "", err
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"count","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, c.calls.Add(1))
	}
	return wire.JSON(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)), nil
}

// The new agent has what the options and later calls have set: model, mode, settings, servers,
// hooks.
func TestRealStateOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	model, tool := clewtest.NewModel(t), new(counter)
	var hooks atomic.Int32
	model.On("Count").Reply(clewtest.ToolUse("mcp__calc__count", nil))
	model.OnToolResult("").Reply(clewtest.Text("Counted."))
	model.Reply("Yes.")
	s := scene.Connect(t, over(t, model, &clew.Options{
		AllowedTools: []string{"mcp__calc__count"},
		Hooks: map[hook.Event][]hook.Matcher{hook.PreToolUse: {{Hooks: []hook.Func{
			func(context.Context, hook.Input) (*hook.Output, error) {
				hooks.Add(1)
				return nil, nil
			},
		}}}},
	}))
	ctx, other := t.Context(), scene.Dir(t)
	_, err := s.SetMCPServers(ctx, map[string]clew.MCPServer{"calc": &clew.MCPInProcessServer{Handler: tool}})
	if err != nil {
		t.Fatal(err)
	}
	scene.Ask(t, s, "Count")
	name, err := s.SetModel(ctx, "haiku")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetPermissionMode(ctx, clew.PermissionModeAcceptEdits); err != nil {
		t.Fatal(err)
	}
	if err := s.ApplySettings(ctx, map[string]any{"outputStyle": "Explanatory"}); err != nil {
		t.Fatal(err)
	}
	move(t, s, other)
	waitForTranscript(t, model, s, "Counted.")
	replace(t, s)

	var init *wire.InitMessage
	for _, msg := range scene.Ask(t, s, "Count") {
		if m, ok := msg.(*wire.InitMessage); ok {
			init = m
		}
	}
	if init == nil || init.Model != name || init.PermissionMode != clew.PermissionModeAcceptEdits || init.CWD != other {
		t.Errorf("the new agent has begun with %+v", init)
	}
	if tool.calls.Load() != 2 || hooks.Load() != 2 {
		t.Errorf("%d calls of the tool, %d of the hook", tool.calls.Load(), hooks.Load())
	}
	report, err := screens.Settings(ctx, s)
	if err != nil || !strings.Contains(string(report.Effective), "Explanatory") {
		t.Errorf("settings %v, error %v", report, err)
	}
}

// move moves the session to a directory that is not trusted yet.
func move(t *testing.T, s *clew.Session, dir string) {
	t.Helper()
	_, err := s.SetCWD(t.Context(), dir, nil)
	if untrusted, ok := errors.AsType[*clew.UntrustedError](err); ok {
		_, err = s.SetCWD(t.Context(), dir, &clew.CWDOptions{TrustedDirectory: untrusted.Directory})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The agent does not record a rewind in its transcript.
func TestRealRewindOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Yes.")
	s := scene.Connect(t, over(t, model, nil))
	scene.Ask(t, s, "First")
	prompt := clew.Text("Second")
	prompt.UUID = "0b7f3c9e-4a52-4a6b-9d0e-5f1f6c2e8a14"
	if _, err := scene.Read(s.Turn(t.Context(), prompt), nil); err != nil {
		t.Fatal(err)
	}
	waitForTranscript(t, model, s, "Second")
	rewind, err := s.RewindConversation(t.Context(), prompt.UUID)
	if err != nil || !rewind.Rewound {
		t.Fatalf("rewind %+v, error %v", rewind, err)
	}
	replace(t, s)
	reconnected(t, scene.Ask(t, s, "Next"))
	wantPast(t, model, "Next")
	if slices.Contains(said(model), "Second") {
		t.Error("what was rewound is back")
	}
}

// elsewhere returns the path of a copy of the agent that can be removed.
func elsewhere(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	if err := os.Symlink(clewtest.RealAgent(t), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRealAgentBinaryIsGone(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Yes.")
	opts := over(t, model, &clew.Options{Reconnect: &clew.ReconnectOptions{MaxAttempts: 2, MinBackoff: time.Millisecond}})
	opts.AgentPath = elsewhere(t)
	s := scene.Connect(t, opts)
	scene.Ask(t, s, "First")
	if err := os.Remove(opts.AgentPath); err != nil {
		t.Fatal(err)
	}
	kill(t, s)
	_, err := scene.Read(s.Turn(t.Context(), clew.Text("Next")), nil)
	given, ok := errors.AsType[*clew.ReconnectError](err)
	if !ok || given.Attempts != 2 || !strings.Contains(given.Last.Error(), opts.AgentPath) {
		t.Errorf("error %v", err)
	}
}

func TestRealCloseWithoutAnAgent(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Yes.")
	opts := over(t, model, &clew.Options{Reconnect: &clew.ReconnectOptions{MinBackoff: time.Hour, MaxBackoff: time.Hour}})
	opts.AgentPath = elsewhere(t)
	s := scene.Connect(t, opts)
	scene.Ask(t, s, "First")
	if err := os.Remove(opts.AgentPath); err != nil {
		t.Fatal(err)
	}
	kill(t, s)
	turn := make(chan error)
	go func() {
		_, err := scene.Read(s.Turn(t.Context(), clew.Text("Next")), nil)
		turn <- err
	}()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-turn; !errors.Is(err, clew.ErrClosed) {
		t.Errorf("error %v", err)
	}
}
