// Package natsclient has the connections, subject tokens and checksums of the packages that use
// NATS.
package natsclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// Dial connects to one of the [Servers] of an address, or to the server that the options name if it is
// "". It stops waiting when the context ends. A lost connection is made again, however long that takes;
// what is sent meanwhile fails. Errors have the hosts of the address, and nothing else of it.
func Dial(ctx context.Context, address string, opts ...nats.Option) (*nats.Conn, error) {
	if address == "" {
		return dial(ctx, "", opts)
	}
	servers, err := Servers(address)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, address, opts)
	if _, bad := errors.AsType[*url.Error](err); bad { // it has the whole URL
		return nil, ErrURL
	}
	if err != nil {
		var hosts []string
		for _, s := range servers {
			hosts = append(hosts, s.Host)
		}
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(hosts, ","), err)
	}
	return conn, nil
}

// maxTries is the maximum number of connections to a server that is so busy that it sends its own PING before it answers
// the client's.
const maxTries = 10

func dial(ctx context.Context, address string, opts []nats.Option) (*nats.Conn, error) {
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
		for try := 1; try < maxTries && err != nil && strings.Contains(err.Error(), "expected 'PONG', got 'PING'") && ctx.Err() == nil; try++ {
			conn, err = nats.Connect(address, opts...)
		}
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

// ErrURL is the error of an address that is not valid. It has nothing of the address, which may have a
// password.
var ErrURL = errors.New("invalid URL: it must be like nats://USER:PASSWORD@HOST:4222, " +
	"with special characters of the password as %2F, %40 and so on")

// schemes are the schemes of URLs that package nats knows.
var schemes = []string{"nats", "tls", "ws", "wss"}

// Servers returns the servers of an address: URLs with commas between them. The scheme nats:// may be
// missing. The error is [ErrURL].
//
// It refuses all that may be a part of a password that is not escaped: no host that it returns is one.
// NATS has no use for the rest of a URL.
func Servers(address string) ([]*url.URL, error) {
	var servers []*url.URL
	for text := range strings.SplitSeq(address, ",") {
		text = strings.TrimSpace(text)
		if !strings.Contains(text, "://") {
			if len(servers) > 0 && strings.Contains(text, "@") { // the comma may belong to a password
				return nil, ErrURL
			}
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		if err != nil || !slices.Contains(schemes, u.Scheme) || !isHost(u) || strings.Trim(u.Path, "/") != "" ||
			u.RawQuery != "" || u.Fragment != "" {
			return nil, ErrURL
		}
		servers = append(servers, u)
	}
	return servers, nil
}

// isHost reports whether a URL has a host, and a port that is a number or missing.
func isHost(u *url.URL) bool {
	_, err := strconv.ParseUint(cmp.Or(u.Port(), "0"), 10, 16)
	return err == nil && u.Hostname() != "" && strings.Contains(u.Hostname(), ":") == strings.HasPrefix(u.Host, "[")
}
