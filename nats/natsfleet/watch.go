package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/clewdev/clew/fleet"
)

// List implements [fleet.Engine]. A record that is damaged does not keep others from being listed: the error
// comes after them.
func (e *Engine) List(ctx context.Context, t fleet.Table, group string, wants func(label string) bool) iter.Seq2[fleet.Record, error] {
	return e.follow(ctx, follower{engine: e, table: t, group: group, wants: wants})
}

// Watch implements [fleet.Engine]. It ends with an error if the connection is lost. A damaged
// record comes without data; [Engine.Get] returns the reason.
func (e *Engine) Watch(ctx context.Context, t fleet.Table, key string, wants func(label string) bool) iter.Seq2[fleet.Record, error] {
	return e.follow(ctx, follower{engine: e, table: t, key: key, wants: wants, live: true})
}

// A follower yields the records of a table, and if it is live the changes after that.
type follower struct {
	engine *Engine
	table  fleet.Table
	group  string // or "" for all
	key    string // or "" for all
	wants  func(string) bool
	live   bool

	filter string
	target uint64            // the last message that was there
	seen   uint64            // the last message that was received
	count  uint64            // of messages
	ready  bool              // seen reached the target
	ahead  map[string]uint64 // revisions that were yielded before their messages came
	early  map[string]bool   // keys of records that a live one yielded before it was ready
	faults []error           // of damaged records
	yield  func(fleet.Record, error) bool
}

func (e *Engine) follow(ctx context.Context, f follower) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		f := f
		f.yield, f.ahead, f.early = yield, map[string]uint64{}, map[string]bool{}
		err := f.run(ctx)
		if err == nil && len(f.faults) > 0 {
			err = &fleet.UnreadableError{Faults: f.faults}
		}
		if err != nil && !errors.Is(err, errStopped) {
			what := "list"
			if f.live {
				what = "watch"
			}
			yield(fleet.Record{}, e.wrapError(ctx, what+" "+string(f.table), err))
		}
	}
}

// errStopped means that the loop was left.
var errStopped = errors.New("stopped")

func (f *follower) run(ctx context.Context) error {
	if err := errors.Join(ctx.Err(), fleet.CheckTable(f.table)); err != nil {
		return err
	}
	f.filter = f.engine.tableStream(f.table) + ".>"
	switch {
	case f.key != "":
		if err := fleet.CheckKey(f.key); err != nil {
			return err
		}
		f.filter = f.engine.subject(f.table, f.key)
	case f.group != "":
		if err := fleet.CheckGroup(f.group); err != nil {
			return err
		}
		f.filter = f.engine.subject(f.table, f.group) + ".*"
	}
	f.target = math.MaxUint64
	return f.receive(ctx)
}

// aim finds the last message that is there. Later, that can only be an earlier one.
func (f *follower) aim(ctx context.Context) error {
	last, err := f.engine.last(ctx, f.engine.tableStream(f.table), f.filter)
	if err != nil {
		return err
	}
	f.target = min(f.target, lastSequence(last))
	return nil
}

// receive yields what comes until the list is complete, or a live one ends.
func (f *follower) receive(ctx context.Context) error {
	linked, unlink, err := f.engine.link.during(ctx)
	if err != nil {
		return err
	}
	defer unlink()
	feed, err := f.engine.openFeed(linked, f.engine.tableStream(f.table), f.filter, f.wants != nil)
	if err != nil {
		return err
	}
	defer feed.close()
	// Not before: a record that changes between the two would come after the last message of the list.
	if err := f.aim(ctx); err != nil {
		return err
	}
	for {
		if err := f.checkReady(); err != nil || f.ready && !f.live {
			return err
		}
		batch, err := feed.next(linked)
		if err == nil && len(batch) == 0 && !f.ready {
			err = f.aim(ctx) // the last message may be gone
		}
		if err == nil {
			err = f.deliver(ctx, batch)
		}
		if err != nil {
			return err
		}
	}
}

