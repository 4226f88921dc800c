package clew

import (
	"errors"
	"fmt"

	"github.com/clewdev/clew/wire"
)

// An rpcHead is what a JSON-RPC message says about itself.
type rpcHead struct {
	ID     wire.JSON `json:"id"`
	Method string    `json:"method"`
}

// wantsReply tells a request from a notification and from a response.
func (h *rpcHead) wantsReply() bool { return h.Method != "" && !absent(h.ID) }

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

// Codes of JSON-RPC, and one that is in common use for a cancelled request.
const (
	rpcInvalidRequest = -32600
	rpcMethodNotFound = -32601
	rpcInternalError  = -32603
	rpcCancelled      = -32800
)

func rpcFailure(id wire.JSON, code int, message string) *rpcResponse {
	return &rpcResponse{Version: "2.0", ID: id, Error: &rpcError{code, message}}
}

// rpcResult returns the result in a reply to a method.
func rpcResult(method string, reply wire.JSON) (wire.JSON, error) {
	var response rpcResponse
	if err := decode("the reply to "+method, reply, &response); err != nil {
		return "", err
	}
	switch {
	case response.Error != nil:
		return "", fmt.Errorf("clew: %s: %s", method, response.Error.Message)
	case absent(response.Result):
		return "", errors.New("clew: the reply to " + method + " has no result")
	}
	return response.Result, nil
}
