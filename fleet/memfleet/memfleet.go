// Package memfleet is a [fleet.Engine] in memory, for tests and for a fleet within one process.
//
//	engine := memfleet.New()
//
// Its data is gone when the process ends. [Engine.Client] returns a handle onto the same data whose
// calls go wrong as often as a test wants, and that can be cut off and killed like a separate
// machine. Both can be used in a bubble of package testing/synctest: no goroutine outlives them,
// and they use package time's clock.
package memfleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/fleet"
)

// An Engine keeps records and files in memory.
type Engine struct {
	mu        sync.Mutex
	revision  uint64 // of the last change, of whatever record
	tables    map[fleet.Table]map[string][]fleet.Record
	removed   map[fleet.Table]map[string][]fleet.Record
	files     map[string][]byte
	watchers  []*watcher
	listeners []*listener
}

var _ fleet.Engine = (*Engine)(nil)

// New returns an engine without records and files.
func New() *Engine {
	e := &Engine{
		tables: map[fleet.Table]map[string][]fleet.Record{}, removed: map[fleet.Table]map[string][]fleet.Record{}, files: map[string][]byte{},
	}
	for _, t := range fleet.Tables {
		e.tables[t], e.removed[t] = map[string][]fleet.Record{}, map[string][]fleet.Record{}
	}
	return e
}

// Set writes records, all or none.
func (e *Engine) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	if err := errors.Join(ctx.Err(), refused(fleet.CheckTable(t), fleet.CheckRecords(records))); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range records {
		if current := e.current(t, r.Key); current.Revision != r.Revision {
			return nil, fmt.Errorf("memfleet: %s %s has revision %d, not %d: %w", t, r.Key, current.Revision, r.Revision, fleet.ErrConflict)
		}
	}
	now := time.Now()
	revisions := make([]uint64, len(records))
	for i, r := range records {
		e.revision++
		r.Revision, r.Time, r.Data = e.revision, now, own(r.Data)
		e.tables[t][r.Key] = append(e.tables[t][r.Key], r)
		revisions[i] = r.Revision
		e.notify(t, r.Key)
	}
	return revisions, nil
}

// own returns a copy that is not nil.
func own(data []byte) []byte { return append([]byte{}, data...) }

// current returns the record with a key, or one without a revision. The caller holds the lock.
func (e *Engine) current(t fleet.Table, key string) fleet.Record {
	if written := e.tables[t][key]; len(written) > 0 {
		return written[len(written)-1]
	}
	return fleet.Record{Key: key}
}

// Get returns a record.
func (e *Engine) Get(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
	if err := errors.Join(ctx.Err(), refused(fleet.CheckTable(t), fleet.CheckKey(key))); err != nil {
		return fleet.Record{}, err
	}
	e.mu.Lock()
	r := e.current(t, key)
	e.mu.Unlock()
	if r.Revision == 0 {
		return fleet.Record{}, fmt.Errorf("memfleet: %s %s: %w", t, key, fleet.ErrNotFound)
	}
	r.Data = own(r.Data)
	return r, nil
}

// List returns all records of a table, or of a group, as they are when the loop starts. Unwanted
// records have no data.
func (e *Engine) List(ctx context.Context, t fleet.Table, group string, wants func(label string) bool) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		err := fleet.CheckTable(t)
		if group != "" {
			err = errors.Join(err, fleet.CheckGroup(group))
		}
		if err := refused(err); err != nil {
			yield(fleet.Record{}, err)
			return
		}
		e.mu.Lock()
		var records []fleet.Record
		for _, key := range slices.Sorted(maps.Keys(e.tables[t])) {
			if rest, inside := strings.CutPrefix(key, group+"."); group == "" || inside && rest != "" {
				records = append(records, e.current(t, key))
			}
		}
		e.mu.Unlock()
		each(ctx, records, wants, yield)
	}
}

// History returns everything that was written under a key, the oldest first.
func (e *Engine) History(ctx context.Context, t fleet.Table, key string) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		if err := refused(fleet.CheckTable(t), fleet.CheckKey(key)); err != nil {
			yield(fleet.Record{}, err)
			return
		}
		e.mu.Lock()
		records := e.tables[t][key] // a later Set appends, and changes none of them
		e.mu.Unlock()
		each(ctx, records, nil, yield)
	}
}

// each yields copies of records until the context ends.
func each(ctx context.Context, records []fleet.Record, wants func(string) bool, yield func(fleet.Record, error) bool) {
	for _, r := range records {
		if ctx.Err() != nil {
			break
		}
		if !yield(wanted(r, wants), nil) {
			return
		}
	}
	if err := ctx.Err(); err != nil {
		yield(fleet.Record{}, err)
	}
}

// wanted returns a copy of a record, without data if it is not wanted.
func wanted(r fleet.Record, wants func(string) bool) fleet.Record {
	switch {
	case r.Revision == 0, wants != nil && !wants(r.Label):
		r.Data = nil
	default:
		r.Data = own(r.Data)
	}
	return r
}

// Remove removes a record with its history.
func (e *Engine) Remove(ctx context.Context, t fleet.Table, key string, revision uint64) error {
	if err := errors.Join(ctx.Err(), refused(fleet.CheckTable(t), fleet.CheckKey(key))); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch current := e.current(t, key); current.Revision {
	case 0:
		return nil
	case revision:
		e.removed[t][key] = e.tables[t][key]
		delete(e.tables[t], key)
		e.notify(t, key)
		return nil
	default:
		return fmt.Errorf("memfleet: %s %s has revision %d, not %d: %w", t, key, current.Revision, revision, fleet.ErrConflict)
	}
}

