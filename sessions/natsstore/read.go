package natsstore

import (
	"bytes"
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

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// errGap is the reason of an error when messages are missing.
var errGap = errors.New("what was before it is gone")

// Load returns the entries of a transcript as it is when the loop begins. See [sessions.Store]. It holds a few
// megabytes at a time, and the entry at hand. A transcript that is deleted during the loop is an error.
func (s *Store) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		subject, err := s.ready(ctx, key)
		if err != nil {
			yield("", err)
			return
		}
		last, err := s.last(ctx, subject)
		if err != nil {
			yield("", s.failed(fmt.Sprintf("load %q", key), err))
			return
		}
		for e, err := range s.entries(ctx, span{subject, 0, last}) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				err = s.failed(fmt.Sprintf("load %q", key), err)
			}
			if !yield(e.text, err) || err != nil {
				return
			}
		}
	}
}

// entries returns the entries of a span, or an error if a message is not part of an append that is whole and follows
// the one before.
func (s *Store) entries(ctx context.Context, sp span) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		a := assembly{last: sp.after}
		for m, err := range s.messages(ctx, sp) {
			if err == nil {
				err = a.follow(m)
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

// An assembly puts the messages of appends together.
type assembly struct {
	last  uint64 // the sequence of the message before
	batch string // that is not complete, or ""
	part  int    // of the batch
	rest  []byte // a line that is not complete
}

// follow takes the next message, or returns an error if it is another.
func (a *assembly) follow(m message) error {
	batch, part := m.Header.Get(batchHeader), m.Header.Get(partHeader)
	after, err := strconv.ParseUint(m.Header.Get(afterHeader), 10, 64)
	if err != nil && batch == "" {
		return fmt.Errorf("message %d is not an append", m.sequence)
	}
	begins := a.batch == "" && err == nil && after == a.last && (batch == "" || part == "1")
	continues := a.batch != "" && batch == a.batch && part == strconv.Itoa(a.part+1)
	if !begins && !continues {
		return fmt.Errorf("message %d: %w", m.sequence, errGap)
	}
	if begins {
		a.part = 0
	}
	a.part++
	a.last, a.batch = m.sequence, batch
	if m.Header.Get(commitHeader) != "" {
		a.batch = ""
	}
	return nil
}

// lines returns the lines that the body of a message ends. The last line of an append has no line end.
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

// headsPage is how many heads are asked for at once, and headsWait how long to wait for all of them.
const (
	headsPage = 256
	headsWait = time.Second
)

// heads are what the last messages of the sessions of a project say, by ID.
type heads struct {
	byID  map[string]head
	count uint64 // messages
}

type head struct {
	stored  time.Time
	summary string
}

func (s *Store) heads(ctx context.Context, project string) (map[string]head, error) {
	if _, err := s.ready(ctx, wire.SessionKey{Project: project, SessionID: "any"}); err != nil {
		return nil, err
	}
	consumer, err := answered(ctx, s.conn, func(ctx context.Context) (jetstream.Consumer, error) {
		return s.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
			FilterSubject:     s.pattern(escape(project), "*", own),
			HeadersOnly:       true,
			AckPolicy:         jetstream.AckNonePolicy,
			MemoryStorage:     true,
			Replicas:          1,
			InactiveThreshold: answerTimeout,
		})
	})
	if err != nil {
		return nil, s.failed("list", err)
	}
	// Should that fail, the server removes it later.
	defer func() { _ = s.stream.DeleteConsumer(ctx, consumer.CachedInfo().Name) }()
	all := heads{byID: map[string]head{}}
	for pending := consumer.CachedInfo().NumPending; pending > 0; {
		if pending, err = s.addHeads(ctx, &all, consumer); err != nil {
			return nil, s.failed("list", err)
		}
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
	// Not all have come: there are more, or one was deleted meanwhile, or has headers that stand for something else.
	now, err := answered(ctx, s.conn, consumer.Info)
	if err != nil {
		return 0, err
	}
	if now.Delivered.Consumer > all.count {
		return 0, fmt.Errorf("a message up to %d could not be read", now.Delivered.Stream)
	}
	return now.NumPending, nil
}

// addHead adds a head and returns how many there are still to come.
func (s *Store) addHead(all *heads, m jetstream.Msg) (uint64, error) {
	about, err := m.Metadata()
	if err != nil {
		return 0, err
	}
	if all.count++; about.Sequence.Consumer > all.count {
		return 0, fmt.Errorf("a message before %d could not be read", about.Sequence.Stream)
	}
	key, err := s.key(m.Subject())
	if err != nil {
		return 0, fmt.Errorf("message %d: %w", about.Sequence.Stream, err)
	}
	all.byID[key.SessionID] = head{about.Timestamp, m.Headers().Get(summaryHeader)}
	return about.NumPending, nil
}

// Sessions returns the sessions of a project. See [sessions.Store]. The times are those of the server's clock.
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

// summarize reads a session whose summary is too long for a header.
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
	keys, err := s.keys(ctx, s.pattern("*", "*", own))
	if err != nil {
		return nil, err
	}
	projects := map[string]bool{}
	for _, key := range keys {
		projects[key.Project] = true
	}
	return slices.Sorted(maps.Keys(projects)), nil
}

// Subpaths returns the subpaths below a session, sorted. See [sessions.Store].
func (s *Store) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	key.Subpath = ""
	if _, err := s.ready(ctx, key); err != nil {
		return nil, err
	}
	keys, err := s.keys(ctx, s.pattern(escape(key.Project), escape(key.SessionID), "*"))
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

// Delete removes a transcript, or a session with all that is below it. See [sessions.Store].
func (s *Store) Delete(ctx context.Context, key wire.SessionKey) error {
	subject, err := s.ready(ctx, key)
	if err != nil {
		return err
	}
	if key.Subpath == "" {
		subject = s.pattern(escape(key.Project), escape(key.SessionID), "*")
	}
	_, err = answered(ctx, s.conn, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
	})
	if err != nil {
		return s.failed(fmt.Sprintf("delete %q", key), err)
	}
	return nil
}

// keys returns the keys of the transcripts whose subject is like the pattern.
func (s *Store) keys(ctx context.Context, pattern string) ([]wire.SessionKey, error) {
	info, err := answered(ctx, s.conn, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return s.stream.Info(ctx, jetstream.WithSubjectFilter(pattern))
	})
	if err != nil {
		return nil, s.failed("list", err)
	}
	keys := make([]wire.SessionKey, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		key, err := s.key(subject)
		if err != nil {
			return nil, s.failed("list", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
