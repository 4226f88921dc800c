package clew

import (
	"context"
	"fmt"
	"time"

	"github.com/clewdev/clew/wire"
)

const (
	// mcpVersion is the version of MCP that the agent speaks with in-process servers, and that manifests are for.
	mcpVersion = "2025-11-25"
	// manifestBudget is how long the servers may take, all at once, before the agent is greeted without what is missing.
	manifestBudget = 250 * time.Millisecond
)

// The handshake is the one of the agent itself, in whose place it is done.
const (
	mcpHello wire.JSON = `{"protocolVersion":"` + mcpVersion + `","capabilities":{},` +
		`"clientInfo":{"name":"claude-code","title":"Claude Code","version":"unknown"}}`
	mcpInitialized  wire.JSON = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	mcpToolsChanged wire.JSON = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
)

// An mcpManifest is what an in-process server has said in its handshake. An agent that has it asks no more.
type mcpManifest struct {
	InitializeResult wire.JSON `json:"initializeResult"`
	ToolsListResult  wire.JSON `json:"toolsListResult,omitempty"`
}

// manifests shakes hands with all in-process servers at once and returns what they say, by name. A server that fails or
// takes too long is left out: the agent shakes hands with it later.
func (c *callbacks) manifests(ctx context.Context) map[string]*mcpManifest {
	servers := c.mcp.all()
	if len(servers) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	budget := time.AfterFunc(manifestBudget, cancel)
	defer budget.Stop()
	type outcome struct {
		name     string
		manifest *mcpManifest
	}
	outcomes := make(chan outcome, len(servers))
	for _, server := range servers {
		c.mcp.run(func() { outcomes <- outcome{server.name, c.manifest(ctx, server)} })
	}
	manifests := make(map[string]*mcpManifest)
	for range servers {
		select {
		case o := <-outcomes:
			if o.manifest != nil {
				manifests[o.name] = o.manifest
			}
		case <-ctx.Done():
			return manifests
		}
	}
	return manifests
}

// manifest shakes hands with a server, over a connection that stays. It returns nil if that fails.
func (c *callbacks) manifest(ctx context.Context, server *mcpServer) *mcpManifest {
	var manifest *mcpManifest
	_, _ = c.guard(ctx, "MCP server "+server.name, func() (any, error) { // which logs what goes wrong
		link, err := server.open(ctx)
		if err != nil {
			return nil, err
		}
		defer func() {
			if manifest == nil {
				server.drop(link)
			}
		}()
		found, err := link.introduce(ctx)
		if err == nil && ctx.Err() == nil {
			manifest = found
		}
		return nil, err
	})
	return manifest
}

// introduce shakes hands and takes down what the server says. It returns nil for a server that can't have a manifest.
func (l *mcpLink) introduce(ctx context.Context) (*mcpManifest, error) {
	hello, err := l.ask(ctx, "initialize", mcpHello)
	if err != nil {
		return nil, err
	}
	var about struct {
		ProtocolVersion string `json:"protocolVersion"`
		Capabilities    struct {
			Tools wire.JSON `json:"tools"`
		} `json:"capabilities"`
	}
	err = decode("the reply to initialize", hello, &about)
	if err != nil || about.ProtocolVersion != mcpVersion {
		return nil, err
	}
	if err := l.confirm(ctx); err != nil {
		return nil, err
	}
	manifest := &mcpManifest{InitializeResult: hello}
	if !absent(about.Capabilities.Tools) {
		manifest.ToolsListResult, err = l.tools(ctx)
	}
	return manifest, err
}

// tools returns the tools of a server, or nothing if they don't come at once: the agent asks for them then.
func (l *mcpLink) tools(ctx context.Context) (wire.JSON, error) {
	result, err := l.ask(ctx, "tools/list", "")
	if err != nil {
		return "", err
	}
	var list struct {
		NextCursor string `json:"nextCursor"`
	}
	if err := decode("the reply to tools/list", result, &list); err != nil || list.NextCursor != "" {
		return "", err
	}
	return result, nil
}

// greet shakes hands with a server in place of the agent, which believes to have done so.
func (l *mcpLink) greet(ctx context.Context) error {
	if _, err := l.ask(ctx, "initialize", mcpHello); err != nil {
		return err
	}
	return l.confirm(ctx)
}

// confirm ends a handshake.
func (l *mcpLink) confirm(ctx context.Context) error {
	_, err := l.conn.HandleMCP(ctx, mcpInitialized)
	return err
}

// ask sends a request of our own, and returns its result.
func (l *mcpLink) ask(ctx context.Context, method string, params wire.JSON) (wire.JSON, error) {
	head := &rpcHead{ID: wire.JSON(fmt.Sprintf("%q", "clew "+method)), Method: method}
	message, err := encode(rpcRequest{"2.0", head.ID, method, params})
	if err != nil {
		return "", err
	}
	reply, err := l.call(ctx, head, message)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", err
	}
	return rpcResult(method, reply)
}
