package natsstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/internal/pause"
)

// The server sends at most pageSize messages at a time, and not many more bytes than pageBytes,
// until the reader asks for more.
const (
	pageSize  = 512
	pageBytes = 2 << 20
)

// retryDelay is the delay before asking again a server of a cluster that does not have the latest
// messages yet.
const retryDelay = 20 * time.Millisecond

var (
	errNoAnswer = errors.New("no answer from the server")
	errDeleted  = errors.New("the transcript was deleted during the call")
)

// A span is a part of a transcript: the messages after the sequence number after, up to last.
type span struct {
	subject     string
	after, last uint64
}

// A getRequest asks the server for stored messages.
type getRequest struct {
	Sequence      uint64 `json:"seq,omitempty"`
	NextBySubject string `json:"next_by_subj,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
	Batch         int    `json:"batch,omitempty"`
	MaxBytes      int    `json:"max_bytes,omitempty"`
}

// last returns the sequence number of the last message of a transcript, or 0. It asks the leader of
// a cluster, which always knows it.
func (s *Store) last(ctx context.Context, subject string) (uint64, error) {
	question, err := json.Marshal(getRequest{LastBySubject: subject})
	if err != nil {
		return 0, err
	}
	answer, err := s.request(ctx, &nats.Msg{Subject: "$JS.API.STREAM.MSG.GET." + s.name, Data: question})
	if err != nil {
		return 0, err
	}
	var found struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Sequence uint64 `json:"seq"`
		} `json:"message"`
	}
	if err := json.Unmarshal(answer.Data, &found); err != nil {
		return 0, err
	}
	if found.Error != nil && found.Error.ErrorCode != jetstream.JSErrCodeMessageNotFound {
		return 0, found.Error
	}
	return found.Message.Sequence, nil
}

// A message is a message as it was stored.
type message struct {
	*nats.Msg
	sequence uint64
}

// messages returns the messages of a span, from any server of a cluster. It requests the next page
// when the reader gets there.
func (s *Store) messages(ctx context.Context, sp span) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		for sp.after < sp.last {
			page, err := answered(ctx, s.conn, func(ctx context.Context) ([]message, error) { return s.page(ctx, sp) })
			if err == nil && len(page) == 0 {
				err = s.awaitReplica(ctx, sp)
			}
			if err != nil {
				yield(message{}, err)
				return
			}
			for _, m := range page {
				if m.sequence <= sp.after || m.sequence > sp.last {
					yield(message{}, errDeleted)
					return
				}
				if !yield(m, nil) || m.sequence == sp.last {
					return
				}
				sp.after = m.sequence
			}
		}
	}
}

// page returns the first messages of a span, and perhaps some after it.
func (s *Store) page(ctx context.Context, sp span) ([]message, error) {
	question, err := json.Marshal(getRequest{
		Sequence: sp.after + 1, NextBySubject: sp.subject, Batch: pageSize, MaxBytes: pageBytes,
	})
	if err != nil {
		return nil, err
	}
	answers, err := s.conn.SubscribeSync(s.conn.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := s.conn.PublishRequest("$JS.API.DIRECT.GET."+s.name, answers.Subject, question); err != nil {
		return nil, err
	}
	var page []message
	for {
		answer, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		// The server adds its headers after the message's own.
		numbers := answer.Header.Values(jetstream.SequenceHeader)
		if len(numbers) == 0 {
			return page, pageEnd(answer)
		}
		sequence, err := strconv.ParseUint(numbers[len(numbers)-1], 10, 64)
		if err != nil {
			return nil, err
		}
		page = append(page, message{answer, sequence})
	}
}

// pageEnd returns an error unless the answer reports that there are no more messages.
func pageEnd(answer *nats.Msg) error {
	switch status := answer.Header.Get("Status"); status {
	case "204", "404":
		return nil
	default:
		return fmt.Errorf("unexpected status %s %s", status, answer.Header.Get("Description"))
	}
}

// awaitReplica waits a short time if a server does not have the rest of a span yet. It returns an
// error if no server has it.
func (s *Store) awaitReplica(ctx context.Context, sp span) error {
	last, err := s.last(ctx, sp.subject)
	if err != nil {
		return err
	}
	if last < sp.last {
		return errDeleted
	}
	_ = pause.For(ctx, retryDelay)
	return ctx.Err()
}

// request sends a message and returns the answer.
func (s *Store) request(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	return answered(ctx, s.conn, func(ctx context.Context) (*nats.Msg, error) {
		return s.conn.RequestMsgWithContext(ctx, m)
	})
}

// answered waits for an answer, but not longer than answerTimeout, and not after the connection is
// lost.
func answered[T any](ctx context.Context, conn *nats.Conn, wait func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("%w within %v", errNoAnswer, answerTimeout))
	defer cancel()
	limited, lose := context.WithCancelCause(limited)
	defer lose(nil)
	lost := conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer conn.RemoveStatusListener(lost)
	go func() {
		if _, ok := <-lost; ok {
			lose(nats.ErrDisconnected)
		}
	}()
	if !conn.IsConnected() {
		lose(nats.ErrDisconnected)
	}
	answer, err := wait(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	return answer, err
}
