package natsfleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/nats/internal/natsclient"
)

// tableStream returns the name of the stream of a table, which is also the first token of its subjects.
func (e *Engine) tableStream(t fleet.Table) string { return e.name + "_" + strings.ToUpper(string(t)) }

func (e *Engine) sessionStream() string { return e.name + "_SESSIONS" }

// subject returns the subject of a record. The part of the key before the first dot is a separate
// token, so that the server can list the records of a group.
func (e *Engine) subject(t fleet.Table, key string) string {
	group, rest, _ := strings.Cut(key, ".")
	if group == "" || rest == "" { // no token is empty
		return e.tableStream(t) + "." + natsclient.Escape(key)
	}
	return e.tableStream(t) + "." + natsclient.Escape(group) + "." + natsclient.Escape(rest)
}

// Set implements [fleet.Engine].
func (e *Engine) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	if err := errors.Join(ctx.Err(), fleet.CheckTable(t), fleet.CheckRecords(records)); err != nil {
		return nil, e.wrapError(ctx, "set", err)
	}
	if len(records) == 0 {
		return nil, nil
	}
	if t == fleet.Jobs && slices.ContainsFunc(records, isNew) {
		if err := e.checkDisk(ctx); err != nil {
			return nil, e.wrapError(ctx, "set "+records[0].Key, err)
		}
	}
	after := make([]uint64, len(records))
	for i, r := range records {
		after[i] = r.Revision
	}
	write := rand.Text()
	var revisions []uint64
	err := e.again(ctx, func() (again bool, err error) {
		if revisions, err = e.publishRecords(ctx, t, records, after, write); !conflicting(err) {
			return false, err
		}
		stored, failure := e.compare(ctx, t, records, after, write)
		if stored != nil || failure != nil {
			revisions, err = stored, failure
		}
		return stored == nil && failure == nil, err
	})
	if err != nil {
		return nil, e.wrapError(ctx, "set "+records[0].Key, err)
	}
	return revisions, nil
}

func isNew(r fleet.Record) bool { return r.Revision == 0 }

// compare reads records that could not be written. The error is ErrConflict if one changed. If they
// are as this write left them, it returns their revisions: a cluster may perform a write and refuse
// its repetition. If nothing changed, the write can be tried again: either another one was in
// progress and failed, or a record was removed, and after has the number of the mark that the new
// one follows.
func (e *Engine) compare(ctx context.Context, t fleet.Table, records []fleet.Record, after []uint64, write string) ([]uint64, error) {
	revisions := make([]uint64, len(records))
	own := 0
	for i, r := range records {
		last, err := e.last(ctx, e.tableStream(t), e.subject(t, r.Key))
		switch {
		case err != nil:
			return nil, err
		case last != nil && last.header.Get(writeHeader) == write:
			revisions[i] = last.sequence
			own++
		case r.Revision == 0 && (last == nil || last.removed()):
			after[i] = lastSequence(last)
		case lastSequence(last) != r.Revision:
			return nil, fleet.ErrConflict
		}
	}
	if own < len(records) {
		return nil, nil
	}
	return revisions, nil
}

// publishRecords writes records after the given messages of their subjects.
func (e *Engine) publishRecords(ctx context.Context, t fleet.Table, records []fleet.Record, after []uint64, write string) ([]uint64, error) {
	messages := make([]*nats.Msg, len(records))
	for i, r := range records {
		messages[i] = recordMessage(e.subject(t, r.Key), r)
		messages[i].Header.Set(afterHeader, strconv.FormatUint(after[i], 10))
		messages[i].Header.Set(writeHeader, write)
	}
	last, err := e.publish(ctx, messages)
	if err != nil {
		return nil, err
	}
	revisions := make([]uint64, len(records))
	for i := range revisions {
		revisions[i] = last - uint64(len(records)-1-i)
	}
	return revisions, nil
}

// publish writes messages, all or none, and returns the number of the last one. It waits while the server
// has no room for another batch: a server accepts 50 at a time, and drops an unfinished one after ten
// seconds. A batch is also dropped if another server becomes the leader meanwhile.
func (e *Engine) publish(ctx context.Context, messages []*nats.Msg) (uint64, error) {
	if len(messages) == 1 {
		return e.send(ctx, messages[0])
	}
	var last uint64
	err := e.again(ctx, func() (bool, error) {
		var err error
		last, err = e.publishBatch(ctx, messages)
		return refused(err, tooManyBatches, incompleteBatch), err
	})
	return last, err
}

func (e *Engine) publishBatch(ctx context.Context, messages []*nats.Msg) (uint64, error) {
	batch := rand.Text()
	for i, m := range messages {
		m.Header.Set(batchHeader, batch)
		m.Header.Set(batchSequenceHeader, strconv.Itoa(i+1))
	}
	last := messages[len(messages)-1]
	last.Header.Set(commitHeader, "1")
	// The answer to the first message shows whether there is room. If a later one gets lost, the
	// server refuses the last one.
	if _, err := e.send(ctx, messages[0]); err != nil {
		return 0, err
	}
	for _, m := range messages[1 : len(messages)-1] {
		if err := e.conn.PublishMsg(m); err != nil {
			return 0, err
		}
	}
	number, err := e.send(ctx, last)
	if err == nil && number < uint64(len(messages)) {
		err = errors.New("the server did not confirm the batch")
	}
	return number, err
}

