package tools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/tools"
)

// BenchmarkCall makes the same call over a connection of the SDK in memory, and through a session, whose agent is in
// memory as well.
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

// A loopAgent is an agent in memory that only says what it is told to.
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
