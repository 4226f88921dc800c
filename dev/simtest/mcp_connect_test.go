package simtest_test

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

// firstFrame returns a field in the body of the host's first frame.
func firstFrame(t *testing.T, agent *clewtest.Agent, member string) any {
	t.Helper()
	frame := decoded[struct{ Request map[string]any }](t, hostFrames(agent, "control_request")[0])
	return frame.Request[member]
}

// Servers that complete the handshake in time are described in initialize. The agent connects to
// all others.
func TestMCPManifests(t *testing.T) {
	const oneTool = `{"tools":[{"name":"t"}]}`
	noTools := strings.Replace(mcpHello, `"tools":{"listChanged":true}`, "", 1)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
			"slow":          newRawServer(slow),
			"panic":         newRawServer(func(context.Context, *clew.MCPPeer, *mcpMessage) (string, error) { panic("oh") }),
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

// newRawServer returns a server that answers every message by calling handle.
func newRawServer(handle func(context.Context, *clew.MCPPeer, *mcpMessage) (string, error)) *rawServer {
	return &rawServer{mcpServer: &mcpServer{handle: handle}}
}

// A rawServer does not answer handshakes by itself.
type rawServer struct{ *mcpServer }

func (s *rawServer) OpenMCP(peer *clew.MCPPeer) (clew.MCPConn, error) {
	conn, err := s.mcpServer.OpenMCP(peer)
	return rawConn{conn.(*mcpServerConn)}, err
}

type rawConn struct{ *mcpServerConn }

func (c rawConn) HandleMCP(ctx context.Context, _ clew.JSON) (clew.JSON, error) {
	reply, err := c.handle(ctx, c.peer, nil)
	return clew.JSON(reply), err
}

// An opener is a function that opens connections.
type opener func() (clew.MCPConn, error)

func (o opener) OpenMCP(*clew.MCPPeer) (clew.MCPConn, error) { return o() }

// Without servers nobody waits, and nothing is sent.
func TestNoMCPManifests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, agent := simulate(t, connected(), nil)
		wantElapsed(t, begin, 0)
		if got := firstFrame(t, agent, "sdkMcpServerManifests"); got != nil {
			t.Errorf("manifests %v", got)
		}
	})
}

// The connection with the handshake serves the agent. Each initialize starts another one.
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
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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

// An agent that dies takes connections along, although nobody closed the session yet.
func TestMCPConnectionsEndWithTheAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := new(mcpServer)
		serving(t, connected().Exit(0), server)
		synctest.Wait()
		if got := server.counts(); got != [2]int{1, 1} {
			t.Errorf("connections opened and closed: %v", got)
		}
	})
}

// A connection that ended by itself is replaced when the next message comes.
func TestMCPConnectionThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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

// Frames of a change of the servers.

const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

func setServers(id string) string { return controlRequest(id, `{"subtype":"mcp_set_servers"}`) }

func serversSet(id string) string { return controlSuccess(id, `{"added":[],"removed":[],"errors":{}}`) }

// A server that replaces another is used although the agent does not initialize it, and the agent
// is notified. A server that is set again keeps its connection, and a dropped server loses it.
func TestSetMCPServersConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := new(mcpServer), new(mcpServer)
		s, _ := serving(t, connected().
			Expect(setServers("s1")).Send(serversSet("s1")).
			Expect(setServers("s2")).Send(serversSet("s2")).Expect(ofOwn("n", changed)).Send(controlSuccess("n", `{}`)).
			Send(toOwn("a", toolCall("7"))).Expect(mcpResult("a", "7", `{"did":"tools/call"}`)).
			Expect(setServers("s3")).Send(serversSet("s3")).Expect(promptFrame("p", "Now")).Send(resultFrame("", "p")).
			Send(toOwn("b", toolCall("8"))).Expect(mcpFailure("b", "8", -32601)), first)
		for i, step := range []struct {
			server        *mcpServer
			first, second [2]int
		}{
			{first, [2]int{1, 0}, [2]int{}},
			{second, [2]int{1, 1}, [2]int{1, 0}},
			{nil, [2]int{1, 1}, [2]int{1, 1}},
		} {
			var servers map[string]clew.MCPServer
			if step.server != nil {
				servers = ownServers(map[string]clew.MCPOpener{"own": step.server}).MCPServers
			}
			if _, err := s.SetMCPServers(t.Context(), servers); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if first.counts() != step.first || second.counts() != step.second {
				t.Errorf("step %d: connections %v and %v, want %v and %v",
					i, first.counts(), second.counts(), step.first, step.second)
			}
		}
		wantTurn(t, s, "Now", "result: ")
		synctest.Wait()
		if diff := cmp.Diff([]string{"initialize", "notifications/initialized", "tools/call"}, second.received()); diff != "" {
			t.Errorf("messages to the second server (-want +got):\n%s", diff)
		}
	})
}

// A tool may replace its own server. Its context ends when everything is done, and so does its
// call.
func TestSetMCPServersInACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *clew.Session
		ready, next := make(chan struct{}), new(mcpServer)
		server := &mcpServer{handle: func(ctx context.Context, _ *clew.MCPPeer, _ *mcpMessage) (string, error) {
			<-ready
			if _, err := s.SetMCPServers(ctx, ownServers(map[string]clew.MCPOpener{"own": next}).MCPServers); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return "", ctx.Err()
		}}
		s, _ = serving(t, connected().Send(toOwn("a", toolCall("7"))).
			Expect(setServers("s")).Send(serversSet("s")).Expect(ofOwn("n", changed)).Send(controlSuccess("n", `{}`)).
			Expect(mcpFailure("a", "7", -32800)).
			Send(toOwn("b", toolCall("7"))).Expect(mcpResult("b", "7", `{"did":"tools/call"}`)), server)
		close(ready)
		synctest.Wait()
		if got := server.counts(); got != [2]int{1, 1} {
			t.Errorf("connections opened and closed: %v", got)
		}
	})
}

// Changes come one after the other: the servers of the last one are there.
func TestSetMCPServersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(setServers("s1")).Expect(promptFrame("p", "Now")).Send(serversSet("s1"), resultFrame("", "p")).
			Expect(setServers("s2")).Send(serversSet("s2")).
			Send(toOwn("a", toolCall("7"))).Expect(mcpResult("a", "7", `{"did":"tools/call"}`)), nil)
		set := func(ctx context.Context, name string) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := s.SetMCPServers(ctx, ownServers(map[string]clew.MCPOpener{name: new(mcpServer)}).MCPServers)
				done <- err
			}()
			synctest.Wait()
			return done
		}
		first, second := set(t.Context(), "other"), set(t.Context(), "own")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := <-set(ctx, "none"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one that is given up: %v", err)
		}
		wantTurn(t, s, "Now", "result: ")
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// A change that the agent refuses leaves the servers as they are.
func TestSetMCPServersRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := new(mcpServer)
		s, _ := serving(t, connected().Expect(setServers("s")).Send(controlRefusal("s", "no")).
			Send(toOwn("a", toolCall("7"))).Expect(mcpResult("a", "7", `{"did":"tools/call"}`)), server)
		next := ownServers(map[string]clew.MCPOpener{"own": new(mcpServer)})
		if _, err := s.SetMCPServers(t.Context(), next.MCPServers); err == nil {
			t.Error("no error")
		}
		synctest.Wait()
		if diff := cmp.Diff("tools/call", server.received()[len(server.received())-1]); diff != "" {
			t.Errorf("the last message to the server (-want +got):\n%s", diff)
		}
	})
}
