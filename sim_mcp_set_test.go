package clew_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
)

// Frames of a change of the servers.

const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

func setServers(id string) string { return controlRequest(id, `{"subtype":"mcp_set_servers"}`) }

func serversSet(id string) string { return controlSuccess(id, `{"added":[],"removed":[],"errors":{}}`) }

// A server that takes the place of another is used although the agent does not greet it, and the agent is told. One
// that is set again keeps its connection, and one that is dropped loses it.
func TestSetMCPServersConnections(t *testing.T) {
	inBubble(t, func(t *testing.T) {
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
		if diff := cmp.Diff([]string{"initialize", "notifications/initialized", "tools/call"}, second.heard()); diff != "" {
			t.Errorf("messages to the second server (-want +got):\n%s", diff)
		}
	})
}

// A tool may replace its own server. Its context ends when everything is done, and so does its call.
func TestSetMCPServersInACall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
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
	inBubble(t, func(t *testing.T) {
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
	inBubble(t, func(t *testing.T) {
		server := new(mcpServer)
		s, _ := serving(t, connected().Expect(setServers("s")).Send(controlRefusal("s", "no")).
			Send(toOwn("a", toolCall("7"))).Expect(mcpResult("a", "7", `{"did":"tools/call"}`)), server)
		next := ownServers(map[string]clew.MCPOpener{"own": new(mcpServer)})
		if _, err := s.SetMCPServers(t.Context(), next.MCPServers); err == nil {
			t.Error("no error")
		}
		synctest.Wait()
		if diff := cmp.Diff("tools/call", server.heard()[len(server.heard())-1]); diff != "" {
			t.Errorf("the last message to the server (-want +got):\n%s", diff)
		}
	})
}
