package natsstore

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/wire"
)

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
			InactiveThreshold: patience,
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
