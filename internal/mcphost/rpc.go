package mcphost

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// A Message is the body of an mcp_message request, in either direction.
type Message struct {
	// ServerName is the name of the server.
	ServerName string `json:"server_name"`
	// Message is a JSON-RPC message.
	Message wire.JSON `json:"message"`
}

// An answer is the answer to an mcp_message.
type answer struct {
	Response any `json:"mcp_response"`
}

// Serve passes the body of an mcp_message request on to its server and returns the body of the
// answer. An error means that the body is not a message for a server; server errors are in the
// answer.
func (h *Host) Serve(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	var req Message
	if err := rawjson.Decode("mcp_message", body, &req); err != nil {
		return "", err
	}
	if req.ServerName == "" || rawjson.Absent(req.Message) {
		return "", errors.New("clew: the mcp_message request has no server_name or no message")
	}
	var head rpcHead
	if err := rawjson.Decode("the message of mcp_message", req.Message, &head); err != nil {
		return "", err
	}
	server := h.find(req.ServerName)
	if server == nil {
		text := fmt.Sprintf("Server '%s' not found", req.ServerName)
		return rawjson.Encode(answer{rpcFailure(head.ID, rpcMethodNotFound, text)})
	}
	reply, err := h.config.Guard(ctx, guardName(req.ServerName), func() (any, error) {
		reply, err := server.serve(ctx, &head, req.Message)
		if err != nil {
			return nil, err
		}
		return newAnswer(&head, reply)
	})
	if err != nil {
		return rawjson.Encode(answer{rpcFailure(head.ID, rpcInternalError, err.Error())})
	}
	return reply, nil
}

// newAnswer returns the answer for a reply of a server. A notification, which JSON-RPC does not
// answer, needs an answer as well, because it came in a control request.
func newAnswer(head *rpcHead, reply wire.JSON) (any, error) {
	switch {
	case reply != "":
		return answer{reply}, nil
	case head.wantsReply():
		return nil, fmt.Errorf("clew: no reply to %s", head.Method)
	}
	return answer{&rpcResponse{Version: "2.0", ID: "0", Result: "{}"}}, nil
}

// An rpcHead is the part of a JSON-RPC message that shows its kind.
type rpcHead struct {
	ID     wire.JSON `json:"id"`
	Method string    `json:"method"`
}

// wantsReply reports whether a message is a request, and not a notification or a response.
func (h *rpcHead) wantsReply() bool { return h.Method != "" && !rawjson.Absent(h.ID) }

// An rpcRequest is a JSON-RPC request, or a notification if it has no id.
type rpcRequest struct {
	Version string    `json:"jsonrpc"`
	ID      wire.JSON `json:"id,omitempty"`
	Method  string    `json:"method"`
	Params  wire.JSON `json:"params,omitempty"`
}

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

// JSON-RPC error codes, and a code in common use for a cancelled request.
const (
	rpcInvalidRequest = -32600
	rpcMethodNotFound = -32601
	rpcInternalError  = -32603
	rpcCanceled       = -32800
)

func rpcFailure(id wire.JSON, code int, message string) *rpcResponse {
	return &rpcResponse{Version: "2.0", ID: id, Error: &rpcError{code, message}}
}

// rpcResult returns the result in a reply to a request.
func rpcResult(method string, reply wire.JSON) (wire.JSON, error) {
	var response rpcResponse
	if err := rawjson.Decode("the reply to "+method, reply, &response); err != nil {
		return "", err
	}
	switch {
	case response.Error != nil:
		return "", fmt.Errorf("clew: %s: %s", method, response.Error.Message)
	case rawjson.Absent(response.Result):
		return "", errors.New("clew: the reply to " + method + " has no result")
	}
	return response.Result, nil
}
