package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// Both calls wait for each other.
func TestMCPCallsRunAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		together := make(chan struct{})
		server := &mcpServer{handle: func(_ context.Context, _ *clew.MCPPeer, m *mcpMessage) (string, error) {
			if m.ID == "1" {
				together <- struct{}{}
			} else {
				<-together
			}
			return `{}`, nil
		}}
		serving(t, connected().Send(toOwn("a", toolCall("1")), toOwn("b", toolCall("2"))).
			ExpectAny(mcpResult("a", "1", `{}`), mcpResult("b", "2", `{}`)), server)
		synctest.Wait()
	})
}

// An id in use is refused, and its call continues. Once that is answered, the id is free.
func TestMCPRequestIDInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		server := &mcpServer{handle: func(context.Context, *clew.MCPPeer, *mcpMessage) (string, error) {
			<-proceed
			return `{}`, nil
		}}
		s, _ := serving(t, connected().
			Send(toOwn("a", toolCall("7"))).Expect(promptFrame("p", "Now")).
			Send(toOwn("b", toolCall("7"))).Expect(mcpFailure("b", "7", -32600)).Send(resultFrame("", "p")).
			Expect(mcpResult("a", "7", `{}`)).
			Send(toOwn("c", toolCall("7"))).Expect(mcpResult("c", "7", `{}`)), server)
		synctest.Wait()
		wantTurn(t, s, "Now", "result: ")
		close(proceed)
		synctest.Wait()
	})
}

// An id whose request was withdrawn is free, even before the server notices.
func TestMCPRequestIDWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed, calls := make(chan struct{}), make(chan context.Context, 2)
		server := &mcpServer{handle: func(ctx context.Context, _ *clew.MCPPeer, _ *mcpMessage) (string, error) {
			if calls <- ctx; len(calls) == 1 {
				<-proceed
			}
			return `{}`, nil
		}}
		s, _ := serving(t, connected().Send(toOwn("a", toolCall("7"))).Expect(promptFrame("p", "Now")).
			Send(controlCancel("a"), toOwn("b", toolCall("7"))).Expect(mcpResult("b", "7", `{}`)).
			Send(resultFrame("", "p")), server)
		synctest.Wait()
		wantTurn(t, s, "Now", "result: ")
		if err := (<-calls).Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("context of the withdrawn call: %v", err)
		}
		close(proceed)
	})
}

// A call that the agent cancels is answered, and the session lives. The cancellation may come
// before its call.
func TestMCPCanceled(t *testing.T) {
	cancelled := toOwn("x", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	call, taken := toOwn("a", toolCall("7")), mcpResult("x", "0", `{}`)
	t.Parallel()
	for name, frames := range map[string][]any{
		"behind its call": {call, cancelled}, "before its call": {cancelled, call},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &mcpServer{handle: func(ctx context.Context, _ *clew.MCPPeer, m *mcpMessage) (string, error) {
					if m.Method == "tools/call" && m.ID == "7" {
						<-ctx.Done()
					}
					return `{}`, ctx.Err()
				}}
				s, _ := serving(t, connected().Send(frames...).ExpectAny(taken, mcpFailure("a", "7", -32800)).
					Send(toOwn("b", toolCall("8"))).Expect(mcpResult("b", "8", `{}`)).
					Expect(promptFrame("p", "Hi")).Send(resultFrame("Hello", "p")), server)
				synctest.Wait()
				wantTurn(t, s, "Hi", "result: Hello")
			})
		})
	}
}

// A cancellation that comes too late does not hit the next call with the same id.
func TestMCPCanceledTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &mcpServer{handle: func(ctx context.Context, _ *clew.MCPPeer, _ *mcpMessage) (string, error) {
			return `{}`, ctx.Err()
		}}
		serving(t, connected().
			Send(toOwn("a", toolCall("7"))).Expect(mcpResult("a", "7", `{}`)).
			Send(toOwn("x", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)).
			Expect(mcpResult("x", "0", `{}`)).
			Send(toOwn("b", toolCall("7"))).Expect(mcpResult("b", "7", `{}`)), server)
		synctest.Wait()
	})
}

