// Package natsclient has what the packages that use NATS share: connections, tokens of subjects and
// checksums.
package natsclient

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// Dial connects to a server. It stops waiting when the context ends. A lost connection is made again,
// however long that takes; what is sent meanwhile fails.
func Dial(ctx context.Context, address string, opts ...nats.Option) (*nats.Conn, error) {
	opts = append([]nats.Option{
		nats.Name("clew"), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(),                                       // a server that starts may not know its users yet
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the default one writes to stderr
	}, opts...)
	type result struct {
		conn *nats.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := nats.Connect(address, opts...)
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		return r.conn, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				r.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// DialError returns the error of a connection to a URL. The URL may contain a password, so an
// invalid URL is not shown.
func DialError(address string, err error) error {
	if _, bad := errors.AsType[*url.Error](err); bad {
		return errors.New("invalid URL (special characters in a password must be escaped)")
	}
	var hosts []string
	for server := range strings.SplitSeq(address, ",") {
		server = strings.TrimSpace(server)
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		if u, err := url.Parse(server); err == nil {
			hosts = append(hosts, u.Host)
		}
	}
	return fmt.Errorf("connect to %s: %w", strings.Join(hosts, ","), err)
}
