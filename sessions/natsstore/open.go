package natsstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// DefaultStream is the name of the stream unless [Options] has another.
const DefaultStream = "CLEW_SESSIONS"

// answerTimeout is how long a server may take for one answer. It is a variable since tests, which
// may run on a busy machine, set a longer one.
var answerTimeout = 10 * time.Second

// Options say where the transcripts are. One of URL, Conn and Dir must be set, and no other of them.
type Options struct {
	// URL is that of a server, or of several of a cluster with commas between them. A connection that is lost is made
	// again, for as long as it takes.
	URL string
	// Connect has further options for the connection to URL, such as [nats.UserCredentials] and [nats.RootCAs].
	Connect []nats.Option
	// Conn is a connection that is there already. It stays open when the store is closed.
	Conn *nats.Conn
	// Dir is the folder of a server that runs in the process, for the store alone, and is made if it is not there. Two
	// stores cannot use a folder at once. What was appended is on the disk when Append returns. The server takes three
	// quarters of the space that is free when it starts. When it could not write, as to a disk that is full all the same,
	// it takes nothing more until the store was closed and is opened again.
	Dir string

	// Stream is the name of the stream, which Open makes if it is not there. "" means [DefaultStream]. Its subjects begin
	// with its name.
	Stream string
	// Replicas is how many servers of a cluster keep a stream that Open makes. 0 means 1.
	Replicas int
	// MaxBytes limits a stream that Open makes: when it is full, Append fails until something is deleted. 0 means that
	// the server sets the limit.
	MaxBytes int64
}

// A Store is a [sessions.Store] in a stream of NATS JetStream, and a [sessions.ProjectLister] and
// [sessions.Summarizer], too. Several stores, on several machines, may use a stream at once. Its methods wait for the
// server until the context ends, and for an answer not longer than ten seconds. They fail while there is no connection,
// and work again when it is back.
//
// On a cluster, Sessions and Summaries may miss what was appended a moment ago.
type Store struct {
	name     string
	conn     *nats.Conn
	stream   jetstream.Stream
	known    transcripts
	shutdown func() error // nil if the connection is the caller's
	said     func() error // the last error of the server in the process, nil if there is no such server
}

var (
	_ sessions.Store         = (*Store)(nil)
	_ sessions.ProjectLister = (*Store)(nil)
	_ sessions.Summarizer    = (*Store)(nil)
)

// Open connects to the server, or starts one, and makes the stream if it is not there. It returns an error for a stream
// that would drop or refuse what is appended. The context bounds Open alone. The store must be closed.
func Open(ctx context.Context, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{name: cmp.Or(opts.Stream, DefaultStream)}
	if err := s.connect(ctx, opts); err != nil {
		return nil, err
	}
	if err := s.openStream(ctx, opts); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends the connection, unless it is the caller's, and the server in the process, for which it waits ten seconds
// at most. Calls that are under way fail. It may be called more than once.
func (s *Store) Close() error {
	if s.shutdown == nil {
		return nil
	}
	return s.shutdown()
}

// openStream opens the stream, and makes it if it is not there.
func (s *Store) openStream(ctx context.Context, opts *Options) error {
	js, err := jetstream.New(s.conn)
	if err != nil {
		return fmt.Errorf("natsstore: %w", err)
	}
	config := jetstream.StreamConfig{
		Name:               s.name,
		Description:        "transcripts of Clew",
		Subjects:           []string{s.pattern("*", "*", "*")},
		Discard:            jetstream.DiscardNew,
		MaxBytes:           cmp.Or(opts.MaxBytes, -1),
		Replicas:           max(opts.Replicas, 1),
		AllowDirect:        true,
		AllowAtomicPublish: true,
	}
	s.stream, err = answered(ctx, s.conn, func(ctx context.Context) (jetstream.Stream, error) {
		stream, err := js.Stream(ctx, s.name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			stream, err = js.CreateStream(ctx, config)
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // by somebody who was faster
			stream, err = js.Stream(ctx, s.name)
		}
		return stream, err
	})
	if err != nil {
		return s.failed("stream "+s.name, err)
	}
	return s.checkStream(s.stream.CachedInfo().Config)
}

// checkStream returns an error for a stream that does not do as it must.
func (s *Store) checkStream(c jetstream.StreamConfig) error {
	var fault string
	switch {
	case !slices.Contains(c.Subjects, s.pattern("*", "*", "*")) && !slices.Contains(c.Subjects, s.name+".>"):
		fault = "has other subjects"
	case !c.AllowAtomicPublish:
		fault = "has no atomic batches, which a server has since 2.12"
	case !c.AllowDirect:
		fault = "does not allow direct access"
	case c.NoAck:
		fault = "does not acknowledge messages"
	case c.Retention != jetstream.LimitsPolicy:
		fault = "drops messages that were read"
	case c.MaxAge > 0 || c.MaxMsgsPerSubject > 0 || c.Discard != jetstream.DiscardNew:
		fault = "drops old messages"
	default:
		return nil
	}
	return fmt.Errorf("natsstore: the stream %s %s", c.Name, fault)
}

// ready returns the subject of a transcript, or an error if the context has ended or the key is bad.
func (s *Store) ready(ctx context.Context, key wire.SessionKey) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return s.subject(key)
}

// failed makes an error of the store, which says if the connection or the disk is the reason.
func (s *Store) failed(what string, err error) error {
	switch {
	case s.conn.IsClosed():
		return fmt.Errorf("natsstore: %s: the connection is closed: %w", what, err)
	case !s.conn.IsConnected() || errors.Is(err, nats.ErrDisconnected):
		return fmt.Errorf("natsstore: %s: the connection is lost: %w", what, err)
	}
	late := errors.Is(err, errNoAnswer) || errors.Is(err, context.DeadlineExceeded)
	if late && s.said != nil && s.said() != nil {
		err = fmt.Errorf("%w (the server says: %w)", err, s.said())
	}
	return fmt.Errorf("natsstore: %s: %w", what, err)
}

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
