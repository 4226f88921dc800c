package clew_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// firstFrame returns a member of the body of the host's first frame.
func firstFrame(t *testing.T, agent *clewtest.Agent, member string) any {
	t.Helper()
	frame := decoded[struct{ Request map[string]any }](t, hostFrames(agent, "control_request")[0])
	return frame.Request[member]
}

// Servers that shake hands in time are told of with the greeting. All others are left to the agent.
func TestMCPManifests(t *testing.T) {
	const oneTool = `{"tools":[{"name":"t"}]}`
	noTools := strings.Replace(mcpHello, `"tools":{"listChanged":true}`, "", 1)
	inBubble(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ *clew.MCPPeer, _ *mcpMessage) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		servers := map[string]clew.MCPOpener{
			"good":          &mcpServer{tools: oneTool},
			"without tools": &mcpServer{hello: noTools},
			"many tools":    &mcpServer{tools: `{"tools":[{"name":"t"}],"nextCursor":"more"}`},
			"old":           &mcpServer{hello: strings.Replace(mcpHello, "2025-11-25", "2024-11-05", 1)},
			"garbage":       &mcpServer{hello: `7`},
			"nothing":       &mcpServer{hello: `null`},
			"slow":          rude(slow),
			"panic":         rude(func(context.Context, *clew.MCPPeer, *mcpMessage) (string, error) { panic("oh") }),
			"none":          opener(func() (clew.MCPConn, error) { return nil, errors.New("not today") }),
			"nil":           opener(func() (clew.MCPConn, error) { return nil, nil }),
		}
		begin := time.Now()
		_, agent := simulate(t, connected(), ownServers(servers))
		wantElapsed(t, begin, 250*time.Millisecond)
		hello := decoded[any](t, mcpHello)
		want := map[string]any{
			"good":          map[string]any{"initializeResult": hello, "toolsListResult": decoded[any](t, oneTool)},
			"many tools":    map[string]any{"initializeResult": hello},
			"without tools": map[string]any{"initializeResult": decoded[any](t, noTools)},
		}
		if diff := cmp.Diff(want, firstFrame(t, agent, "sdkMcpServerManifests")); diff != "" {
			t.Errorf("manifests (-want +got):\n%s", diff)
		}
		synctest.Wait()
		for name, want := range map[string][2]int{
			"good": {1, 0}, "slow": {1, 1}, "old": {1, 1}, "garbage": {1, 1}, "panic": {1, 1},
		} {
			if got := servers[name].(interface{ counts() [2]int }).counts(); got != want {
				t.Errorf("connections of %s opened and closed: %v, want %v", name, got, want)
			}
		}
	})
}

// rude returns a server that has nothing to say but what handle returns.
func rude(handle func(context.Context, *clew.MCPPeer, *mcpMessage) (string, error)) *rudeServer {
	return &rudeServer{mcpServer: &mcpServer{handle: handle}}
}

// A rudeServer does not answer handshakes by itself.
type rudeServer struct{ *mcpServer }

func (s *rudeServer) OpenMCP(peer *clew.MCPPeer) (clew.MCPConn, error) {
	conn, err := s.mcpServer.OpenMCP(peer)
	return rudeConn{conn.(*mcpServerConn)}, err
}

type rudeConn struct{ *mcpServerConn }

func (c rudeConn) HandleMCP(ctx context.Context, _ clew.JSON) (clew.JSON, error) {
	reply, err := c.handle(ctx, c.peer, nil)
	return clew.JSON(reply), err
}

// An opener is a function that opens connections.
type opener func() (clew.MCPConn, error)

func (o opener) OpenMCP(*clew.MCPPeer) (clew.MCPConn, error) { return o() }

// Without servers nobody waits, and nothing is sent.
func TestNoMCPManifests(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		begin := time.Now()
		_, agent := simulate(t, connected(), nil)
		wantElapsed(t, begin, 0)
		if got := firstFrame(t, agent, "sdkMcpServerManifests"); got != nil {
			t.Errorf("manifests %v", got)
		}
	})
}

// The connection that has shaken hands serves the agent. Each initialize begins another one.
func TestMCPConnectionsOfASession(t *testing.T) {
	hello := toOwn("i", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
	t.Parallel()
	for name, test := range map[string]struct {
		agent *clewtest.Scenario
		want  [2]int // while the session lives
	}{
		"an agent that calls": {
			connected().Send(toOwn("a", toolCall("2"))).Expect(mcpResult("a", "2", `{"did":"tools/call"}`)), [2]int{1, 0},
		},
		"one that greets": {connected().Send(hello).Expect(mcpResult("i", "0", mcpHello)), [2]int{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				server := new(mcpServer)
				s, _ := serving(t, test.agent, server)
				synctest.Wait()
				if got := server.counts(); got != test.want {
					t.Errorf("connections opened and closed: %v, want %v", got, test.want)
				}
				wantClosed(t, s)
				if got, want := server.counts(), [2]int{test.want[0], test.want[0]}; got != want {
					t.Errorf("connections opened and closed at the end: %v, want %v", got, want)
				}
			})
		})
	}
}

// Calls of a connection that is replaced end.
func TestMCPCallsEndWithTheirConnection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := &mcpServer{handle: func(ctx context.Context, _ *clew.MCPPeer, _ *mcpMessage) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}}
		s, _ := serving(t, connected().Send(toOwn("a", toolCall("7"))).Expect(promptFrame("p", "Now")).
			Send(toOwn("i", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)).
			ExpectAny(mcpResult("i", "0", mcpHello), mcpFailure("a", "7", -32800)).Send(resultFrame("", "p")), server)
		synctest.Wait()
		wantTurn(t, s, "Now", "result: ")
	})
}

// An agent that dies takes connections along, although nobody has closed the session yet.
func TestMCPConnectionsEndWithTheAgent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := new(mcpServer)
		serving(t, connected().Exit(0), server)
		synctest.Wait()
		if got := server.counts(); got != [2]int{1, 1} {
			t.Errorf("connections opened and closed: %v", got)
		}
	})
}

// A connection that has ended by itself is replaced when the next message comes.
func TestMCPConnectionThatHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := &mcpServer{handle: func(_ context.Context, _ *clew.MCPPeer, m *mcpMessage) (string, error) {
			if m.ID == "1" {
				return "", fmt.Errorf("worn out: %w", clew.ErrMCPClosed)
			}
			return `{}`, nil
		}}
		serving(t, connected().
			Send(toOwn("a", toolCall("1"))).Expect(mcpFailure("a", "1", -32603)).
			Send(toOwn("b", toolCall("2"))).Expect(mcpResult("b", "2", `{}`)), server)
		synctest.Wait()
		if got := server.counts(); got != [2]int{2, 1} {
			t.Errorf("connections opened and closed: %v", got)
		}
	})
}

// A panic while a connection is closed is logged, and the session ends.
func TestMCPConnectionThatPanics(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var log strings.Builder
		opts := ownServers(map[string]clew.MCPOpener{"own": &mcpServer{close: func() { panic("at the end") }}})
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s, _ := simulate(t, connected(), opts)
		wantClosed(t, s)
		if !strings.Contains(log.String(), "at the end") {
			t.Errorf("log %q", log.String())
		}
	})
}