// checkReady yields a zero record once all earlier records are yielded.
func (f *follower) checkReady() error {
	if f.ready || f.seen < f.target {
		return nil
	}
	f.ready, f.early = true, nil
	if f.live && !f.yield(fleet.Record{}, nil) {
		return errStopped
	}
	return nil
}

// deliver yields the records of messages.
func (f *follower) deliver(ctx context.Context, batch []message) error {
	full, err := f.fill(ctx, batch)
	if err != nil {
		return err
	}
	for i := range batch {
		if err := f.deliverOne(&batch[i], full); err != nil {
			return err
		}
		f.seen, f.count = batch[i].sequence, f.count+1
		if err := f.checkReady(); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) deliverOne(m *message, full map[string]*message) error {
	r, err := m.head()
	isForeign := err != nil || m.subject != f.engine.subject(f.table, r.Key) // so another program wrote it
	if isForeign || f.delivered(r) {
		return nil
	}
	got, wanted := full[m.subject]
	switch {
	case m.removed():
		if !f.ready && !f.early[r.Key] {
			return nil
		}
		r = fleet.Record{Key: r.Key}
		delete(f.early, r.Key)
	case f.wants == nil:
		r, err = m.record()
	case wanted && got == nil:
		return nil // it was removed, and the mark follows
	case wanted:
		if r, err = got.record(); got.sequence > m.sequence {
			f.ahead[r.Key] = got.sequence
		}
	}
	if err != nil {
		f.fault(fmt.Errorf("record %s: %w", r.Key, err))
		r.Data = nil
	}
	if err != nil && !f.live {
		return nil
	}
	if f.live && !f.ready && !m.removed() {
		f.early[r.Key] = true
	}
	if !f.yield(r, nil) {
		return errStopped
	}
	return nil
}

// delivered reports whether a record, or a newer one, was yielded with an earlier message.
func (f *follower) delivered(r fleet.Record) bool {
	revision, ahead := f.ahead[r.Key]
	if ahead && revision <= r.Revision {
		delete(f.ahead, r.Key)
	}
	return ahead && revision >= r.Revision
}

func (f *follower) fault(err error) {
	if !f.live && len(f.faults) < 10 {
		f.faults = append(f.faults, err)
	}
}

// fill returns the whole messages of the wanted heads, by subject: nil for a subject without a
// message. It returns nothing if messages come whole anyway.
func (f *follower) fill(ctx context.Context, heads []message) (map[string]*message, error) {
	if f.wants == nil {
		return nil, nil
	}
	full := map[string]*message{}
	oldest := map[string]uint64{}
	for i := range heads {
		if m := &heads[i]; !m.removed() && f.wants(m.label()) {
			full[m.subject], oldest[m.subject] = nil, m.sequence
		}
	}
	if len(full) > 2 { // otherwise two requests are enough
		if err := f.fillMany(ctx, full); err != nil {
			return nil, err
		}
	}
	for subject, m := range full {
		if m != nil && m.sequence >= oldest[subject] {
			if m.removed() {
				full[subject] = nil
			}
			continue
		}
		// A server of a cluster may not have the latest message yet; the leader has it.
		m, err := f.engine.last(ctx, f.engine.tableStream(f.table), subject)
		if err != nil {
			return nil, err
		}
		if m != nil && m.removed() {
			m = nil
		}
		full[subject] = m
	}
	return full, nil
}

// fillMany requests messages many at once, as many as the server sends without too many bytes.
// Messages that no server of a cluster has yet, and removed messages, are left out.
func (f *follower) fillMany(ctx context.Context, full map[string]*message) error {
	for missing := slices.Collect(maps.Keys(full)); len(missing) > 0; {
		page, err := f.engine.direct(ctx, f.engine.tableStream(f.table), getRequest{MultiLast: missing, MaxBytes: pageBytes})
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			full[page[i].subject] = &page[i]
		}
		missing = slices.DeleteFunc(missing, func(subject string) bool { return full[subject] != nil })
	}
	return nil
}
