package web

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// readTime is the time limit for a request that waits for the first read of a session.
var readTime = 20 * time.Second

var _ = timelimit.Register(&readTime)

// waitRead waits until a session was read, and if whole is set, until its subagents were as well.
func waitRead(ctx context.Context, reader *follow.Reader, whole bool) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	var last *follow.Snapshot
	for {
		snapshot, err := reader.Next(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return stillReading(last)
		case err != nil:
			return readError(err)
		case snapshot.Transcript != nil && !(whole && snapshot.Loading):
			return nil
		}
		last = snapshot
	}
}

// readError returns the reason why a session can't be read.
func readError(err error) error {
	if errors.Is(err, follow.ErrClosed) || errors.Is(err, context.Canceled) {
		return refused(http.StatusServiceUnavailable, "the server is ending")
	}
	return refused(http.StatusNotFound, "the session can't be read: %v", err)
}

func stillReading(snapshot *follow.Snapshot) error {
	no := &refusal{status: http.StatusServiceUnavailable, reason: "the session is still being read", hint: "Try again in a moment."}
	if snapshot != nil && snapshot.Total > 0 {
		no.reason += ": " + wording.Percent(100*float64(snapshot.Done)/float64(snapshot.Total))
	}
	return no
}

// A reading is a session during a request. Its rows don't change until it is closed, which is before the
// answer is written: a client that reads slowly must not keep the rows. It may be closed twice.
type reading struct {
	*follow.Rows
	id    string // in addresses
	entry view.Entry
	state view.State
	close func()
}

// read opens the session that a request names, waits until it was read, and keeps its rows as they
// are. The caller closes it. Subagents may be missing.
func (s *Server) read(r *http.Request) (*reading, error) { return s.readUntil(r, false) }

// readWhole is like read, and waits for the subagents as well.
func (s *Server) readWhole(r *http.Request) (*reading, error) { return s.readUntil(r, true) }

func (s *Server) readUntil(r *http.Request, whole bool) (*reading, error) {
	defer s.listing.Hurry()()
	id := r.PathValue("id")
	entry, state, err := s.listing.find(r.Context(), id)
	if err != nil {
		return nil, err
	}
	reader := s.opts.Source.Reader(entry.SessionInfo) //nolint:contextcheck // other readers may need it for longer
	if err := waitRead(r.Context(), reader, whole); err != nil {
		_ = reader.Close()
		return nil, err
	}
	shown, done := reader.Rows(state.Live)
	return &reading{shown, id, entry, state, sync.OnceFunc(func() {
		done()
		_ = reader.Close()
	})}, nil
}

// expect starts to read a session whose page a browser loads. Its script will ask for the rows,
// once the server proved itself and the script sent the token. Nobody gets anything for asking
// without the token, and nobody guesses the ID of a session.
func (s *Server) expect(id string) {
	defer s.listing.Hurry()()
	entry, _, err := s.listing.find(s.ending, id)
	if err != nil {
		return // the script will ask, and inform the user
	}
	_ = s.opts.Source.Reader(entry.SessionInfo).Close()
}

// stateInterval is the interval at which the state of the agent in a followed session is checked.
const stateInterval = 10 * time.Second

// followRows calls changed with the first state of a session, which has First 0, and with each new
// one, until ctx ends. The event stream calls it once for each session that is watched.
func (s *Server) followRows(ctx context.Context, session string, changed func(rowsChange)) error {
	entry, state, err := s.listing.find(ctx, session)
	if err != nil {
		return err
	}
	reader := s.opts.Source.Reader(entry.SessionInfo) //nolint:contextcheck // other readers may need it for longer
	defer reader.Close()
	for last := 0; ; {
		change := reader.Change(state.Live)
		if change.Revision != last {
			last = change.Revision
			changed(rowsChange{session, change.Revision, change.First, change.Total, spokenEnd(change.Ended)})
		}
		soon, cancel := context.WithTimeout(ctx, stateInterval)
		_, err := reader.Next(soon)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return endOf(ctx, err)
		}
		if _, state, err = s.listing.find(ctx, session); err != nil {
			return endOf(ctx, err)
		}
	}
}

// maxSpoken is the size of the part of an answer that is sent at its end, in bytes.
const maxSpoken = 2000

// spokenEnd returns the text of an answer that ended, or "" if none did.
func spokenEnd(c *transcript.Chunk) string {
	if c == nil {
		return ""
	}
	text := "The answer has ended."
	if last := transcript.FindLastOutput(c.Items); last != nil && last.Type == transcript.LastOutputText {
		text = last.Text
	}
	return clip.Bytes(text, maxSpoken)
}
