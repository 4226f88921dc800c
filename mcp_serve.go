package clew

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/clewdev/clew/wire"
)

// mcpHandlers are the handlers of the servers that run in this process, by the server's name. They may be asked for
// and added to at once. None is taken away: the agent does not call a server that it has dropped.
type mcpHandlers struct {
	mu     sync.RWMutex
	byName map[string]MCPHandler
}

func (h *mcpHandlers) add(servers map[string]*MCPInProcessServer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byName == nil {
		h.byName = make(map[string]MCPHandler)
	}
	for name, server := range servers {
		h.byName[name] = server.Handler
	}
}

// of returns the handler of a server, or nil.
func (h *mcpHandlers) of(server string) MCPHandler {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.byName[server]
}

// An mcpRequest is the body of an mcp_message, in either direction.
type mcpRequest struct {
	ServerName string    `json:"server_name"`
	Message    wire.JSON `json:"message"`
}

// An mcpAnswer is the answer to an mcp_message.
type mcpAnswer struct {
	Response any `json:"mcp_response"`
}

func (c *callbacks) mcpMessage(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	var req mcpRequest
	if err := decode("mcp_message", body, &req); err != nil {
		return "", err
	}
	if req.ServerName == "" || absent(req.Message) {
		return "", errors.New("clew: mcp_message without server_name or message")
	}
	var head rpcHead
	if err := decode("the message of mcp_message", req.Message, &head); err != nil {
		return "", err
	}
	handler := c.mcp.of(req.ServerName)
	if handler == nil {
		text := fmt.Sprintf("Server '%s' not found", req.ServerName)
		return encode(mcpAnswer{rpcFailure(head.ID, rpcMethodNotFound, text)})
	}
	answer, err := c.guard(ctx, "MCP server "+req.ServerName, func() (any, error) {
		reply, err := handler.HandleMCP(ctx, req.Message)
		if err != nil {
			return nil, err
		}
		return mcpReply(&head, reply)
	})
	if err != nil {
		return encode(mcpAnswer{rpcFailure(head.ID, rpcInternalError, err.Error())})
	}
	return answer, nil
}

// mcpReply returns the answer for what a handler returned. Also a notification, which JSON-RPC does not answer, needs
// one, since it came in a control request.
func mcpReply(head *rpcHead, reply wire.JSON) (any, error) {
	switch {
	case reply != "":
		return mcpAnswer{reply}, nil
	case head.wantsReply():
		return nil, fmt.Errorf("clew: no reply to %s", head.Method)
	}
	return mcpAnswer{&rpcResponse{Version: "2.0", ID: "0", Result: "{}"}}, nil
}

// An rpcHead is what a JSON-RPC message says about itself.
type rpcHead struct {
	ID     wire.JSON `json:"id"`
	Method string    `json:"method"`
}

// wantsReply tells a request from a notification and from a response.
func (h *rpcHead) wantsReply() bool { return h.Method != "" && !absent(h.ID) }

// An rpcResponse is a JSON-RPC response.
type rpcResponse struct {
	Version string    `json:"jsonrpc"`
	ID      wire.JSON `json:"id"`
	Result  wire.JSON `json:"result,omitempty"`
	Error   *rpcError `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Codes of JSON-RPC.
const (
	rpcMethodNotFound = -32601
	rpcInternalError  = -32603
)

func rpcFailure(id wire.JSON, code int, message string) *rpcResponse {
	return &rpcResponse{Version: "2.0", ID: id, Error: &rpcError{code, message}}
}
