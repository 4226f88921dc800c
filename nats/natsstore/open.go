package natsstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/nats/internal/natsclient"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// DefaultStream is the name of the stream if [Options] does not name another.
const DefaultStream = "CLEW_SESSIONS"

// answerTimeout is the time a server may take for one answer.
var answerTimeout = 10 * time.Second

var _ = timelimit.Register(&answerTimeout)

// Options locate the transcripts. Exactly one of URL, Conn and Dir must be set.
type Options struct {
	// URL is the URL of a server, such as "nats://localhost:4222", or of several servers of a
	// cluster, separated by commas. A lost connection is made again, however long that takes.
	URL string
	// Connect has more options for the connection to URL, such as [nats.UserCredentials] and
	// [nats.RootCAs].
	Connect []nats.Option
	// Conn is an existing connection. The store does not close it.
	Conn *nats.Conn
	// Dir is the directory of a server that runs in this process, for this store only. It is
	// created if it does not exist. Two stores can't use the same directory at the same time.
	// Entries are on disk when Append returns. Open looks at each message, but reads little of it.
	//
	// The server uses at most three quarters of the space that is free when it starts. If it can't
	// write, for example because the disk is full, it accepts nothing more until the store is
	// closed and opened again.
	Dir string

	// SyncAlways states that the servers of URL or Conn sync entries to disk before they
	// acknowledge them, as with the line sync_interval: always in the section jetstream of their
	// configuration. By default a server syncs every two minutes, and messages acknowledged since
	// are lost in a power failure. Clients can't see which of both is true, so Open needs this or
	// AllowUnsynced. Dir needs neither: its server always syncs.
	SyncAlways bool
	// AllowUnsynced accepts servers and streams that acknowledge entries before they are on disk: a
	// loss of power may lose them. With several replicas, that takes a loss of several servers at
	// once.
	AllowUnsynced bool

	// Stream is the name of the stream, and the first token of its subjects. Open creates the
	// stream if it does not exist. Empty means [DefaultStream].
	Stream string
	// Replicas is the number of servers of a cluster that keep a stream created by Open: 1, 3 or 5.
	// 0 means 1, so that the loss of one server is a loss of the stream; 3 survives the loss of
	// one.
	Replicas int
	// MaxBytes is the maximum size of a stream that Open creates. If the stream is full, Append
	// fails until something is deleted. 0 means the limit of the server.
	MaxBytes int64
}

// A Store is a [sessions.Store] in a stream of NATS JetStream. It is also a
// [sessions.ProjectLister] and a [sessions.Summarizer]. Several stores, on several machines, may
// use one stream at the same time.
//
// Its methods wait for the server until the context ends, but at most ten seconds for each answer.
// They fail while there is no connection, and work again when it is back. On a cluster, Sessions
// and Summaries may miss what was appended just before the call.
type Store struct {
	name        string
	conn        *nats.Conn
	stream      jetstream.Stream
	known       transcripts
	mark        *mark        // nil unless the server is in this process
	shutdown    func() error // nil if the caller owns the connection
	serverError func() error // the last error of the server in this process; nil if there is none
}

var (
	_ sessions.Store         = (*Store)(nil)
	_ sessions.ProjectLister = (*Store)(nil)
	_ sessions.Summarizer    = (*Store)(nil)
)

// Open connects to the server, or starts one, and creates the stream if it does not exist. It
// returns an error if the stream has settings with which it would drop or refuse entries, or unless
// allowed lose them with the power of the server. The context bounds only Open. The caller has to
// close the store.
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

// Close closes the connection, unless the caller owns it, and stops the server in this process. It
// waits at most ten seconds for that. Calls in progress fail. Close may be called more than once.
func (s *Store) Close() error {
	if s.shutdown == nil {
		return nil
	}
	return s.shutdown()
}

// openStream opens the stream, and creates it if it does not exist.
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
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // somebody else has just created it
			stream, err = js.Stream(ctx, s.name)
		}
		return stream, err
	})
	if err != nil {
		return s.wrapError("stream "+s.name, err)
	}
	config = s.stream.CachedInfo().Config
	if config.Storage != jetstream.FileStorage && !opts.AllowUnsynced {
		return fmt.Errorf("natsstore: stream %s is kept in memory only; set Options.AllowUnsynced to accept that", s.name)
	}
	if err := s.checkStream(config); err != nil || s.mark == nil {
		return err
	}
	if err := s.mark.begin(s.stream.CachedInfo().State); err != nil {
		return s.wrapError("stream "+s.name, err)
	}
	return nil
}

// checkStream returns an error if the settings of the stream are unsuitable.
func (s *Store) checkStream(c jetstream.StreamConfig) error {
	var fault string
	switch {
	case !slices.Contains(c.Subjects, s.pattern("*", "*", "*")) && !slices.Contains(c.Subjects, s.name+".>"):
		fault = "has other subjects"
	case c.PersistMode != jetstream.DefaultPersistMode: // atomic batches exclude it, too
		fault = "acknowledges messages before they are on disk"
	case !c.AllowAtomicPublish:
		fault = "does not allow atomic batches, which need server 2.12"
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
	return fmt.Errorf("natsstore: stream %s %s", c.Name, fault)
}

// checkedSubject returns the subject of a transcript, or an error if the context ended or the key
// is invalid.
func (s *Store) checkedSubject(ctx context.Context, key wire.SessionKey) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return s.subject(key)
}

// wrapError adds what was done to an error, and whether the connection or the disk is the reason.
func (s *Store) wrapError(what string, err error) error {
	switch {
	case s.conn.IsClosed():
		return fmt.Errorf("natsstore: %s: connection closed: %w", what, err)
	case !s.conn.IsConnected() || errors.Is(err, nats.ErrDisconnected):
		return fmt.Errorf("natsstore: %s: connection lost: %w", what, err)
	}
	late := errors.Is(err, errNoAnswer) || errors.Is(err, context.DeadlineExceeded)
	if late && s.serverError != nil && s.serverError() != nil {
		err = fmt.Errorf("%w (server: %w)", err, s.serverError())
	}
	return fmt.Errorf("natsstore: %s: %w", what, err)
}

// errUnknownSync is the error of a server that may lose what it acknowledged.
var errUnknownSync = errors.New("natsstore: a power failure of the server may lose entries that it has acknowledged: " +
	"start it with \"jetstream { sync_interval: always }\" and set Options.SyncAlways, " +
	"or set Options.AllowUnsynced to accept that")

// connect connects to the server that the options name.
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
	if opts.Dir != "" {
		return s.embed(ctx, opts.Dir)
	}
	if !opts.SyncAlways && !opts.AllowUnsynced {
		return errUnknownSync
	}
	if opts.Conn != nil {
		s.conn = opts.Conn
		return nil
	}
	conn, err := natsclient.Dial(ctx, opts.URL, opts.Connect...)
	if err != nil {
		return fmt.Errorf("natsstore: %w", err)
	}
	s.conn, s.shutdown = conn, func() error { conn.Close(); return nil }
	return nil
}
