package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/nats/internal/natsclient"
)

// liveSubject returns the subject of messages that nobody keeps.
func (e *Engine) liveSubject(subject string) string {
	return e.name + "_LIVE." + natsclient.Escape(subject)
}

// Publish implements [fleet.Engine]. It does not wait for the server.
func (e *Engine) Publish(ctx context.Context, subject string, message []byte) error {
	err := ctx.Err()
	if err == nil {
		err = fleet.CheckSubject(subject)
	}
	if err == nil && int64(len(message)) > e.conn.MaxPayload() {
		err = fmt.Errorf("a message of %d bytes is too long; the server takes %d", len(message), e.conn.MaxPayload())
	}
	if err == nil {
		err = e.conn.Publish(e.liveSubject(subject), message)
	}
	if err != nil {
		return e.wrapError(ctx, "publish", err)
	}
	return nil
}

// Listen implements [fleet.Engine]. It listens from the call on, so the context has to end, or the
// loop to start. While the connection is lost, so are the messages.
func (e *Engine) Listen(ctx context.Context, subject string) iter.Seq2[[]byte, error] {
	sub, err := e.subscribe(ctx, subject)
	if err != nil {
		return func(yield func([]byte, error) bool) { yield(nil, e.wrapError(ctx, "listen", err)) }
	}
	stop := context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return func(yield func([]byte, error) bool) {
		defer func() {
			stop()
			_ = sub.Unsubscribe()
		}()
		for {
			m, err := sub.NextMsgWithContext(ctx)
			switch {
			case err == nil:
				if !yield(m.Data, nil) {
					return
				}
			case errors.Is(err, nats.ErrSlowConsumer): // some were lost
			case ctx.Err() != nil:
				yield(nil, ctx.Err())
				return
			default:
				yield(nil, e.wrapError(ctx, "listen", err))
				return
			}
		}
	}
}

// subscribe returns when the server knows about the subscription.
func (e *Engine) subscribe(ctx context.Context, subject string) (*nats.Subscription, error) {
	if err := fleet.CheckSubject(subject); err != nil {
		return nil, err
	}
	return answered(ctx, e, func(ctx context.Context) (*nats.Subscription, error) {
		sub, err := e.conn.SubscribeSync(e.liveSubject(subject))
		if err != nil {
			return nil, err
		}
		if err := e.conn.FlushWithContext(ctx); err != nil {
			_ = sub.Unsubscribe()
			return nil, err
		}
		return sub, nil
	})
}
