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

	// turn has one value, for who may set the servers.
	turn chan struct{}

	mu      sync.Mutex
	byName  map[string]*mcpServer
	leaving []*mcpServer  // not by name any more, but still connected
	greeted chan struct{} // closed when the agent has been initialized
	ended   bool

	running sync.WaitGroup // connections that are being closed, and handshakes
	busy    atomic.Int32   // how many of them
}

func newMCPServers(o *Options, log *slog.Logger) *mcpServers {
	m := &mcpServers{
		log: log, turn: make(chan struct{}, 1), byName: make(map[string]*mcpServer), greeted: make(chan struct{}),
	}
	m.turn <- struct{}{}
	m.add(o.inProcessServers())
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

// take waits until nobody else sets the servers. Call release then.
func (m *mcpServers) take(ctx context.Context) error {
	select {
	case <-m.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *mcpServers) release() { m.turn <- struct{}{} }

// add adds servers of names that are not there yet.
func (m *mcpServers) add(servers map[string]*MCPInProcessServer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, config := range servers {
		if m.byName[name] == nil {
			m.put(name, config)
		}
	}
}

// set makes these the servers that there are. It returns the names of those that have taken the place of another.
// Servers that are not there any more keep their connections until they are dismissed.
func (m *mcpServers) set(servers map[string]*MCPInProcessServer) (replaced []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, old := range m.byName {
		config := servers[name]
		if config != nil && old.is(config) {
			continue
		}
		m.leaving = append(m.leaving, old)
		delete(m.byName, name)
		if config != nil {
			m.put(name, config)
			replaced = append(replaced, name)
		}
	}
	return replaced
}

func (m *mcpServers) put(name string, config *MCPInProcessServer) {
	if !m.ended && (config.Handler != nil || config.Opener != nil) {
		m.byName[name] = &mcpServer{name: name, config: config, all: m}
	}
}

// dismiss closes the connections of servers that are not there any more, and does not wait for that.
func (m *mcpServers) dismiss() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endLeaving()
}

func (m *mcpServers) endLeaving() {
	for _, server := range m.leaving {
		m.run(server.end)
	}
	m.leaving = nil
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
	m.leaving = slices.AppendSeq(m.leaving, maps.Values(m.byName))
	clear(m.byName)
	m.endLeaving()
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
