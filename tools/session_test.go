package tools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/tools"
)

// greeted returns a scenario whose agent came up.
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

// reply is the answer to a tool call.
func reply(request string, id int, result string) string {
	return answer(request, fmt.Sprintf(`{"mcp_response":{"jsonrpc":"2.0","id":%d,"result":%s}}`, id, result))
}

// simulate connects to an agent in memory that plays the scenario.
func simulate(t *testing.T, scenario *clewtest.Scenario, server *clew.MCPInProcessServer) *clew.Session {
	t.Helper()
	agent := clewtest.NewAgent(t, scenario)
	s, err := clew.Connect(t.Context(), &clew.Options{
		MCPServers: map[string]clew.MCPServer{"own": server},
		Limits:     clew.Limits{CloseTimeout: 3 * time.Second},
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

// A session continues whatever its tools do, and a tool's messages come before its result.
func TestSessionWithTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		s := simulate(t, greeted().Send(message("a", callOf(1, "wait", `{}`))), tools.Server(waiter(ended)))
		synctest.Wait()
		if err := s.Close(); err != nil || len(ended) != 1 {
			t.Errorf("error %v, the tool has returned: %v", err, len(ended) == 1)
		}
	})
}

// The agent learns of tools that come while the session starts and later.
func TestSessionLearnsOfTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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

// library returns a server of the SDK with a resource, a prompt and tools.
func library() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "2"}, nil)
	server.AddResource(&mcp.Resource{URI: "book:one", Name: "one"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "book:one", Text: "Once upon a time"}}}, nil
		})
	server.AddResource(&mcp.Resource{URI: "book:two", Name: "two"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			contents := []*mcp.ResourceContents{{URI: "book:two", Meta: mcp.Meta{"pages": make(chan int)}}}
			return &mcp.ReadResourceResult{Contents: contents}, nil
		})
	server.AddPrompt(&mcp.Prompt{Name: "read"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { panic("no light") })
	for name, result := range map[string]*mcp.CallToolResult{
		"lend":   {StructuredContent: make(chan int)},
		"return": {Content: []mcp.Content{(*mcp.TextContent)(nil)}},
		"burn":   nil,
	} {
		plain := &mcp.Tool{Name: name, InputSchema: map[string]string{"type": "object"}}
		server.AddTool(plain, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
	}
	return server
}

// A server of the SDK answers by itself. Mounting it keeps its mistakes from the program.
func TestMount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, tools.Mount(library()))
		for message, want := range map[string]string{
			`"resources/read","params":{"uri":"book:one"}`: `"contents":[{"uri":"book:one","text":"Once upon a time"}]`,
			`"prompts/list"`:                               `"prompts":[{"name":"read"}]`,
			`"prompts/get","params":{"name":"read"}`:       `"error":{"code":-32603,"message":"panic in prompts/get: no light"}`,
			`"tools/call","params":{"name":"unknown"}`:     `"error":{"code":-32602,"message":"unknown tool \"unknown\""}`,
			`"resources/read","params":{"uri":"book:two"}`: `"error":{"code":-32603,"message":"encoding the result`,
			`"tools/call","params":{"name":"return"}`:      `"error":{"code":-32603,"message":"the result's block 0 is nil"`,
			`"tools/call","params":{"name":"burn"}`:        `"error":{"code":-32603,"message":"the tool has returned no result"`,
			`"tools/call","params":{"name":"lend"}`: `"error":{"code":-32603,` +
				`"message":"encoding the structured content: json: unsupported type: chan int"}`,
		} {
			if reply := c.say(t, `{"jsonrpc":"2.0","id":1,"method":`+message+`}`); !strings.Contains(reply, want) {
				t.Errorf("reply to %s: %s, want %s", message, reply, want)
			}
		}
	})
}

// A server that looks whether the agent is still there finds it, without asking.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{KeepAlive: time.Second})
		if err := tools.Add(server, tools.New("add", "", add)); err != nil {
			t.Fatal(err)
		}
		c := connect(t, tools.Mount(server))
		time.Sleep(time.Minute)
		if got := decodedText(t, c.call(t, "add", `{"a":1}`)); got != "1" || len(c.messages()) > 0 {
			t.Errorf("result %s, messages %q", got, c.messages())
		}
	})
}

// Calls on a session that the server ended return an error about it.
func TestServerEndsSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := library()
		c := connect(t, tools.Mount(server))
		for session := range server.Sessions() {
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		}
		reply, err := c.HandleMCP(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if !errors.Is(err, clew.ErrMCPClosed) {
			t.Errorf("reply %s, error %v", reply, err)
		}
	})
}

// BenchmarkCall makes the same call over a connection of the SDK in memory, and through a session,
// whose agent is in memory as well.
func BenchmarkCall(b *testing.B) {
	b.Run("sdk", func(b *testing.B) {
		session := sdkSession(b)
		for b.Loop() {
			result, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "add", Arguments: sum{A: 1, B: 2}})
			if err != nil || result.IsError {
				b.Fatal(result, err)
			}
		}
	})
	b.Run("session", func(b *testing.B) {
		agent := newLoopAgent(b)
		for i := 0; b.Loop(); i++ {
			agent.ask(b, message("r"+strconv.Itoa(i), callOf(i, "add", `{"a":1,"b":2}`))+"\n")
		}
	})
}

// sdkSession connects a client of the SDK to a server in memory.
func sdkSession(b *testing.B) *mcp.ClientSession {
	b.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	if err := tools.Add(server, tools.New("add", "", add)); err != nil {
		b.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(b.Context(), here, nil); err != nil {
		b.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(b.Context(), there, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = session.Close() })
	return session
}

// A loopAgent is an agent in memory that only sends given frames.
type loopAgent struct {
	toHost   *io.PipeWriter
	fromHost *bufio.Reader
}

// newLoopAgent starts a session with a tool.
func newLoopAgent(b *testing.B) *loopAgent {
	b.Helper()
	hostIn, agentOut := io.Pipe()
	agentIn, hostOut := io.Pipe()
	a := &loopAgent{toHost: agentOut, fromHost: bufio.NewReader(agentIn)}
	go a.greet()
	s, err := clew.Connect(b.Context(), &clew.Options{
		MCPServers: map[string]clew.MCPServer{"own": tools.Server(tools.New("add", "", add))},
		Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
			return &loopConn{hostIn, hostOut}, nil
		}),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return a
}

// greet answers the first frame of the host.
func (a *loopAgent) greet() {
	line, _ := a.fromHost.ReadBytes('\n')
	var request struct {
		ID string `json:"request_id"`
	}
	_ = json.Unmarshal(line, &request)
	_, _ = io.WriteString(a.toHost, answer(request.ID, `{}`)+"\n")
}

// ask sends a frame, and waits for the next one of the host.
func (a *loopAgent) ask(b *testing.B, frame string) {
	b.Helper()
	if _, err := io.WriteString(a.toHost, frame); err != nil {
		b.Fatal(err)
	}
	if _, err := a.fromHost.ReadSlice('\n'); err != nil {
		b.Fatal(err)
	}
}

type loopConn struct {
	in  *io.PipeReader
	out *io.PipeWriter
}

func (c *loopConn) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *loopConn) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c *loopConn) CloseWrite() error           { return c.out.Close() }
func (c *loopConn) Close() error                { return c.in.Close() }