// send publishes a message and waits until the server has it. It returns the number of the message, or 0
// for a message of a batch that is not the last.
func (e *Engine) send(ctx context.Context, m *nats.Msg) (uint64, error) {
	answer, err := e.request(ctx, m)
	if err != nil {
		return 0, err
	}
	if len(answer.Data) == 0 && m.Header.Get(batchHeader) != "" {
		return 0, nil
	}
	return sequenceOf(answer)
}

// sequenceOf returns the number of a message that the server confirms, or the error with which it refuses it.
func sequenceOf(answer *nats.Msg) (uint64, error) {
	if answer.Header.Get("Status") == "503" {
		return 0, nats.ErrNoResponders
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
	if ack.Sequence == 0 {
		return 0, errors.New("the server did not confirm the message")
	}
	return ack.Sequence, nil
}

// Error codes of the server.
const (
	noLeader        jetstream.ErrorCode = 10008
	tooManyBatches  jetstream.ErrorCode = 10210
	incompleteBatch jetstream.ErrorCode = 10176
)

// conflicting reports whether the server refused a message because another one is the last of its
// subject, or is about to be.
func conflicting(err error) bool {
	return refused(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// refused reports whether the server returned one of these error codes.
func refused(err error, codes ...jetstream.ErrorCode) bool {
	refusal, ok := errors.AsType[*jetstream.APIError](err)
	return ok && slices.Contains(codes, refusal.ErrorCode)
}

// Get implements [fleet.Engine].
func (e *Engine) Get(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
	if err := errors.Join(ctx.Err(), fleet.CheckTable(t), fleet.CheckKey(key)); err != nil {
		return fleet.Record{}, e.wrapError(ctx, "get", err)
	}
	r, err := e.get(ctx, t, key)
	if err != nil {
		return fleet.Record{}, e.wrapError(ctx, "get "+key, err)
	}
	return r, nil
}

func (e *Engine) get(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
	m, err := e.last(ctx, e.tableStream(t), e.subject(t, key))
	if err != nil {
		return fleet.Record{}, err
	}
	if m == nil || m.removed() {
		return fleet.Record{}, fleet.ErrNotFound
	}
	return m.record()
}

// A getRequest asks the server for stored messages.
type getRequest struct {
	Sequence      uint64   `json:"seq,omitempty"`
	NextBySubject string   `json:"next_by_subj,omitempty"`
	LastBySubject string   `json:"last_by_subj,omitempty"`
	MultiLast     []string `json:"multi_last,omitempty"`
	Batch         int      `json:"batch,omitempty"`
	MaxBytes      int      `json:"max_bytes,omitempty"`
}

// last returns the last message of a subject, which may have wildcards, or nil if there is none. It asks
// the leader of a cluster, which knows it.
func (e *Engine) last(ctx context.Context, stream, subject string) (*message, error) {
	var found struct {
		Message struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	err := e.ask(ctx, "$JS.API.STREAM.MSG.GET."+stream, getRequest{LastBySubject: subject}, &found)
	if refused(err, jetstream.JSErrCodeMessageNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &message{subject: found.Message.Subject, sequence: found.Message.Sequence, time: found.Message.Time, data: found.Message.Data}
	if len(found.Message.Header) > 0 {
		if m.header, err = nats.DecodeHeadersMsg(found.Message.Header); err != nil {
			return nil, fmt.Errorf("message %d: %w", m.sequence, err)
		}
	}
	return m, nil
}

// lastSequence returns the number of a message, or 0 if there is none.
func lastSequence(m *message) uint64 {
	if m == nil {
		return 0
	}
	return m.sequence
}

// Remove implements [fleet.Engine]. A mark without data takes the place of the record for an hour.
func (e *Engine) Remove(ctx context.Context, t fleet.Table, key string, revision uint64) error {
	if err := errors.Join(ctx.Err(), fleet.CheckTable(t), fleet.CheckKey(key)); err != nil {
		return e.wrapError(ctx, "remove", err)
	}
	if err := e.remove(ctx, t, key, revision); err != nil {
		return e.wrapError(ctx, "remove "+key, err)
	}
	return nil
}

func (e *Engine) remove(ctx context.Context, t fleet.Table, key string, revision uint64) error {
	m := markMessage(e.subject(t, key))
	m.Header.Set(afterHeader, strconv.FormatUint(revision, 10))
	return e.again(ctx, func() (bool, error) {
		last, err := e.last(ctx, e.tableStream(t), m.Subject)
		if err != nil {
			return false, err
		}
		if last == nil || last.removed() {
			return false, nil
		}
		if last.sequence != revision {
			return false, fleet.ErrConflict
		}
		_, err = e.send(ctx, m)
		return conflicting(err), err // the conflicting change is not visible yet
	})
}