// Messages that a server sends during a call come before its reply, and its requests are answered
// by messages.
func TestMCPServerSpeaks(t *testing.T) {
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`
	const roots = `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan clew.JSON, 1)
		server := &mcpServer{handle: func(ctx context.Context, peer *clew.MCPPeer, m *mcpMessage) (string, error) {
			if m.Method == "" {
				answers <- m.Result
				return "", nil
			}
			if err := errors.Join(peer.Send(ctx, progress), peer.Send(ctx, roots)); err != nil {
				return "", err
			}
			return string(<-answers), nil
		}}
		serving(t, connected().Send(toOwn("a", toolCall("7"))).
			Expect(ofOwn("p", progress)).Send(controlSuccess("p", `{}`)).
			Expect(ofOwn("r", roots)).Send(controlSuccess("r", `{}`)).
			Send(toOwn("b", `{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}`)).
			ExpectAny(mcpResult("b", "0", `{}`), mcpResult("a", "7", `{"roots":[]}`)), server)
		synctest.Wait()
	})
}

// A server that speaks before the agent is greeted waits for that, and a server whose connection is
// closed is refused.
func TestMCPServerSpeaksTooEarlyOrTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent []error
		server := &earlyServer{speak: func(peer *clew.MCPPeer) { sent = append(sent, peer.Send(t.Context(), changed)) }}
		s, _ := simulate(t, connected().Expect(ofOwn("c", changed)).Send(controlSuccess("c", `{}`)),
			ownServers(map[string]clew.MCPOpener{"own": server}))
		synctest.Wait()
		wantClosed(t, s)
		server.speak(server.peer)
		if len(sent) != 2 || sent[0] != nil || sent[1] == nil {
			t.Errorf("sent %v", sent)
		}
	})
}

// A message that the agent does not take ends with the connection.
func TestMCPServerSpeaksToADeafAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := make(chan error, 1)
		server := &mcpServer{handle: func(_ context.Context, peer *clew.MCPPeer, _ *mcpMessage) (string, error) {
			//nolint:contextcheck // the context of the call ends too early
			go func() { sent <- peer.Send(t.Context(), changed) }()
			return `{}`, nil
		}}
		serving(t, connected().Send(toOwn("a", toolCall("7"))).ExpectAny(ofOwn("c", changed), mcpResult("a", "7", `{}`)).
			Send(toOwn("i", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)).
			ExpectAny(mcpResult("i", "0", mcpHello), controlCancel("c")), server)
		if err := <-sent; !errors.Is(err, clew.ErrMCPClosed) {
			t.Errorf("sent: %v", err)
		}
		synctest.Wait()
	})
}

// An earlyServer sends a message as soon as it is connected.
type earlyServer struct {
	mcpServer
	peer  *clew.MCPPeer
	speak func(*clew.MCPPeer)
}

func (s *earlyServer) OpenMCP(peer *clew.MCPPeer) (clew.MCPConn, error) {
	s.peer = peer
	go s.speak(peer)
	return s.mcpServer.OpenMCP(peer)
}

