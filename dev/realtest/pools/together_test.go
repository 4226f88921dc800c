package pools_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/tools"
)

// A session of a pool with a tool, a store, and an agent that is killed in the middle of a turn.
func TestRealPoolWithEverything(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Ask the tool").Reply(clewtest.ToolUse("mcp__birds__name", map[string]string{"of": "hedge"}))
	model.OnToolResult("wren").Reply(clewtest.Text("The wren."))
	model.On("Hang").Hang()
	model.Reply("Yes.")
	type place struct {
		Of string `json:"of"`
	}
	name := tools.New("name", "Names a bird", func(_ context.Context, in place) (string, error) {
		return "the wren of the " + in.Of, nil
	})
	store := sessions.NewMemory()
	p := open(t, scene.Options(t, model, &clew.Options{
		Store: clew.StoreOptions{Store: store, Project: "p"}, Reconnect: new(clew.ReconnectOptions),
		MCPServers: map[string]clew.MCPServer{"birds": tools.Server(name)}, AllowedTools: []string{"mcp__birds__name"},
	}), &clew.PoolOptions{MaxAgents: 2})

	run := ask(t, p, "Ask the tool")
	s, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, s, "Ask the tool", "The wren.")
	if err := hang(t, s, model); !isLost(err) {
		t.Errorf("the turn that was cut ended with %v", err)
	}
	wantText(t, s, "Ask the tool", "The wren.")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	found, err := store.Sessions(t.Context(), "p")
	if err != nil || len(found) != 2 || found[run.SessionID].IsZero() || found[s.ID()].IsZero() {
		t.Errorf("sessions %v, %v, want %s and %s", found, err, run.SessionID, s.ID())
	}
}

func wantText(t *testing.T, s *clew.Session, prompt, want string) {
	t.Helper()
	for msg, err := range s.Turn(t.Context(), clew.Text(prompt)) {
		if err != nil {
			t.Fatal(err)
		}
		if result, ok := msg.(*clew.ResultMessage); ok && result.Result != want {
			t.Errorf("%s: got %q", prompt, result.Result)
		}
	}
}

// hang kills the agent while the model does not answer, and returns how the turn ended.
func hang(t *testing.T, s *clew.Session, model *clewtest.Model) (failure error) {
	t.Helper()
	asked := len(model.Requests())
	killed := false
	for _, err := range s.Turn(t.Context(), clew.Text("Hang")) {
		failure = err
		if err != nil || killed {
			continue
		}
		if _, err := model.WaitRequest(t.Context(), asked+1); err != nil {
			t.Fatal(err)
		}
		kill(t, s)
		killed = true
	}
	return failure
}

func isLost(err error) bool {
	_, lost := errors.AsType[*clew.LostError](err)
	return lost
}

func kill(t *testing.T, s *clew.Session) {
	t.Helper()
	agent, err := os.FindProcess(s.Info().PID)
	if err == nil {
		err = agent.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}
