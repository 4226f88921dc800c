package natsstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// The headers of an append. With the headers of a batch, the server stores all messages of the
// batch or none.
const (
	afterHeader         = jetstream.ExpectedLastSubjSeqHeader
	batchHeader         = "Nats-Batch-Id"
	batchSequenceHeader = "Nats-Batch-Sequence"
	commitHeader        = "Nats-Batch-Commit"
	summaryHeader       = "Clew-Summary"
	checksumHeader      = "Clew-Checksum"
)

const (
	// maxSummary is the length of the longest summary in a header. All headers together have at
	// most 64 KB.
	maxSummary = 16 << 10
	// maxPayload is the largest size of a message, unless the limit of the server is smaller. A
	// quarter of it is for headers.
	maxPayload = 1 << 20
)

// Append adds entries to a transcript. It fails if the stream is full. If the context ends or no
// answer comes, the entries may have been stored, but then all of them. See [sessions.Store].
func (s *Store) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	subject, err := s.checkedSubject(ctx, key)
	if err != nil {
		return err
	}
	checked, err := checkEntries(key, entries)
	if err != nil || len(checked) == 0 {
		return err
	}
	t, err := s.known.acquire(ctx, subject)
	if err != nil {
		return err
	}
	defer s.known.release(t)
	if err := s.append(ctx, t, checked); err != nil {
		return s.wrapError(fmt.Sprintf("append to %q", key), err)
	}
	return nil
}

// append appends the entries that the transcript does not have yet. It first relies on what it
// remembers. If another writer appended since, it reads that and tries again.
func (s *Store) append(ctx context.Context, t *transcript, entries []entry) error {
	for current := false; ; current = true {
		fresh := t.fresh(entries)
		if len(fresh) == 0 && current {
			return nil
		}
		if len(fresh) > 0 {
			if err := s.publishInTurn(ctx, t, fresh); !outdated(err) {
				return err
			}
		}
		before := t.last
		if err := s.catchUp(ctx, t); err != nil {
			return err
		}
		if len(fresh) > 0 && t.last == before { // another writer's append is not visible yet, or can't be read
			if t.last == 0 {
				if err := s.complete(ctx, span{subject: t.subject}, 0); err != nil {
					return err
				}
			}
			if pause.For(ctx, retryDelay) != nil {
				return ctx.Err()
			}
		}
	}
}

// checkEntries checks the entries, and returns them without line breaks.
func checkEntries(key wire.SessionKey, entries []wire.JSON) ([]entry, error) {
	checked := make([]entry, len(entries))
	for i, text := range entries {
		uuid, err := sessions.EntryUUID(text)
		if err != nil {
			return nil, fmt.Errorf("%w (entry %d for %s)", err, i, key)
		}
		if strings.Contains(string(text), "\n") {
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(text)); err != nil {
				return nil, err
			}
			text = wire.JSON(b.String())
		}
		checked[i] = entry{text, uuid}
	}
	return checked, nil
}

// publishInTurn publishes entries, and waits while the server has no room for another batch. A
// server accepts 50 batches at a time, and drops an unfinished one after ten seconds.
func (s *Store) publishInTurn(ctx context.Context, t *transcript, entries []entry) error {
	for {
		err := s.publish(ctx, t, entries)
		if !refused(err, tooManyBatches) {
			return err
		}
		if pause.For(ctx, retryDelay) != nil {
			return ctx.Err()
		}
	}
}

// publish appends entries after the last known message.
func (s *Store) publish(ctx context.Context, t *transcript, entries []entry) error {
	var body []byte
	for i, e := range entries {
		if i > 0 {
			body = append(body, '\n')
		}
		body = append(body, e.text...)
	}
	summary := t.summaryWith(entries...)
	messages := cut(t.subject, body, int(min(s.conn.MaxPayload(), maxPayload)/4*3))
	messages[0].Header.Set(afterHeader, strconv.FormatUint(t.last, 10))
	if text, err := json.Marshal(summary); err == nil && len(text) <= maxSummary && t.isMain() {
		messages[len(messages)-1].Header.Set(summaryHeader, string(text))
	}
	for _, m := range messages {
		m.Header.Set(checksumHeader, checksum(t.subject, m))
	}
	var last uint64
	err := s.mark.adding(func() (err error) {
		for _, m := range messages {
			if last, err = s.send(ctx, m); err != nil {
				return err
			}
		}
		if last == 0 {
			return errors.New("the server did not confirm the append")
		}
		return s.mark.added(last, uint64(len(messages)))
	})
	if err != nil {
		return err
	}
	t.last, t.summary = last, summary
	t.addUUIDs(entries...)
	return nil
}

// cut splits a body into messages of at most size bytes. If there are several, they form a batch.
func cut(subject string, body []byte, size int) []*nats.Msg {
	var messages []*nats.Msg
	for data := range slices.Chunk(body, max(size, 1)) {
		messages = append(messages, &nats.Msg{Subject: subject, Header: nats.Header{}, Data: data})
	}
	if len(messages) == 1 {
		return messages
	}
	batch := rand.Text()
	for i, m := range messages {
		m.Header.Set(batchHeader, batch)
		m.Header.Set(batchSequenceHeader, strconv.Itoa(i+1))
	}
	messages[len(messages)-1].Header.Set(commitHeader, "1")
	return messages
}

// send publishes a message and waits until the server has it. It returns the sequence number of the
// message, or 0 for a message of a batch that is not the last.
func (s *Store) send(ctx context.Context, m *nats.Msg) (uint64, error) {
	answer, err := s.request(ctx, m)
	if err != nil || len(answer.Data) == 0 {
		return 0, err
	}
	var ack struct {
		Error    *jetstream.APIError `json:"error"`
		Sequence uint64              `json:"seq"`
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return 0, fmt.Errorf("decoding the server's answer: %w", err)
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	return ack.Sequence, nil
}

// tooManyBatches is the server's error code if it has no room for another batch.
const tooManyBatches jetstream.ErrorCode = 10210

// outdated reports whether the server refused an append because another writer appended since.
func outdated(err error) bool {
	return refused(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// refused reports whether the server returned one of these error codes.
func refused(err error, codes ...jetstream.ErrorCode) bool {
	refusal, ok := errors.AsType[*jetstream.APIError](err)
	return ok && slices.Contains(codes, refusal.ErrorCode)
}

// catchUp reads what others appended. If the transcript was deleted, it forgets what it knew.
func (s *Store) catchUp(ctx context.Context, t *transcript) error {
	last, err := s.last(ctx, t.subject)
	if err != nil || last == t.last {
		return err
	}
	err = s.learn(ctx, t, last)
	if errors.Is(err, errGap) && t.last > 0 {
		t.forget()
		err = s.learn(ctx, t, last)
	}
	if err != nil {
		t.forget()
	}
	if errors.Is(err, errDeleted) {
		return nil
	}
	return err
}

// learn reads the messages after the last known one, up to the given one.
func (s *Store) learn(ctx context.Context, t *transcript, last uint64) error {
	if last < t.last {
		t.forget()
	}
	var messages uint64
	for e, err := range s.entries(ctx, span{t.subject, t.last, last}, &messages) {
		if err != nil {
			return err
		}
		t.addUUIDs(e)
		t.summary = t.summaryWith(e)
	}
	t.last = last
	return nil
}
