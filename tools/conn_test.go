package tools_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/tools"
)

// waiter is a tool that waits for the end of its context, and then explains why it ended.
func waiter(ended chan<- error) *tools.Tool {
	return tools.New("wait", "", func(ctx context.Context, _ any) (string, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	})
}

// The end of the context ends the call at once, and the context of the tool.
func TestCallIsCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		c := connect(t, tools.Server(waiter(ended), tools.New("add", "", add)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if reply, err := c.HandleMCP(ctx, clew.JSON(callOf(7, "wait", `{}`))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("reply %s, error %v", reply, err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the tool's context: %v", err)
		}
		if got := decodedText(t, c.call(t, "add", `{"a":1}`)); got != "1" {
			t.Errorf("the next call: %s", got)
		}
	})
}

// The id of a call that was given up is free, although its tool still runs, and its late reply is
// dropped.
func TestIDOfADeafTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := tools.New("deaf", "", func(context.Context, any) (string, error) { <-release; return "late", nil })
		c := connect(t, tools.Server(deaf, tools.New("add", "", add)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.HandleMCP(ctx, clew.JSON(callOf(1, "deaf", `{}`)))
		if err == nil {
			t.Error("no error")
		}
		if got := c.call(t, "add", `{"a":1}`); !strings.Contains(got, `"text":"1"`) {
			t.Errorf("reply %s", got)
		}
		close(release)
		synctest.Wait()
	})
}

// Closing ends the contexts of calls, and waits for them.
func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		c := connect(t, tools.Server(waiter(ended)))
		failed := make(chan error)
		go func() {
			_, err := c.HandleMCP(t.Context(), clew.JSON(callOf(7, "wait", `{}`)))
			failed <- err
		}()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if len(ended) != 1 {
			t.Error("Close has not waited for the tool")
		}
		if err := <-failed; err == nil {
			t.Error("the call has not failed")
		}
		if _, err := c.HandleMCP(t.Context(), `{"jsonrpc":"2.0","id":8,"method":"ping"}`); err == nil {
			t.Error("a later message has not failed")
		}
	})
}

// Two calls wait for each other, even when they come from two sessions.
func TestCallsRunAtOnce(t *testing.T) {
	t.Parallel()
	for name, sessions := range map[string]int{"one session": 1, "two sessions": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				together := make(chan struct{})
				server := tools.Server(tools.New("meet", "", func(context.Context, any) (string, error) {
					select {
					case together <- struct{}{}:
						return "waited", nil
					case <-together:
						return "came", nil
					}
				}))
				clients := []*client{connect(t, server), connect(t, server)}
				first := make(chan string)
				go func() { first <- clients[0].say(t, callOf(1, "meet", `{}`)) }()
				second := clients[sessions-1].say(t, callOf(2, "meet", `{}`))
				if reply := <-first; !strings.Contains(reply, `"id":1,`) || !strings.Contains(second, `"id":2,`) {
					t.Errorf("replies %s and %s", reply, second)
				}
			})
		})
	}
}

// Many sessions of one server call a tool many times at once, and each gets what is its own.
func TestManyCallsRunAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sessions, calls = 20, 20
		var running sync.WaitGroup
		running.Add(sessions * calls)
		server := tools.Server(tools.New("add", "", func(ctx context.Context, in sum) (int, error) {
			running.Done()
			running.Wait() // for all others
			tools.Progress(ctx, 1, 1, "")
			return add(ctx, in)
		}))
		var clients sync.WaitGroup
		for session := range sessions {
			c := connect(t, server)
			for id := range calls {
				clients.Go(func() {
					reply := c.say(t, callOf(id, "add", fmt.Sprintf(`{"a":%d,"b":%d}`, session*calls, id)))
					want := fmt.Sprintf(`"id":%d,"result":{"content":[{"type":"text","text":"%d"}]}`, id, session*calls+id)
					if !strings.Contains(reply, want) {
						t.Errorf("reply %s, want %s", reply, want)
					}
				})
			}
		}
		clients.Wait()
	})
}

// Ids go back as they came, whatever they are.
func TestIDsOfRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, tools.Server())
		for _, id := range []string{`1`, `"a\u00e9"`, `9007199254740993`, `1.5`, `-1`, `""`} {
			got := c.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id))
			if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id); got != want {
				t.Errorf("reply %s, want %s", got, want)
			}
		}
	})
}

// Garbage is an error, and the connection keeps working.
func TestGarbage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, tools.Server(tools.New("add", "", add)))
		for message, wantReply := range map[string]bool{
			``: false, `null`: false, `[]`: false, `{}`: false, `{"jsonrpc":"2.0"}`: false,
			`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                     false,
			`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                    false,
			`{"jsonrpc":"2.0","id":1,"method":7}`:                                          false,
			`{"jsonrpc":"2.0","id":1,"method":""}`:                                         true,
			`{"jsonrpc":"2.0","id":1,"method":"sing"}`:                                     true,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                               true,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`:                   true,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`:           true,
			`{"jsonrpc":"2.0","id":1,"method":"initialize"}`:                               true,
			`{"jsonrpc":"2.0","id":1,"result":{}}`:                                         false,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`:              false,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":""}}`: false,
		} {
			reply, err := c.HandleMCP(t.Context(), clew.JSON(message))
			if (reply != "") != wantReply || reply != "" && err != nil {
				t.Errorf("%s: reply %s, error %v", message, reply, err)
			}
		}
		if got := decodedText(t, c.call(t, "add", `{"a":1}`)); got != "1" {
			t.Errorf("the next call: %s", got)
		}
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tools.Progress(t.Context(), 1, 2, "outside of a call")
		c := connect(t, tools.Server(tools.New("work", "", func(ctx context.Context, _ any) (string, error) {
			tools.Progress(ctx, 1, 2, "half")
			tools.Progress(ctx, 2, 0, "")
			return tools.Request(ctx).Params.Name, nil
		})))
		if got := decodedText(t, c.call(t, "work", `{}`)); got != "work" {
			t.Errorf("the request names %q", got)
		}
		c.say(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work"}}`) // without a token
		var got []any
		for _, message := range c.messages() {
			got = append(got, decoded(t, message))
		}
		const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,%s}}`
		want := []any{
			decoded(t, fmt.Sprintf(progress, `"progress":1,"total":2,"message":"half"`)),
			decoded(t, fmt.Sprintf(progress, `"progress":2`)),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

// A message that can't be sent costs that message: the connection lives.
func TestAgentThatDoesNotListen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := tools.Server(tools.New("work", "", func(ctx context.Context, _ any) (string, error) {
			tools.Progress(ctx, 1, 2, "half")
			return "done", ctx.Err()
		}))
		deaf := &clew.MCPPeer{Send: func(context.Context, clew.JSON) error { return errors.New("no") }}
		conn, err := server.Opener.OpenMCP(deaf)
		if err != nil {
			t.Fatal(err)
		}
		c := &client{MCPConn: conn}
		c.say(t, hello)
		for range 2 {
			if got := decodedText(t, c.call(t, "work", `{}`)); got != "done" {
				t.Errorf("result %s", got)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Sessions learn of new tools, even if there was none before.
func TestAddWhileConnected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		c := connect(t, tools.Mount(server))
		if err := tools.Add(server, tools.New("add", "", add)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the server waits for more changes
		want := []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`}
		if diff := cmp.Diff(want, c.messages()); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		if got := decodedText(t, c.call(t, "add", `{"a":1}`)); got != "1" {
			t.Errorf("result %s", got)
		}
	})
}
