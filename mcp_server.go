package clew

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"github.com/clewdev/clew/wire"
)

// An mcpServer is an in-process server of one session.
type mcpServer struct {
	name   string
	config *MCPInProcessServer
	all    *mcpServers

	mu    sync.Mutex
	link  *mcpLink // nil if there is no connection
	ended bool
}

// is reports whether config has the same handler or opener.
func (s *mcpServer) is(config *MCPInProcessServer) bool {
	return same(s.config.Handler, config.Handler) && same(s.config.Opener, config.Opener)
}

// same reports whether two values are the same one. Those that can't be compared never are.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// serve passes a message on to the server, over a fresh connection if it begins one.
func (s *mcpServer) serve(ctx context.Context, head *rpcHead, message wire.JSON) (wire.JSON, error) {
	var link *mcpLink
	var err error
	if head.Method == "initialize" {
		link, err = s.open(ctx)
	} else {
		link, err = s.current()
	}
	if err != nil {
		return "", err
	}
	switch {
	case head.wantsReply():
		reply, err := link.call(ctx, head, message)
		if errors.Is(err, ErrMCPClosed) {
			s.drop(link)
		}
		return reply, err
	case head.Method == "notifications/cancelled":
		link.cancelled(message)
	}
	return link.conn.HandleMCP(ctx, message)
}

// open opens a connection in place of the one there is. The server is not greeted. When the context has ended, the
// connection there is stays.
func (s *mcpServer) open(ctx context.Context) (*mcpLink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.reopen()
}

// current returns the connection, and makes one that is ready to be used if there is none.
func (s *mcpServer) current() (*mcpLink, error) {
	link, err := s.existing()
	if err != nil || link.greeting == nil {
		return link, err
	}
	if err := link.greeting(); err != nil {
		s.drop(link)
		return nil, err
	}
	return link, nil
}

func (s *mcpServer) existing() (*mcpLink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		return s.link, nil
	}
	link, err := s.reopen()
	if err == nil && s.config.Opener != nil {
		link.greeting = sync.OnceValue(func() error { return link.greet(link.ctx) })
	}
	return link, err
}

func (s *mcpServer) reopen() (*mcpLink, error) {
	if s.ended {
		return nil, ErrMCPClosed
	}
	link, err := newMCPLink(s)
	if err != nil {
		return nil, err
	}
	s.close(s.link)
	s.link = link
	return link, nil
}

// drop closes a connection. The next message opens another one.
func (s *mcpServer) drop(link *mcpLink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == link {
		s.close(link)
		s.link = nil
	}
}

// end closes the connection, for good.
func (s *mcpServer) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.close(s.link)
	s.link = nil
}

// close closes a connection, if there is one, and does not wait for that.
func (s *mcpServer) close(link *mcpLink) {
	if link != nil {
		link.cancel()
		s.all.run(link.close)
	}
}
