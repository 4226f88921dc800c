package natsstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// connect connects to what the options name.
func (s *Store) connect(ctx context.Context, opts *Options) error {
	set := 0
	for _, given := range []bool{opts.URL != "", opts.Conn != nil, opts.Dir != ""} {
		if given {
			set++
		}
	}
	if set != 1 {
		return errors.New("natsstore: exactly one of URL, Conn and Dir must be set")
	}
	if opts.Conn != nil {
		s.conn = opts.Conn
		return nil
	}
	if opts.Dir != "" {
		return s.embed(ctx, opts.Dir)
	}
	conn, err := dial(ctx, opts.URL, opts.Connect...)
	if err != nil {
		return dialError(opts.URL, err)
	}
	s.conn, s.shutdown = conn, func() error { conn.Close(); return nil }
	return nil
}

// dial connects, and stops to wait for it when the context ends.
func dial(ctx context.Context, address string, opts ...nats.Option) (*nats.Conn, error) {
	opts = append([]nats.Option{
		nats.Name("clew"), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1),
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

// dialError is the error of a connection to a URL, which may have a password: of one that is bad nothing is shown.
func dialError(address string, err error) error {
	if _, bad := errors.AsType[*url.Error](err); bad {
		return errors.New("natsstore: the URL is bad (a password must be escaped)")
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
	return fmt.Errorf("natsstore: connect to %s: %w", strings.Join(hosts, ","), err)
}
