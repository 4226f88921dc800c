// Command mcp_inprocess gives the agent a tool of this program, with an MCP server that has no
// transport.
//
//	go run ./examples/mcp_inprocess
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/clewdev/clew"
)

// A clock is a [clew.MCPHandler] with one tool, which returns the time.
type clock struct{}

// HandleMCP answers one message of JSON-RPC.
func (clock) HandleMCP(_ context.Context, message clew.JSON) (clew.JSON, error) {
	var request struct {
		ID     clew.JSON
		Method string
	}
	if err := message.Decode(&request); err != nil {
		return "", err
	}
	result := "{}"
	switch request.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"clock","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"now","description":"Tells the time","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, time.Now().Format(time.RFC3339))
	}
	if request.ID == "" {
		return "", nil // a notification has no answer
	}
	return clew.JSON(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)), nil
}

func main() {
	result, err := clew.Run(context.Background(), "What time is it?", &clew.Options{
		MCPServers:   map[string]clew.MCPServer{"clock": &clew.MCPInProcessServer{Handler: clock{}}},
		AllowedTools: []string{"mcp__clock__now"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
