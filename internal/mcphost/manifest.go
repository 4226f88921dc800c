package mcphost

import (
	"context"
	"fmt"
	"time"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/wire"
)

// protocolVersion is the version of MCP that the agent speaks with in-process servers, and that
// manifests are for.
const protocolVersion = "2025-11-25"

// manifestTimeout is the time that all servers together have before the agent is initialized without the
// missing manifests.
var manifestTimeout = 250 * time.Millisecond

var _ = timelimit.Register(&manifestTimeout)

// The handshake is the agent's, because it is done in the agent's place.
const (
	initializeParams wire.JSON = `{"protocolVersion":"` + protocolVersion + `","capabilities":{},` +
		`"clientInfo":{"name":"claude-code","title":"Claude Code","version":"unknown"}}`
	initializedMessage wire.JSON = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

	// ToolsChanged is the notification about changed tools of a server.
	ToolsChanged wire.JSON = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
)

// A Manifest has the answers of an in-process server in its handshake. An agent that gets it does
// not ask the server.
type Manifest struct {
	// InitializeResult is the result of initialize.
	InitializeResult wire.JSON `json:"initializeResult"`
	// ToolsListResult is the result of tools/list, or empty for a server without tools, or with too
	// many.
	ToolsListResult wire.JSON `json:"toolsListResult,omitempty"`
}

// Manifests does the handshake with all servers at once and returns their manifests, by name. It
// leaves out a server that fails or takes too long: the agent does the handshake with it later.
func (h *Host) Manifests(ctx context.Context) map[string]*Manifest {
	servers := h.all()
	if len(servers) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := time.AfterFunc(manifestTimeout, cancel)
	defer limit.Stop()
	type outcome struct {
		name     string
		manifest *Manifest
	}
	outcomes := make(chan outcome, len(servers))
	for _, s := range servers {
		h.run(func() { outcomes <- outcome{s.name, s.manifest(ctx)} })
	}
	manifests := make(map[string]*Manifest)
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

// manifest does the handshake over a connection that stays. It returns nil if that fails.
func (s *server) manifest(ctx context.Context) *Manifest {
	var manifest *Manifest
	_, _ = s.host.config.Guard(ctx, guardName(s.name), func() (any, error) { // which logs errors
		conn, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		defer func() {
			if manifest == nil {
				s.drop(conn)
			}
		}()
		found, err := conn.manifest(ctx)
		if err == nil && ctx.Err() == nil {
			manifest = found
		}
		return nil, err
	})
	return manifest
}

// guardName returns the name of a server in errors.
func guardName(server string) string { return "MCP server " + server }

// manifest does the handshake and keeps the answers. It returns nil for a server of another
// protocol version, which can't have a manifest.
func (c *connection) manifest(ctx context.Context) (*Manifest, error) {
	result, err := c.ask(ctx, "initialize", initializeParams)
	if err != nil {
		return nil, err
	}
	var about struct {
		ProtocolVersion string `json:"protocolVersion"`
		Capabilities    struct {
			Tools wire.JSON `json:"tools"`
		} `json:"capabilities"`
	}
	err = rawjson.Decode("the reply to initialize", result, &about)
	if err != nil || about.ProtocolVersion != protocolVersion {
		return nil, err
	}
	if err := c.confirm(ctx); err != nil {
		return nil, err
	}
	manifest := &Manifest{InitializeResult: result}
	if !rawjson.Absent(about.Capabilities.Tools) {
		manifest.ToolsListResult, err = c.tools(ctx)
	}
	return manifest, err
}

// tools returns the tools of a server, or "" if they come in several pages: the agent asks for them
// then.
func (c *connection) tools(ctx context.Context) (wire.JSON, error) {
	result, err := c.ask(ctx, "tools/list", "")
	if err != nil {
		return "", err
	}
	var list struct {
		NextCursor string `json:"nextCursor"`
	}
	if err := rawjson.Decode("the reply to tools/list", result, &list); err != nil || list.NextCursor != "" {
		return "", err
	}
	return result, nil
}

// initialize does the handshake in place of the agent, which did it over an earlier connection.
func (c *connection) initialize(ctx context.Context) error {
	if _, err := c.ask(ctx, "initialize", initializeParams); err != nil {
		return err
	}
	return c.confirm(ctx)
}

// confirm ends a handshake.
func (c *connection) confirm(ctx context.Context) error {
	_, err := c.end.HandleMCP(ctx, initializedMessage)
	return err
}

// ask sends a request of this package to the server and returns its result.
func (c *connection) ask(ctx context.Context, method string, params wire.JSON) (wire.JSON, error) {
	head := &rpcHead{ID: wire.JSON(fmt.Sprintf("%q", "clew "+method)), Method: method}
	message, err := rawjson.Encode(rpcRequest{"2.0", head.ID, method, params})
	if err != nil {
		return "", err
	}
	reply, err := c.call(ctx, head, message)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", err
	}
	return rpcResult(method, reply)
}
