package natsstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/nats/internal/natsclient"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// errGap is wrapped by errors about missing messages.
var errGap = errors.New("earlier messages are missing")

// Load returns the entries that the transcript has when the loop starts. It keeps a few megabytes
// in memory at a time, or the current entry if that is larger. If the transcript is deleted during
// the loop, that is an error. See [sessions.Store].
func (s *Store) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		subject, err := s.checkedSubject(ctx, key)
		if err != nil {
			yield("", err)
			return
		}
		last, err := s.last(ctx, subject)
		if err != nil {
			yield("", s.wrapError(fmt.Sprintf("load %q", key), err))
			return
		}
		var messages uint64
		all := span{subject, 0, last}
		for e, err := range s.entries(ctx, all, &messages) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				err = s.wrapError(fmt.Sprintf("load %q", key), err)
			}
			if !yield(e.text, err) || err != nil {
				return
			}
		}
		if err := s.complete(ctx, all, messages); err != nil {
			yield("", s.wrapError(fmt.Sprintf("load %q", key), err))
		}
	}
}

// entries returns the entries of a span, and counts its messages. It returns an error if a message
// does not belong to a complete append that follows the one before.
func (s *Store) entries(ctx context.Context, sp span, messages *uint64) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		a := assembly{last: sp.after}
		for m, err := range s.messages(ctx, sp) {
			if err == nil {
				*messages++
				err = cmp.Or(a.follow(m), verify(sp.subject, m))
			}
			if err != nil {
				yield(entry{}, err)
				return
			}
			for text := range a.lines(m.Data) {
				uuid, err := sessions.EntryUUID(text)
				if err != nil {
					yield(entry{}, fmt.Errorf("message %d: %w", m.sequence, err))
					return
				}
				if !yield(entry{text, uuid}, nil) {
					return
				}
			}
		}
		if a.batch != "" {
			yield(entry{}, fmt.Errorf("message %d is not the last of its append", a.last))
		}
	}
}

// An assembly joins the messages of appends.
type assembly struct {
	last  uint64 // the sequence number of the previous message
	batch string // the ID of an incomplete batch, or ""
	index int    // the number of the last message in that batch
	rest  []byte // an incomplete line
}

// follow accepts the next message. It returns an error if the message does not follow the previous
// one.
func (a *assembly) follow(m message) error {
	batch, index := m.Header.Get(batchHeader), m.Header.Get(batchSequenceHeader)
	after, err := strconv.ParseUint(m.Header.Get(afterHeader), 10, 64)
	if err != nil && batch == "" {
		return fmt.Errorf("message %d is not an append", m.sequence)
	}
	begins := a.batch == "" && err == nil && after == a.last && (batch == "" || index == "1")
	continues := a.batch != "" && batch == a.batch && index == strconv.Itoa(a.index+1)
	if !begins && !continues {
		return fmt.Errorf("message %d: %w", m.sequence, errGap)
	}
	if begins {
		a.index = 0
	}
	a.index++
	a.last, a.batch = m.sequence, batch
	if m.Header.Get(commitHeader) != "" {
		a.batch = ""
	}
	return nil
}

// lines returns the lines that are complete with the body of a message. The last line of an append
// has no line feed.
func (a *assembly) lines(body []byte) iter.Seq[wire.JSON] {
	return func(yield func(wire.JSON) bool) {
		for more := true; more; {
			var line []byte
			line, body, more = bytes.Cut(body, []byte("\n"))
			a.rest = append(a.rest, line...)
			if !more && a.batch != "" {
				return
			}
			line, a.rest = a.rest, a.rest[:0]
			if !yield(wire.JSON(line)) {
				return
			}
		}
	}
}

// headsPage is the number of heads to request at a time.
const headsPage = 256

// headsWait is the time to wait for them. It passes if a session is deleted meanwhile.
var headsWait = 5 * time.Second

// heads describe the sessions of a project, by ID, from the last message of each.
type heads struct {
	byID  map[string]head
	count uint64 // messages received
}

// A head is the time and the summary of a session's last message.
type head struct {
	stored  time.Time
	summary string
}

func (s *Store) heads(ctx context.Context, project string) (map[string]head, error) {
	if _, err := s.checkedSubject(ctx, wire.SessionKey{Project: project, SessionID: "any"}); err != nil {
		return nil, err
	}
	consumer, err := answered(ctx, s.conn, func(ctx context.Context) (jetstream.Consumer, error) {
		return s.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
			FilterSubject:     s.pattern(natsclient.Escape(project), "*", mainToken),
			HeadersOnly:       true,
			AckPolicy:         jetstream.AckNonePolicy,
			MemoryStorage:     true,
			Replicas:          1,
			InactiveThreshold: answerTimeout,
		})
	})
	if err != nil {
		return nil, s.wrapError("list", err)
	}
	// If that fails, the server removes the consumer later.
	defer func() { _ = s.stream.DeleteConsumer(ctx, consumer.CachedInfo().Name) }()
	all := heads{byID: map[string]head{}}
	for pending := consumer.CachedInfo().NumPending; pending > 0; {
		if pending, err = s.addHeads(ctx, &all, consumer); err != nil {
			return nil, s.wrapError("list", err)
		}
	}
	if err := s.intact(ctx); err != nil {
		return nil, s.wrapError("list", err)
	}
	return all.byID, nil
}

