package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/internal/pause"
)

// retryDelay is the delay before a request is repeated that the server can't serve yet.
const retryDelay = 20 * time.Millisecond

var errNoAnswer = errors.New("no answer from the server")

// A link knows whether there is a connection. Its contexts end with the connection.
type link struct {
	mu   sync.Mutex
	up   chan struct{} // is closed while there is a connection
	down context.CancelCauseFunc
	life context.Context

	left time.Time // when the client last went to another server
	over error     // why there will be no connection any more, or nil
	why  error     // why there is none now, if that is known

	calls   map[*call]bool // that wait for an answer
	refusal error          // the last message or subscription that the server did not permit

	optional string    // a subject that the server need not permit
	silent   time.Time // when a message to that was not answered, on this connection
}

// A call is a message that was sent.
type call struct {
	subject string
	cancel  context.CancelCauseFunc
}

func newLink() *link {
	l := &link{up: make(chan struct{}), calls: map[*call]bool{}}
	l.connected()
	return l
}

// options returns the options of a connection that reports to the link.
func (l *link) options() []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.disconnected(nats.ErrDisconnected) }),
		nats.ReconnectHandler(func(*nats.Conn) { l.connected() }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { l.explain(err) }),
		nats.ClosedHandler(func(*nats.Conn) { l.end(nats.ErrConnectionClosed) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { l.failed(err) }),
	}
}

// failed notes a request that the server does not permit. The server does not answer it, so this
// wakes the waiting callers.
func (l *link) failed(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !strings.Contains(err.Error(), strconv.Quote(l.optional)) {
		l.refusal = err
	}
	for c := range l.calls {
		if strings.Contains(err.Error(), strconv.Quote(c.subject)) {
			c.cancel(err)
		}
	}
}

// noteSilence takes note of whether a message to the optional subject was not answered.
func (l *link) noteSilence(silent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent = (time.Time{}); silent {
		l.silent = time.Now()
	}
}

// isSilent reports whether that was so a short time ago.
func (l *link) isSilent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.silent) < silence
}

// refused returns what the server did not permit last, or nil.
func (l *link) refused() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusal
}

// expect returns a context for a message to a subject. It ends if the server does not permit the message. The
// caller has to call the function.
func (l *link) expect(ctx context.Context, subject string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{subject, cancel}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[c] = true
	return ctx, func() {
		cancel(nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.calls, c)
	}
}

func (l *link) connected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil && (l.life == nil || l.life.Err() != nil) {
		l.why, l.silent = nil, time.Time{}
		l.life, l.down = context.WithCancelCause(context.Background())
		close(l.up)
	}
}

func (l *link) disconnected(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil && l.life.Err() == nil {
		l.down(cause)
		l.up = make(chan struct{})
	}
}

// explain notes the reason why there is no connection.
func (l *link) explain(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() != nil {
		l.why = why
	}
}

// missing adds the reason for a missing connection to an error, if it is known.
func (l *link) missing(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		return err
	}
	return fmt.Errorf("%w (%w)", err, l.why)
}

// state returns a context that ends with the connection, a channel that is closed while there is one, and why there
// will be none any more, or nil.
func (l *link) state() (life context.Context, up <-chan struct{}, over error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life, l.up, l.over
}

// end lets nobody use the connection, or wait for one, any more.
func (l *link) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return
	}
	l.over = why
	if l.life.Err() == nil {
		l.down(why)
	} else {
		close(l.up)
	}
}

// during waits for a connection, but not longer than answerTimeout, and returns a context that ends with it.
// The caller has to call the function.
func (l *link) during(ctx context.Context) (context.Context, context.CancelFunc, error) {
	for late := time.After(answerTimeout); ; {
		life, up, over := l.state()
		if over != nil {
			return nil, nil, over
		}
		select {
		case <-ctx.Done():
			return nil, nil, l.missing(context.Cause(ctx))
		case <-late:
			return nil, nil, l.missing(nats.ErrDisconnected)
		case <-up:
		}
		if life.Err() != nil {
			continue // it has just changed
		}
		linked, cancel := context.WithCancelCause(ctx)
		unlink := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
		return linked, func() { unlink(); cancel(nil) }, nil
	}
}

