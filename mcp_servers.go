package clew

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/wire"
)

// mcpServers are the in-process servers of a session, by name, and their connections.
type mcpServers struct {
	log *slog.Logger
	// send passes a message of a server on to the agent. It is called once the agent is greeted.
	send func(ctx context.Context, server string, message wire.JSON) error

	mu      sync.Mutex
	byName  map[string]*mcpServer
	greeted chan struct{} // closed when the agent has been initialized
	ended   bool

	running sync.WaitGroup // connections that are being closed, and handshakes
	busy    atomic.Int32   // how many of them
}

func newMCPServers(o *Options, log *slog.Logger) *mcpServers {
	m := &mcpServers{log: log, byName: make(map[string]*mcpServer), greeted: make(chan struct{})}
	m.set(o.inProcessServers())
	return m
}

// of returns the server of a name, or nil.
func (m *mcpServers) of(name string) *mcpServer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byName[name]
}

func (m *mcpServers) all() []*mcpServer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.byName))
}

// configs returns what the servers are, by name.
func (m *mcpServers) configs() map[string]*MCPInProcessServer {
	configs := make(map[string]*MCPInProcessServer)
	for _, server := range m.all() {
		configs[server.name] = server.config
	}
	return configs
}

// set adds servers. It returns the names of those that have taken the place of another, whose connection is closed.
func (m *mcpServers) set(servers map[string]*MCPInProcessServer) (replaced []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, config := range servers {
		old := m.byName[name]
		if m.ended || config.Handler == nil && config.Opener == nil || old != nil && old.is(config) {
			continue
		}
		m.byName[name] = &mcpServer{name: name, config: config, all: m}
		if old != nil {
			replaced = append(replaced, name)
			m.run(old.end)
		}
	}
	return replaced
}

// keep takes all other servers away and closes their connections.
func (m *mcpServers) keep(servers map[string]*MCPInProcessServer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, server := range m.byName {
		if servers[name] == nil {
			delete(m.byName, name)
			m.run(server.end)
		}
	}
}

// greet lets servers send. It may be called again.
func (m *mcpServers) greet() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.greeted:
	default:
		close(m.greeted)
	}
}

// end closes all connections, for good, and does not wait for that.
func (m *mcpServers) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	for _, server := range m.byName {
		m.run(server.end)
	}
	clear(m.byName)
}

// run runs something that wait waits for.
func (m *mcpServers) run(f func()) {
	m.busy.Add(1)
	m.running.Go(func() {
		defer m.busy.Add(-1)
		f()
	})
}

// wait waits until everything is closed, at most for limit, and reports whether it is. Call it after end.
func (m *mcpServers) wait(limit time.Duration) bool {
	if m.busy.Load() == 0 {
		return true
	}
	closed := make(chan struct{})
	go func() {
		m.running.Wait()
		close(closed)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-closed:
		return true
	case <-timer.C:
		return false
	}
}