// Removed returns the histories that removed records had, by key, for tests that check what became of them.
func (e *Engine) Removed(t fleet.Table) map[string][]fleet.Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.removed[t])
}

// A watcher has the keys that changed since its loop last saw them. So a slow loop costs no more
// than the keys of its table, and gets the last of several changes.
type watcher struct {
	table   fleet.Table
	key     string // "" means all
	changed []string
	listed  map[string]bool // which of them are in changed
	wake    chan struct{}   // has room for one
}

// Watch is like List, and continues with each change. When the context ends, its error is the last
// pair.
func (e *Engine) Watch(ctx context.Context, t fleet.Table, key string, wants func(label string) bool) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		err := fleet.CheckTable(t)
		if key != "" {
			err = errors.Join(err, fleet.CheckKey(key))
		}
		if err := refused(err); err != nil {
			yield(fleet.Record{}, err)
			return
		}
		w, there := e.watch(t, key)
		defer e.unwatch(w)
		for ; ; there-- {
			if there == 0 && !yield(fleet.Record{}, nil) {
				return
			}
			r, err := e.next(ctx, w)
			if err != nil {
				yield(fleet.Record{}, err)
				return
			}
			if !yield(wanted(r, wants), nil) {
				return
			}
		}
	}
}

// watch adds a watcher, for which every record counts as changed, and returns the number of
// records.
func (e *Engine) watch(t fleet.Table, key string) (*watcher, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := &watcher{table: t, key: key, listed: map[string]bool{}, wake: make(chan struct{}, 1)}
	for _, k := range slices.Sorted(maps.Keys(e.tables[t])) {
		w.add(t, k)
	}
	e.watchers = append(e.watchers, w)
	return w, len(w.changed)
}

func (e *Engine) unwatch(w *watcher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watchers = slices.DeleteFunc(e.watchers, func(other *watcher) bool { return other == w })
}

// notify reports a changed record to the watchers. The caller holds the lock.
func (e *Engine) notify(t fleet.Table, key string) {
	for _, w := range e.watchers {
		w.add(t, key)
	}
}

func (w *watcher) add(t fleet.Table, key string) {
	if t != w.table || w.key != "" && w.key != key || w.listed[key] {
		return
	}
	w.changed = append(w.changed, key)
	w.listed[key] = true
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// next waits for a change, and returns the record as it is now.
func (e *Engine) next(ctx context.Context, w *watcher) (fleet.Record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return fleet.Record{}, err
		}
		if r, ok := e.take(w); ok {
			return r, nil
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
		}
	}
}

// take returns the record that changed first.
func (e *Engine) take(w *watcher) (fleet.Record, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(w.changed) == 0 {
		return fleet.Record{}, false
	}
	key := w.changed[0]
	w.changed = w.changed[1:]
	delete(w.listed, key)
	return e.current(w.table, key), true
}

// A listener has the messages that its loop did not take yet.
type listener struct {
	subject  string
	messages chan []byte
}

// maxMessages is the maximum number of messages that wait for a listener. It loses any further
// ones.
const maxMessages = 1024

// Publish sends a message to the listeners whose loops over Listen are running.
func (e *Engine) Publish(ctx context.Context, subject string, message []byte) error {
	if err := errors.Join(ctx.Err(), refused(fleet.CheckSubject(subject))); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.listeners {
		if l.subject != subject {
			continue
		}
		select {
		case l.messages <- own(message):
		default:
		}
	}
	return nil
}

// Listen returns the messages of a subject from the beginning of the loop on. When the context ends, its
// error is the last pair.
func (e *Engine) Listen(ctx context.Context, subject string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := refused(fleet.CheckSubject(subject)); err != nil {
			yield(nil, err)
			return
		}
		l := &listener{subject, make(chan []byte, maxMessages)}
		e.mu.Lock()
		e.listeners = append(e.listeners, l)
		e.mu.Unlock()
		defer e.unlisten(l)
		for ctx.Err() == nil {
			select {
			case m := <-l.messages:
				if !yield(m, nil) {
					return
				}
			case <-ctx.Done():
			}
		}
		yield(nil, ctx.Err())
	}
}

func (e *Engine) unlisten(l *listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listeners = slices.DeleteFunc(e.listeners, func(other *listener) bool { return other == l })
}

// Put stores a file. One that is there stays if r or the context fails.
func (e *Engine) Put(ctx context.Context, name string, r io.Reader) error {
	if err := errors.Join(ctx.Err(), refused(fleet.CheckFile(name))); err != nil {
		return err
	}
	data, err := io.ReadAll(r)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("memfleet: file %s: %w", name, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.files[name] = data
	return nil
}

// Open returns a file as it is now.
func (e *Engine) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := errors.Join(ctx.Err(), refused(fleet.CheckFile(name))); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	data, ok := e.files[name]
	if !ok {
		return nil, fmt.Errorf("memfleet: file %s: %w", name, fleet.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Delete removes the files whose names start with a prefix.
func (e *Engine) Delete(ctx context.Context, prefix string) error {
	err := ctx.Err()
	if prefix != "" {
		err = errors.Join(err, refused(fleet.CheckFile(prefix)))
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.files, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
	return nil
}