// addHeads adds the next heads and returns how many there are still to come.
func (s *Store) addHeads(ctx context.Context, all *heads, consumer jetstream.Consumer) (uint64, error) {
	limited, cancel := context.WithTimeout(ctx, headsWait)
	defer cancel()
	batch, err := consumer.Fetch(headsPage, jetstream.FetchContext(limited))
	if err != nil {
		return 0, err
	}
	for m := range batch.Messages() {
		pending, err := s.addHead(all, m)
		if err != nil || pending == 0 {
			return 0, err
		}
	}
	// Some messages are missing: there are more, one was just deleted, or one has headers of
	// another kind.
	now, err := answered(ctx, s.conn, consumer.Info)
	if err != nil {
		return 0, err
	}
	if now.Delivered.Consumer > all.count {
		return 0, fmt.Errorf("reading a message up to %d failed", now.Delivered.Stream)
	}
	return now.NumPending, nil
}

// addHead adds one head, and returns how many are still to come.
func (s *Store) addHead(all *heads, m jetstream.Msg) (uint64, error) {
	about, err := m.Metadata()
	if err != nil {
		return 0, err
	}
	if all.count++; about.Sequence.Consumer > all.count {
		return 0, fmt.Errorf("reading a message before %d failed", about.Sequence.Stream)
	}
	key, err := s.key(m.Subject())
	if err != nil {
		return 0, fmt.Errorf("message %d: %w", about.Sequence.Stream, err)
	}
	all.byID[key.SessionID] = head{about.Timestamp, m.Headers().Get(summaryHeader)}
	return about.NumPending, nil
}

// Sessions returns the sessions of a project. The times are from the clock of the server. See
// [sessions.Store].
func (s *Store) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	heads, err := s.heads(ctx, project)
	if err != nil {
		return nil, err
	}
	times := make(map[string]time.Time, len(heads))
	for id, head := range heads {
		times[id] = head.stored
	}
	return times, nil
}

// Summaries returns the summaries of the sessions of a project. See [sessions.Summarizer].
func (s *Store) Summaries(ctx context.Context, project string) (map[string]sessions.Summary, error) {
	heads, err := s.heads(ctx, project)
	if err != nil {
		return nil, err
	}
	summaries := make(map[string]sessions.Summary, len(heads))
	for id, head := range heads {
		var summary sessions.Summary
		if json.Unmarshal([]byte(head.summary), &summary) != nil {
			summary, err = s.summarize(ctx, wire.SessionKey{Project: project, SessionID: id})
		}
		if err != nil {
			return nil, err
		}
		summaries[id] = summary
	}
	return summaries, nil
}

// summarize loads a session whose summary is too long for a header.
func (s *Store) summarize(ctx context.Context, key wire.SessionKey) (sessions.Summary, error) {
	var summary sessions.Summary
	for text, err := range s.Load(ctx, key) {
		if err != nil {
			return summary, err
		}
		summary.Add(text)
	}
	return summary, nil
}

// Projects returns the projects that have sessions, sorted. See [sessions.ProjectLister].
func (s *Store) Projects(ctx context.Context) ([]string, error) {
	keys, err := s.keys(ctx, s.pattern("*", "*", mainToken))
	if err != nil {
		return nil, err
	}
	projects := map[string]bool{}
	for _, key := range keys {
		projects[key.Project] = true
	}
	return slices.Sorted(maps.Keys(projects)), nil
}

// Subpaths returns the subpaths of a session's other transcripts, sorted. See [sessions.Store].
func (s *Store) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	key.Subpath = ""
	if _, err := s.checkedSubject(ctx, key); err != nil {
		return nil, err
	}
	keys, err := s.keys(ctx, s.pattern(natsclient.Escape(key.Project), natsclient.Escape(key.SessionID), "*"))
	if err != nil {
		return nil, err
	}
	var subpaths []string
	for _, key := range keys {
		if key.Subpath != "" {
			subpaths = append(subpaths, key.Subpath)
		}
	}
	slices.Sort(subpaths)
	return subpaths, nil
}

// Delete removes a transcript, or the whole session if the key has no subpath. See
// [sessions.Store].
func (s *Store) Delete(ctx context.Context, key wire.SessionKey) error {
	subject, err := s.checkedSubject(ctx, key)
	if err != nil {
		return err
	}
	if key.Subpath == "" {
		subject = s.pattern(natsclient.Escape(key.Project), natsclient.Escape(key.SessionID), "*")
	}
	err = s.mark.removing(func() (uint64, error) {
		return answered(ctx, s.conn, func(ctx context.Context) (uint64, error) {
			if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
				return 0, err
			}
			info, err := s.stream.Info(ctx)
			if err != nil {
				return 0, err
			}
			return info.State.Msgs, nil
		})
	})
	if err != nil {
		return s.wrapError(fmt.Sprintf("delete %q", key), err)
	}
	return nil
}

// keys returns the keys of the transcripts whose subjects match the pattern.
func (s *Store) keys(ctx context.Context, pattern string) ([]wire.SessionKey, error) {
	info, err := answered(ctx, s.conn, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return s.stream.Info(ctx, jetstream.WithSubjectFilter(pattern))
	})
	if err != nil {
		return nil, s.wrapError("list", err)
	}
	keys := make([]wire.SessionKey, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		key, err := s.key(subject)
		if err != nil {
			return nil, s.wrapError("list", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
