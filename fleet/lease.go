package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

// DefaultLease is the time after which a silent worker counts as dead.
const DefaultLease = 30 * time.Second

// grace is the time that others wait after the end of the lease.
const grace = 2 * time.Second

// A WorkerInfo is the record of a worker.
type WorkerInfo struct {
	ID       string    `json:"id"` // another one for each start
	Host     string    `json:"host,omitempty"`
	PID      int       `json:"pid,omitempty"`
	Version  string    `json:"version,omitempty"`
	Started  time.Time `json:"started"`
	Lease    Duration  `json:"lease"`
	Beat     int       `json:"beat"` // rises with each renewal
	Slots    int       `json:"slots"`
	Busy     int       `json:"busy"`
	Queues   []string  `json:"queues,omitempty"`
	Accounts []string  `json:"accounts,omitempty"`
	Draining bool      `json:"draining,omitempty"`
	// Problem is the reason why the worker can run no job at all, or "".
	Problem string `json:"problem,omitempty"`
	// Refused has some of the jobs that the worker does not take, with the reason.
	Refused map[string]string `json:"refused,omitempty"`
	// Held has the accounts that the worker can't use although it has queued jobs of them, with the
	// reason: see [ErrAccount].
	Held map[string]string `json:"held,omitempty"`
	// Renewed is the time at which the record was written, by the engine's clock.
	Renewed time.Time `json:"-"`
}

// Serves reports whether the worker is there for the jobs of a queue and an account.
func (w *WorkerInfo) Serves(queue, account string) bool {
	return slices.Contains(w.Queues, queue) && (w.Accounts == nil || slices.Contains(w.Accounts, account))
}

// Workers returns the records of the workers. A worker that did not renew its lease for some time
// may be dead. If a record can't be read, only ID and Renewed are known.
func (f *Fleet) Workers(ctx context.Context) ([]*WorkerInfo, error) {
	all := map[string]*WorkerInfo{}
	for r, err := range f.engine.Watch(ctx, Workers, "", nil) { // which also has damaged records
		if err != nil {
			return nil, fmt.Errorf("fleet: the workers: %w", err)
		}
		if r.Key == "" {
			return slices.SortedFunc(maps.Values(all), func(a, b *WorkerInfo) int { return strings.Compare(a.ID, b.ID) }), nil
		}
		delete(all, r.Key)
		if r.Revision == 0 {
			continue
		}
		info, err := workerOf(r)
		if err != nil {
			info = &WorkerInfo{ID: r.Key, Renewed: r.Time}
		}
		all[r.Key] = info
	}
	return nil, fmt.Errorf("fleet: the workers: %w", context.Cause(ctx))
}

func workerOf(r Record) (*WorkerInfo, error) {
	info := new(WorkerInfo)
	if err := json.Unmarshal(r.Data, info); err != nil {
		return nil, fmt.Errorf("fleet: the worker %s, revision %d: %w", r.Key, r.Revision, err)
	}
	info.Renewed = r.Time
	return info, nil
}

// An instant is a time by two clocks. The larger step of the two counts, so that a machine that has slept
// notices.
type instant struct{ t time.Time }

func nowInstant() instant { return instant{time.Now()} }

// steady returns the time since an earlier instant by the clock that nobody sets. It may stand
// still while the machine sleeps.
func (i instant) steady(earlier instant) time.Duration { return i.t.Sub(earlier.t) }

// since returns the time since an earlier instant.
func (i instant) since(earlier instant) time.Duration {
	return max(i.t.Sub(earlier.t), i.t.Round(0).Sub(earlier.t.Round(0)))
}

// A lease is the right of a worker to act, which it renews. One that was lost is never renewed again.
type lease struct {
	engine Engine
	id     string
	length time.Duration
	info   func() *WorkerInfo // what the record says now, but for ID, Lease and Beat
	news   <-chan struct{}    // info has something that others should soon know

	lost chan struct{} // closed when it is lost

	mu      sync.Mutex
	renewed instant       // just before the last renewal that succeeded was sent
	sure    chan struct{} // closed at the next renewal
	isLost  bool

	// For the goroutine that renews:
	revision uint64
	beat     int
}

