package clew

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewdev/clew/wire"
)

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
	server := c.mcp.of(req.ServerName)
	if server == nil {
		text := fmt.Sprintf("Server '%s' not found", req.ServerName)
		return encode(mcpAnswer{rpcFailure(head.ID, rpcMethodNotFound, text)})
	}
	answer, err := c.guard(ctx, "MCP server "+req.ServerName, func() (any, error) {
		reply, err := server.serve(ctx, &head, req.Message)
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

// mcpReply returns the answer for what a server returned. Also a notification, which JSON-RPC does not answer, needs
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
