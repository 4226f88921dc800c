package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew"
)

// A client is an agent as a server sees it.
type client struct {
	clew.MCPConn
	log strings.Builder

	mu    sync.Mutex
	heard []string // what the server has sent
}

// hello is the first message of a client.
const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// connect opens a connection to a server that the end of the test closes, and shakes hands.
func connect(t testing.TB, server *clew.MCPInProcessServer) *client {
	t.Helper()
	c := new(client)
	var err error
	peer := &clew.MCPPeer{Send: c.hear, Logger: slog.New(slog.NewTextHandler(&c.log, nil))}
	c.MCPConn, err = server.Opener.OpenMCP(peer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	c.say(t, hello)
	c.say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *client) hear(_ context.Context, message clew.JSON) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, string(message))
	return nil
}

// messages returns what the server has sent.
func (c *client) messages() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// say sends a message and returns the reply.
func (c *client) say(t testing.TB, message string) string {
	t.Helper()
	reply, err := c.HandleMCP(context.Background(), clew.JSON(message))
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	return string(reply)
}

// callOf is a message that calls a tool. Its progress token is its id.
func callOf(id int, tool, input string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call",`+
		`"params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}}`, id, tool, input, id)
}

// call calls a tool, and returns its result as JSON.
func (c *client) call(t testing.TB, tool, input string) string {
	t.Helper()
	reply := c.say(t, callOf(1, tool, input))
	var response struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(reply), &response); err != nil || response.Result == nil {
		t.Fatalf("reply %s: %v", reply, err)
	}
	return string(response.Result)
}

// decoded returns what a JSON text says.
func decoded(t testing.TB, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// inBubble runs a test with a clock of its own, in which nothing may be left behind.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}
