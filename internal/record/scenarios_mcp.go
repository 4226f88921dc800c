package record

import (
	"fmt"

	"github.com/clewdev/clew/clewtest"
)

const calcTools = `{"tools":[{"name":"add","description":"Add two numbers","inputSchema":{"type":"object",` +
	`"properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}}]}`

// calc answers as an MCP server that adds numbers; result is what it says to a call.
func calc(result string) func(*Question) string {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"calc","version":"1.0.0"}}`,
		"tools/list": calcTools,
		"tools/call": result,
	}
	return func(q *Question) string {
		id, body := q.Message.ID, results[q.Message.Method]
		if id == "" {
			id, body = "null", "{}"
		}
		if body == "" {
			return ""
		}
		return fmt.Sprintf(`{"mcp_response":{"jsonrpc":"2.0","id":%s,"result":%s}}`, id, body)
	}
}

// calcArgs make the agent ask its host for the server calc.
var calcArgs = []string{"--mcp-config", `{"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}}`}

// addNumbers makes the model use the tool of calc.
func addNumbers(s *Stage) {
	s.Model.On("Add").Reply(clewtest.ToolUse("mcp__calc__add", map[string]int{"a": 1, "b": 2})).Usage(100, 42, 300, 20)
	done(s)
}

// mcpScenarios are about MCP servers inside of the host.
var mcpScenarios = []*Scenario{
	{
		Name:       "mcp_in_process",
		About:      "A tool of an MCP server inside of the host.",
		Args:       calcArgs,
		Initialize: `"hooks":null,"sdkMcpServers":["calc"]`,
		Prompts:    []string{"Add"},
		MCP:        calc(`{"content":[{"type":"text","text":"3"}]}`),
		Model:      addNumbers,
	},
	{
		Name:       "mcp_tool_fails",
		About:      "A tool of an MCP server inside of the host fails.",
		Args:       calcArgs,
		Initialize: `"hooks":null,"sdkMcpServers":["calc"]`,
		Prompts:    []string{"Add"},
		MCP:        calc(`{"content":[{"type":"text","text":"out of numbers"}],"isError":true}`),
		Model:      addNumbers,
	},
}
