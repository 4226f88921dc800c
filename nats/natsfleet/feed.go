package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// heartbeat is the interval at which the server reports that there is nothing new.
	heartbeat = 3 * time.Second
	// feedBatch is the maximum number of messages that a feed returns at a time.
	feedBatch = 256
)

// A feed receives the last message of each subject, and then each message that is added.
type feed struct {
	conn *nats.Conn
	sub  *nats.Subscription
	last uint64 // the number of the last message in the feed
}

// openFeed opens a feed of the subjects of a stream that match a filter. With heads, messages have no body.
// The server drops a feed that nobody listens to.
func (e *Engine) openFeed(ctx context.Context, stream, filter string, heads bool) (*feed, error) {
	sub, err := e.conn.SubscribeSync(e.conn.NewInbox())
	if err != nil {
		return nil, err
	}
	f := &feed{conn: e.conn, sub: sub}
	err = sub.SetPendingLimits(-1, -1) // the server waits for slow readers
	if err == nil {
		_, err = answered(ctx, e, func(ctx context.Context) (jetstream.PushConsumer, error) {
			return e.js.CreatePushConsumer(ctx, stream, jetstream.ConsumerConfig{
				DeliverSubject:    sub.Subject,
				DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
				FilterSubject:     filter,
				HeadersOnly:       heads,
				AckPolicy:         jetstream.AckNonePolicy,
				MemoryStorage:     true,
				Replicas:          1,
				FlowControl:       true,
				IdleHeartbeat:     heartbeat,
				InactiveThreshold: 2 * heartbeat,
			})
		})
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *feed) close() { _ = f.sub.Unsubscribe() }

// next waits for messages and returns all that arrived. It returns none for a heartbeat, and an
// error if the server is silent for long or a message is missing.
func (f *feed) next(ctx context.Context) ([]message, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	var batch []message
	for wait := true; wait || len(batch) < feedBatch; wait = false {
		m, err := f.receive(ctx, wait)
		if err != nil {
			return batch, err
		}
		if m == nil {
			break
		}
		received, ok, err := f.accept(m)
		if err != nil {
			return batch, err
		}
		if ok {
			batch = append(batch, received)
		}
	}
	return batch, nil
}

// receive returns the next message, or nil if it should not wait for one.
func (f *feed) receive(ctx context.Context, wait bool) (*nats.Msg, error) {
	if !wait {
		if n, _, err := f.sub.Pending(); err != nil || n == 0 {
			return nil, err
		}
	}
	m, err := f.sub.NextMsgWithContext(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return m, err
}

// accept takes a message that was received. It reports whether that is one of the stream.
func (f *feed) accept(m *nats.Msg) (message, bool, error) {
	switch status := m.Header.Get("Status"); {
	case status == "100" && m.Reply != "": // the server asks whether this was read
		return message{}, false, m.Respond(nil)
	case status == "100":
		if stalled := m.Header.Get("Nats-Consumer-Stalled"); stalled != "" {
			return message{}, false, f.conn.Publish(stalled, nil)
		}
		return message{}, false, f.complete(m)
	case status != "":
		return message{}, false, fmt.Errorf("the server has ended the list: %s %s", status, m.Header.Get("Description"))
	}
	about, err := m.Metadata()
	if err != nil {
		return message{}, false, err
	}
	if f.last++; about.Sequence.Consumer != f.last {
		return message{}, false, errGap
	}
	return message{m.Subject, about.Sequence.Stream, about.Timestamp, m.Header, m.Data}, true, nil
}

// errGap is the error for a feed that lost a message.
var errGap = errors.New("a message got lost on its way from the server")

// complete returns an error if the server sent more messages than were received.
func (f *feed) complete(heartbeat *nats.Msg) error {
	if sent := heartbeat.Header.Get("Nats-Last-Consumer"); sent != "" && sent != fmt.Sprint(f.last) {
		return errGap
	}
	return nil
}