// answered waits for an answer, but not longer than answerTimeout, and not after the connection is lost.
func answered[T any](ctx context.Context, e *Engine, wait func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("%w within %v", errNoAnswer, answerTimeout))
	defer cancel()
	linked, unlink, err := e.link.during(limited)
	if err != nil {
		return none, err
	}
	defer unlink()
	sent := time.Now()
	answer, err := wait(linked)
	if err != nil && ctx.Err() == nil && linked.Err() != nil {
		err = context.Cause(linked)
	}
	if err != nil && time.Since(sent) > answerTimeout/2 {
		e.link.leave(e.conn)
	}
	return answer, err
}

// leave lets the client go to another server of a cluster, if there is one: this one does not
// answer, as if cut off from the others. It does so again only after a while.
func (l *link) leave(conn *nats.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(conn.Servers()) < 2 || time.Since(l.left) < answerTimeout {
		return
	}
	l.left = time.Now()
	_ = conn.ForceReconnect()
}

// request sends a message and returns the answer. While nobody is there to receive the message, as when a
// cluster elects a leader, it tries again.
func (e *Engine) request(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	return answered(ctx, e, func(ctx context.Context) (*nats.Msg, error) {
		ctx, done := e.link.expect(ctx, m.Subject)
		defer done()
		for {
			answer, err := e.conn.RequestMsgWithContext(ctx, m)
			if err != nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if !errors.Is(err, nats.ErrNoResponders) {
				return answer, err
			}
			if err := pause.For(ctx, retryDelay); err != nil {
				return nil, err
			}
		}
	})
}

// ask sends a request to the server's interface, and decodes the answer. It tries again while a cluster has no
// leader, and after the connection was lost: what is asked here can be asked twice.
func (e *Engine) ask(ctx context.Context, subject string, question, answer any) error {
	return e.again(ctx, func() (bool, error) {
		err := e.askOnce(ctx, subject, question, answer)
		return refused(err, noLeader) || isLost(err), err
	})
}

// isLost reports whether an error means a lost connection, which may return.
func isLost(err error) bool {
	// The second one comes from the client, which keeps nothing until there is a connection.
	return errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// again calls a function until it asks for no repetition, or answerTimeout passes.
func (e *Engine) again(ctx context.Context, f func() (again bool, err error)) error {
	for deadline := time.Now().Add(answerTimeout); ; {
		again, err := f()
		if !again || time.Now().After(deadline) {
			return err
		}
		if err := pause.For(ctx, retryDelay); err != nil {
			return err
		}
	}
}

func (e *Engine) askOnce(ctx context.Context, subject string, question, answer any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	m, err := e.request(ctx, &nats.Msg{Subject: subject, Data: text})
	if err != nil {
		return err
	}
	var refusal struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &refusal); err != nil {
		return fmt.Errorf("decoding the server's answer: %w", err)
	}
	if refusal.Error != nil {
		return refusal.Error
	}
	return json.Unmarshal(m.Data, answer)
}

// wrapError adds the action to an error, and the server's explanation.
func (e *Engine) wrapError(ctx context.Context, what string, err error) error {
	late := errors.Is(err, errNoAnswer) || errors.Is(err, context.DeadlineExceeded)
	if isLost(err) && !errors.Is(err, nats.ErrDisconnected) {
		err = nats.ErrDisconnected
	}
	if refusal := e.link.refused(); late && refusal != nil {
		err = fmt.Errorf("%w (%w)", err, refusal)
	}
	if late {
		if fault := e.serverFault(ctx); fault != "" {
			err = fmt.Errorf("%w (server: %s)", err, fault)
		}
	}
	return fmt.Errorf("natsfleet: %s: %w", what, err)
}