func newLease(e Engine, id string, length time.Duration, info func() *WorkerInfo, news <-chan struct{}) *lease {
	return &lease{engine: e, id: id, length: length, info: info, news: news, lost: make(chan struct{}), sure: make(chan struct{})}
}

// The parts of a lease after which a worker that can't renew starts no tools, and ends its agents.
const (
	unsureNum, unsureDen = 2, 3
	overNum, overDen     = 9, 10
)

// renew renews the lease once. ErrConflict means that somebody took it. An expired lease is not
// renewed, as after a pause of the whole process: others may already have its jobs.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.length/3)
	defer cancel()
	sent := nowInstant()
	if l.isOver(sent) {
		return ErrLease
	}
	info := l.info()
	l.beat++
	info.ID, info.Lease, info.Beat = l.id, Duration(l.length), l.beat
	data, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("fleet: the lease of %s: %w", l.id, err)
	}
	revisions, err := l.engine.Set(ctx, Workers, Record{Key: l.id, Revision: l.revision, Data: data})
	if err == nil {
		l.revision = revisions[0]
		l.renewedAt(sent)
		return nil
	}
	r, failure := l.engine.Get(ctx, Workers, l.id) // it may have been written, now or before
	if failure == nil {
		if is, damage := workerOf(r); damage == nil && is.Beat <= l.beat && is.Started.Equal(info.Started) {
			l.revision = r.Revision
			if is.Beat == l.beat {
				l.renewedAt(sent)
				return nil
			}
			if errors.Is(err, ErrConflict) {
				return fmt.Errorf("fleet: the lease of %s: an earlier renewal came late", l.id)
			}
		}
	} else if errors.Is(failure, ErrNotFound) && l.revision > 0 {
		err = ErrConflict // somebody removed it
	}
	return fmt.Errorf("fleet: the lease of %s: %w", l.id, err)
}

func (l *lease) renewedAt(sent instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = sent
	close(l.sure)
	l.sure = make(chan struct{})
}

// keep renews the lease until the context ends, or until it is lost.
func (l *lease) keep(ctx context.Context) {
	for ctx.Err() == nil {
		wait := l.length / 3
		if err := l.renew(ctx); errors.Is(err, ErrConflict) || errors.Is(err, ErrLease) {
			l.lose()
		} else if err != nil {
			wait = l.length / 12
		}
		select {
		case <-l.lost:
			return
		default:
			l.rest(ctx, wait)
		}
	}
}

// rest waits until the next renewal: for a part of the lease, or for news, but not less than a second
// of a lease of 30.
func (l *lease) rest(ctx context.Context, wait time.Duration) {
	least := l.length / 30
	_ = pause.For(ctx, least)
	t := time.NewTimer(wait - least)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-l.lost:
	case <-l.news:
	case <-t.C:
	}
}

// watch loses the lease in time when renewals hang.
func (l *lease) watch(ctx context.Context) {
	for ctx.Err() == nil && !l.over() {
		select {
		case <-l.lost:
			return
		default:
			_ = pause.For(ctx, max(l.length*overNum/overDen-l.age(), l.length/100))
		}
	}
	if ctx.Err() == nil {
		l.lose()
	}
}

func (l *lease) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isLost {
		l.isLost = true
		close(l.lost)
	}
}

// age returns the time since the lease was renewed.
func (l *lease) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return nowInstant().since(l.renewed)
}

func (l *lease) over() bool { return l.isOver(nowInstant()) }

// isOver reports whether the lease is over at an instant. A lease that was never renewed is not.
func (l *lease) isOver(at instant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.renewed.t.IsZero() && at.since(l.renewed) >= l.length*overNum/overDen
}

// wait waits until the lease is young enough for a tool to start.
func (l *lease) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		sure, isSure := l.sure, !l.isLost && nowInstant().since(l.renewed) < l.length*unsureNum/unsureDen
		l.mu.Unlock()
		if isSure {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.lost:
			return ErrLease
		case <-sure:
		}
	}
}