// Close waits for a slow server, and gives up on a server that never returns.
func TestCloseWithDeafMCPServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ takes, want time.Duration }{
		"one that takes its time":  {time.Second, time.Second},
		"one that does not return": {time.Hour, 3 * time.Second},
		"one that returns at once": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &mcpServer{close: func() { time.Sleep(test.takes) }}
				opts := ownServers(map[string]clew.MCPOpener{"own": server})
				opts.Limits.CloseTimeout = 3 * time.Second
				s, _ := simulate(t, connected(), opts)
				begin := time.Now()
				wantClosed(t, s)
				wantElapsed(t, begin, test.want)
				time.Sleep(time.Hour)
				if diff := cmp.Diff([2]int{1, 1}, server.counts()); diff != "" {
					t.Errorf("connections opened and closed (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Neither Connect nor Close waits for a server that never opens its connection.
func TestMCPServerThatDoesNotOpen(t *testing.T) {
	t.Parallel()
	release, released := make(chan struct{}), make(chan struct{})
	opts := ownServers(map[string]clew.MCPOpener{"own": opener(func() (clew.MCPConn, error) {
		<-release
		close(released)
		return nil, nil
	})})
	opts.Limits.CloseTimeout = time.Millisecond
	s, _ := simulate(t, connected(), opts)
	wantClosed(t, s)
	close(release)
	<-released
}

// mcpHello is a server's description of itself.
const mcpHello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},` +
	`"serverInfo":{"name":"own","version":"1"}}`

// An mcpServer is an MCP server with connections. It answers handshakes by itself, and counts what
// comes and goes.
type mcpServer struct {
	hello, tools string // "" for the usual
	// handle handles all other messages. Nil replies with the name of the method.
	handle func(ctx context.Context, peer *clew.MCPPeer, m *mcpMessage) (string, error)
	close  func()

	mu             sync.Mutex
	opened, closed int
	methods        []string
}

// An mcpMessage is a message to an MCP server.
type mcpMessage struct {
	ID             clew.JSON
	Method         string
	Params, Result clew.JSON
	Error          clew.JSON
}

func (s *mcpServer) OpenMCP(peer *clew.MCPPeer) (clew.MCPConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	return &mcpServerConn{s, peer}, nil
}

// counts returns how many connections were opened and closed.
func (s *mcpServer) counts() [2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return [2]int{s.opened, s.closed}
}

// received returns the methods of the messages that the server received.
func (s *mcpServer) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.methods
}

type mcpServerConn struct {
	*mcpServer
	peer *clew.MCPPeer
}

func (c *mcpServerConn) HandleMCP(ctx context.Context, message clew.JSON) (clew.JSON, error) {
	var m mcpMessage
	if err := message.Decode(&m); err != nil {
		return "", err
	}
	c.mu.Lock()
	c.methods = append(c.methods, m.Method)
	c.mu.Unlock()
	result, err := c.result(ctx, &m)
	if err != nil || m.ID == "" || m.Method == "" {
		return "", err
	}
	return clew.JSON(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)), nil
}

func (c *mcpServerConn) result(ctx context.Context, m *mcpMessage) (string, error) {
	switch {
	case m.Method == "initialize" && c.hello != "":
		return c.hello, nil
	case m.Method == "initialize":
		return mcpHello, nil
	case m.Method == "tools/list" && c.tools != "":
		return c.tools, nil
	case m.Method == "tools/list":
		return `{"tools":[]}`, nil
	case c.handle != nil && m.Method != "notifications/initialized":
		return c.handle(ctx, c.peer, m)
	}
	return fmt.Sprintf(`{"did":%q}`, m.Method), nil
}

func (c *mcpServerConn) Close() error {
	if c.close != nil {
		c.close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

// ownServers are options with servers of this process.
func ownServers(servers map[string]clew.MCPOpener) *clew.Options {
	opts := &clew.Options{MCPServers: make(map[string]clew.MCPServer)}
	for name, server := range servers {
		opts.MCPServers[name] = &clew.MCPInProcessServer{Opener: server}
	}
	return opts
}

// serving connects to an agent in memory that has the one server "own".
func serving(t *testing.T, scenario *clewtest.Scenario, server *mcpServer) (*clew.Session, *clewtest.Agent) {
	t.Helper()
	return simulate(t, scenario, ownServers(map[string]clew.MCPOpener{"own": server}))
}

// toOwn is a message of the agent to the server "own".
func toOwn(request, message string) string {
	return controlRequest(request, fmt.Sprintf(`{"subtype":"mcp_message","server_name":"own","message":%s}`, message))
}

// ofOwn is a message of the server "own" to the agent.
func ofOwn(request, message string) string { return toOwn(request, message) }

// toolCall is a message that calls a tool.
func toolCall(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"t"}}`, id)
}

// mcpResult is the host's answer with a server's result.
func mcpResult(request, id, result string) string {
	return controlSuccess(request, fmt.Sprintf(`{"mcp_response":{"jsonrpc":"2.0","id":%s,"result":%s}}`, id, result))
}

// mcpFailure is the host's answer with a server's error.
func mcpFailure(request, id string, code int) string {
	return controlSuccess(request, fmt.Sprintf(`{"mcp_response":{"id":%s,"error":{"code":%d}}}`, id, code))
}
