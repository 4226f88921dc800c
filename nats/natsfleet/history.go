package natsfleet

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

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/pause"
)

// The server sends at most pageSize messages at a time, and not many more bytes than pageBytes.
const (
	pageSize  = 512
	pageBytes = 2 << 20
)

// errRemoved is the error for messages that were removed while they were listed.
var errRemoved = errors.New("it was removed meanwhile")

// History implements [fleet.Engine]. Of a worker there is only the last record. If an earlier change is
// missing, the error comes after the changes that are there.
func (e *Engine) History(ctx context.Context, t fleet.Table, key string) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		err := errors.Join(ctx.Err(), fleet.CheckTable(t), fleet.CheckKey(key))
		if err == nil {
			err = e.history(ctx, t, key, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(fleet.Record{}, e.wrapError(ctx, "history of "+key, err))
		}
	}
}

func (e *Engine) history(ctx context.Context, t fleet.Table, key string, yield func(fleet.Record, error) bool) error {
	if t == fleet.Workers {
		r, err := e.get(ctx, t, key)
		if errors.Is(err, fleet.ErrNotFound) {
			return nil
		}
		if err == nil && !yield(r, nil) {
			return errStopped
		}
		return err
	}
	subject := e.subject(t, key)
	last, err := e.last(ctx, e.tableStream(t), subject)
	if err != nil || last == nil {
		return err
	}
	var fault error
	var before uint64
	for m, err := range e.messages(ctx, e.tableStream(t), span{subject, 0, last.sequence}) {
		if err != nil {
			return err
		}
		// The first one follows the mark of a record that was removed, or nothing.
		after := m.header.Get(afterHeader)
		if before > 0 && after != strconv.FormatUint(before, 10) && fault == nil {
			fault = fmt.Errorf("changes between %d and %d are missing", before, m.sequence)
		}
		if before = m.sequence; m.removed() {
			continue
		}
		r, err := m.record()
		if err != nil {
			return err
		}
		if !yield(r, nil) {
			return errStopped
		}
	}
	return fault
}

// A span is a part of the messages of a subject: those after a number, up to another one.
type span struct {
	subject     string
	after, last uint64
}

// messages returns the messages of a span, from any server of a cluster. It requests the next page when
// the reader gets there.
func (e *Engine) messages(ctx context.Context, stream string, sp span) iter.Seq2[*message, error] {
	return func(yield func(*message, error) bool) {
		for sp.after < sp.last {
			page, err := e.direct(ctx, stream, getRequest{
				Sequence: sp.after + 1, NextBySubject: sp.subject, Batch: pageSize, MaxBytes: pageBytes,
			})
			if err == nil && len(page) == 0 {
				err = e.awaitReplica(ctx, stream, sp)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page {
				m := &page[i]
				if m.sequence <= sp.after || m.sequence > sp.last {
					yield(nil, errRemoved)
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

// awaitReplica waits a short time if a server does not have the rest of a span yet. It returns an error if
// no server has it.
func (e *Engine) awaitReplica(ctx context.Context, stream string, sp span) error {
	last, err := e.last(ctx, stream, sp.subject)
	if err != nil {
		return err
	}
	if last == nil || last.sequence < sp.last || last.removed() {
		return errRemoved
	}
	return pause.For(ctx, retryDelay)
}

// direct returns the messages that any server of a cluster has for a request.
func (e *Engine) direct(ctx context.Context, stream string, request getRequest) ([]message, error) {
	question, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	return answered(ctx, e, func(ctx context.Context) ([]message, error) {
		for {
			page, err := e.directOnce(ctx, stream, question)
			if !errors.Is(err, nats.ErrNoResponders) {
				return page, err
			}
			if err := pause.For(ctx, retryDelay); err != nil {
				return nil, err
			}
		}
	})
}

func (e *Engine) directOnce(ctx context.Context, stream string, question []byte) ([]message, error) {
	answers, err := e.conn.SubscribeSync(e.conn.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := answers.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	if err := e.conn.PublishRequest("$JS.API.DIRECT.GET."+stream, answers.Subject, question); err != nil {
		return nil, err
	}
	var page []message
	for {
		answer, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		// The server adds its headers after the message's own.
		if len(answer.Header.Values(jetstream.SequenceHeader)) == 0 {
			return page, pageEnd(answer)
		}
		m, err := directMessage(answer)
		if err != nil {
			return nil, err
		}
		page = append(page, m)
	}
}

func directMessage(answer *nats.Msg) (message, error) {
	added := func(name string) string {
		values := answer.Header.Values(name)
		if len(values) == 0 {
			return ""
		}
		return values[len(values)-1]
	}
	sequence, err := strconv.ParseUint(added(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return message{}, err
	}
	stored, err := time.Parse(time.RFC3339Nano, added(jetstream.TimeStampHeaer))
	if err != nil {
		return message{}, err
	}
	return message{added(jetstream.SubjectHeader), sequence, stored, answer.Header, answer.Data}, nil
}

// pageEnd returns an error unless the answer marks the end of the messages.
func pageEnd(answer *nats.Msg) error {
	switch status := answer.Header.Get("Status"); status {
	case "204", "404":
		return nil
	case "503":
		return nats.ErrNoResponders
	default:
		return fmt.Errorf("unexpected status %s %s", status, answer.Header.Get("Description"))
	}
}
