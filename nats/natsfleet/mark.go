package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/pause"
)

// markName is the name of the file with the mark of the server in this process.
const markName = "fleet.mark"

// markInterval is the interval at which the mark is written, if something changed. Tests set a
// shorter one.
var markInterval = 5 * time.Second

// A mark has the number of the last message of each stream. A server that finds damage in a file, when it starts or
// when somebody reads, drops the rest of that file and says nothing. Jobs would then be missing, or as they were
// before, and could run again. The mark is written now and then: after a crash it may be older than the messages, and
// notices less.
type mark struct {
	path string
	last map[string]uint64
	stop context.CancelFunc
	done chan struct{}
}

// A damage is the error for a server that may have lost data.
type damage struct{ error }

func (d damage) Unwrap() error { return d.error }

// openMark compares the streams with the mark of the last server, and starts to write the next one.
func (e *Engine) openMark(ctx context.Context) error {
	m := &mark{path: filepath.Join(e.opts.Dir, markName), done: make(chan struct{})}
	before, err := m.read()
	if err != nil {
		return err
	}
	if err := e.readRecords(ctx); err != nil {
		return err
	}
	if m.last, err = e.lastSequences(ctx, before); err != nil {
		return err
	}
	if err := m.lost(before, m.last); err != nil {
		return err
	}
	if err := m.write(); err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	e.mark = m
	go func() {
		defer close(m.done)
		tick := time.NewTicker(markInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				e.updateMark(running)
			case <-running.Done():
				return
			}
		}
	}()
	return nil
}

// readRecords reads the last message of each record. It returns an error if the server does not
// have them all: it leaves out unreadable messages.
func (e *Engine) readRecords(ctx context.Context) error {
	for _, t := range fleet.Tables {
		if err := e.readTable(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// readTries is the maximum number of times that a table is read while others write to it.
const readTries = 50

func (e *Engine) readTable(ctx context.Context, t fleet.Table) error {
	for try := 1; ; try++ {
		before, err := e.state(ctx, e.tableStream(t))
		if err != nil {
			return err
		}
		f := follower{engine: e, table: t, wants: func(string) bool { return false }}
		f.yield = func(fleet.Record, error) bool { return true }
		if err := f.run(ctx); err != nil {
			return err
		}
		after, err := e.state(ctx, e.tableStream(t))
		if err != nil {
			return err
		}
		missing, again := compareStates(before, after, f.count)
		if missing == 0 {
			return nil
		}
		if !again || try == readTries {
			return damage{fmt.Errorf("the server can read %d of the %d records of stream %s, since its files are damaged; restore %s from a backup, "+
				"or remove the file index.db of that stream there, and the server drops what it can't read and what follows it in the same file",
				f.count, f.count+missing, e.tableStream(t), e.opts.Dir)}
		}
		if err := pause.For(ctx, retryDelay); err != nil {
			return err
		}
	}
}

// compareStates returns how many records are missing in a list of count records, by the states of
// the stream before and after the list. It reports whether others wrote meanwhile, so that the list
// should be made again: of a worker that renews its lease, the old message goes before it is read,
// and the new one comes after the list. The mark of a removed record may also go.
func compareStates(before, after jetstream.StreamState, count uint64) (missing uint64, again bool) {
	want := min(before.NumSubjects, after.NumSubjects)
	return want - min(want, count), before.LastSeq != after.LastSeq
}

// state returns the state of a stream.
func (e *Engine) state(ctx context.Context, name string) (jetstream.StreamState, error) {
	stream, err := answered(ctx, e, func(ctx context.Context) (jetstream.Stream, error) { return e.js.Stream(ctx, name) })
	if err != nil {
		return jetstream.StreamState{}, fmt.Errorf("stream %s: %w", name, err)
	}
	return stream.CachedInfo().State, nil
}

// lost returns an error if streams do not have what they had before.
func (m *mark) lost(before, now map[string]uint64) error {
	for stream, last := range before {
		if now[stream] < last {
			return damage{fmt.Errorf("the server has lost messages, since its files are damaged: stream %s had messages up to number %d, "+
				"and has them up to %d; restore %s from a backup, or remove %s to continue with what is left",
				stream, last, now[stream], filepath.Dir(m.path), m.path)}
		}
	}
	return nil
}

// closeMark writes the mark for the last time, unless the server does not answer.
func (e *Engine) closeMark(ctx context.Context) {
	if e.mark == nil {
		return
	}
	e.mark.stop()
	select {
	case <-e.mark.done:
		e.updateMark(ctx)
	case <-ctx.Done():
	}
}

// updateMark writes the mark if it changed. If that fails, the mark is older than it could be. If
// the server lost messages, it ends, so that nobody continues with the rest.
func (e *Engine) updateMark(ctx context.Context) {
	last, err := e.lastSequences(ctx, e.mark.last)
	if err != nil || maps.Equal(last, e.mark.last) {
		return
	}
	if err := e.mark.lost(e.mark.last, last); err != nil {
		e.link.end(err)
		e.srv.Load().Shutdown()
		return
	}
	e.mark.last = last
	_ = e.mark.write()
}

// lastSequences returns the number of the last message of each stream, of this engine and in a
// mark. An engine with another name on the same directory has others, which must not get lost
// meanwhile.
func (e *Engine) lastSequences(ctx context.Context, marked map[string]uint64) (map[string]uint64, error) {
	last := map[string]uint64{}
	names := map[string]bool{e.sessionStream(): true}
	for _, config := range e.streams() {
		names[config.Name] = true
	}
	for name := range marked {
		names[name] = true
	}
	for name := range names {
		state, err := e.state(ctx, name)
		if err == nil {
			last[name] = state.LastSeq
		} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, err
		}
	}
	return last, nil
}

// read reads the mark. There is none in a new directory.
func (m *mark) read() (last map[string]uint64, err error) {
	text, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return nil, nil // after a loss of power it may be empty
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &last); err != nil {
		return nil, damage{fmt.Errorf("%s is damaged; remove it to start the server without it: %w", m.path, err)}
	}
	return last, nil
}

func (m *mark) write() error {
	text, err := json.Marshal(m.last)
	if err != nil {
		return err
	}
	return files.Write(m.path, append(text, '\n'), files.WriteOptions{})
}
