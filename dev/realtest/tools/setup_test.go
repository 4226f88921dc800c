package tools_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/tools"
	"github.com/clewdev/clew/wire"
)

// A stage is a session with the server "own", and its model.
type stage struct {
	*clew.Session
	model  *clewtest.Model
	record *dialogue
}

// A dialogue is the recording of a session so far.
type dialogue struct {
	mu   sync.Mutex
	text strings.Builder
}

func (d *dialogue) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

// asked returns how often the agent has sent a method to its servers.
func (d *dialogue) asked(method string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := 0
	for line := range strings.Lines(d.text.String()) {
		if strings.HasPrefix(line, "< ") && strings.Contains(line, `"method":"`+method+`"`) {
			count++
		}
	}
	return count
}

// connect opens a session that may use all tools of the server "own", and ends with the test.
func connect(t *testing.T, server clew.MCPServer) *stage {
	t.Helper()
	st := &stage{model: clewtest.NewModel(t), record: new(dialogue)}
	var err error
	st.Session, err = clew.Connect(t.Context(), scene.Options(t, st.model, &clew.Options{
		Debug: clew.DebugOptions{Record: st.record}, AllowedTools: []string{"mcp__own", "mcp__other"},
		MCPServers: map[string]clew.MCPServer{"own": server},
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return st
}

// uses runs a turn in which the model uses tools, all at once, and returns what it got from them.
func (st *stage) uses(t *testing.T, calls ...wire.Block) []*wire.ToolResultBlock {
	t.Helper()
	before := len(st.model.Requests())
	st.model.On("Use them").Reply(calls...).Once()
	st.model.OnToolResult("").Reply(clewtest.Text("I see.")).Once()
	for _, err := range st.Turn(t.Context(), clew.Text("Use them")) {
		if err != nil {
			t.Fatal(err)
		}
	}
	requests := st.model.Requests()
	if len(requests) != before+2 {
		t.Fatalf("%d requests, want 2", len(requests)-before)
	}
	return requests[before+1].ToolResults()
}

// use runs a turn in which the model uses one tool of the server "own", and returns what it got.
func (st *stage) use(t *testing.T, tool string, input any) *wire.ToolResultBlock {
	t.Helper()
	results := st.uses(t, clewtest.ToolUse("mcp__own__"+tool, input))
	if len(results) != 1 {
		t.Fatalf("%d results", len(results))
	}
	return results[0]
}

// wantText checks the text of a result, and whether it is a failure.
func wantText(t *testing.T, result *wire.ToolResultBlock, words string, failed bool) {
	t.Helper()
	if !strings.Contains(result.Text(), words) || result.Failed() != failed {
		t.Errorf("result %s, want %q", result.Raw(), words)
	}
}

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

// adder is a tool that adds.
func adder(name string) *tools.Tool {
	return tools.New(name, "Adds two numbers", func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil })
}
