package natsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

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
