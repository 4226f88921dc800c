// Command mcp_mount gives the agent a server of the official MCP Go SDK that runs in this program,
// with a tool and a resource.
//
//	go run ./examples/mcp_mount
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/tools"
)

// catalogue is a resource of the server.
const catalogue = "library:catalogue"

func readCatalogue(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: catalogue, Text: "Moby-Dick; Emma"}}}, nil
}

// A Book is the input of the tool.
type Book struct {
	Title string `json:"title"`
}

func borrow(_ context.Context, _ *mcp.CallToolRequest, book Book) (*mcp.CallToolResult, any, error) {
	text := &mcp.TextContent{Text: "Here is " + book.Title}
	return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1.0.0"}, nil)
	server.AddResource(&mcp.Resource{URI: catalogue, Name: "catalogue"}, readCatalogue)
	mcp.AddTool(server, &mcp.Tool{Name: "borrow", Description: "Borrows a book"}, borrow)

	result, err := clew.Run(context.Background(), "Borrow the shortest book.", &clew.Options{
		MCPServers:   map[string]clew.MCPServer{"library": tools.Mount(server)},
		AllowedTools: []string{"mcp__library__borrow", "ReadMcpResourceTool"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
