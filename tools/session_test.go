package tools_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/tools"
)

// greeted returns a scenario whose agent has come up.
func greeted() *clewtest.Scenario {
	return new(clewtest.Scenario).
		Expect(`{"type":"control_request","request_id":"i","request":{"subtype":"initialize","sdkMcpServers":["own"]}}`).
		Send(`{"type":"control_response","response":{"subtype":"success","request_id":"i","response":{}}}`)
}

// message is a message between the agent and its server, in either direction.
func message(request, message string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,`+
		`"request":{"subtype":"mcp_message","server_name":"own","message":%s}}`, request, message)
}

// answer is the answer to a message.
func answer(request, response string) string {
	return fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`,
		request, response)
}

// reply is the answer to a call of a tool.
func reply(request string, id int, result string) string {
	return answer(request, fmt.Sprintf(`{"mcp_response":{"jsonrpc":"2.0","id":%d,"result":%s}}`, id, result))
}

// simulate connects to an agent in memory that plays the scenario.
func simulate(t *testing.T, scenario *clewtest.Scenario, server *clew.MCPInProcessServer) *clew.Session {
	t.Helper()
	agent := clewtest.NewAgent(t, scenario)
	s, err := clew.Connect(t.Context(), &clew.Options{
		MCPServers:   map[string]clew.MCPServer{"own": server},
		CloseTimeout: 3 * time.Second,
		Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
			return agent.Conn(), nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A session goes on whatever its tools do, and what a tool says comes before its result.
func TestSessionWithTools(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		work := tools.New("work", "", func(ctx context.Context, _ any) (string, error) {
			tools.Progress(ctx, 1, 2, "half")
			panic("oh")
		})
		scenario := greeted().
			Send(message("a", callOf(1, "add", `{"a":"1"}`))).Expect(reply("a", 1, `{"isError":true}`)).
			Send(message("b", callOf(2, "sub", `{}`))).Expect(reply("b", 2, `{"isError":true}`)).
			Send(message("c", callOf(3, "work", `{}`))).
			Expect(message("p", `{"method":"notifications/progress","params":{"progressToken":3,"progress":1}}`)).
			Send(answer("p", `{}`)).Expect(reply("c", 3, `{"isError":true}`)).
			Send(message("d", callOf(3, "add", `{"a":1}`))).Expect(reply("d", 3, `{"content":[{"text":"1"}]}`))
		simulate(t, scenario, tools.Server(work, tools.New("add", "", add)))
		synctest.Wait()
	})
}

// Close does not wait forever for a tool that never returns.
func TestCloseWithDeafTool(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := tools.New("deaf", "", func(context.Context, any) (string, error) { <-release; return "", nil })
		s := simulate(t, greeted().Send(message("a", callOf(1, "deaf", `{}`))), tools.Server(deaf))
		synctest.Wait()
		begin := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("Close took %v", took)
		}
		close(release)
	})
}

// A tool may close its own session, which waits for the tool in vain.
func TestCloseInATool(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var s *clew.Session
		begin, closed := make(chan struct{}), make(chan time.Duration)
		quit := tools.New("quit", "", func(ctx context.Context, _ any) (string, error) {
			<-begin
			since := time.Now()
			err := s.Close()
			closed <- time.Since(since)
			return "", err
		})
		s = simulate(t, greeted().Send(message("a", callOf(1, "quit", `{}`))), tools.Server(quit))
		close(begin)
		if took := <-closed; took != 3*time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}

// Close waits for a tool that returns when its context ends.
func TestCloseWithRunningTool(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ended := make(chan error, 1)
		s := simulate(t, greeted().Send(message("a", callOf(1, "wait", `{}`))), tools.Server(waiter(ended)))
		synctest.Wait()
		if err := s.Close(); err != nil || len(ended) != 1 {
			t.Errorf("error %v, the tool has returned: %v", err, len(ended) == 1)
		}
	})
}

// The agent learns of tools that come while the session begins and later.
func TestSessionLearnsOfTools(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		changed := `{"method":"notifications/tools/list_changed"}`
		simulate(t, greeted().Expect(message("n", changed)).Send(answer("n", `{}`)).
			Send(message("a", callOf(1, "add", `{"a":1}`))).Expect(reply("a", 1, `{"content":[{"text":"1"}]}`)),
			tools.Mount(server))
		if err := tools.Add(server, tools.New("add", "", add)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the server waits for more changes
	})
}
