package fleet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A counter is an engine that counts the records that are written.
type counter struct {
	Engine
	written int
	err     error
}

func (c *counter) Set(context.Context, Table, ...Record) ([]uint64, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.written++
	return []uint64{uint64(c.written)}, nil
}

func (c *counter) Get(context.Context, Table, string) (Record, error) { return Record{}, c.err }

// A process that was stopped for longer than its lease does not renew it when it continues: others
// may already have its jobs.
func TestLeaseIsNotRenewedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &counter{err: errors.New("no server")}
		l := newLease(e, "worker", time.Minute, func() *WorkerInfo { return new(WorkerInfo) }, nil)
		if err := l.renew(t.Context()); err == nil {
			t.Fatal("renewed without a server")
		}
		time.Sleep(time.Hour) // it was never renewed, so it is not over
		e.err = nil
		for range 3 {
			if err := l.renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Second)
		}
		time.Sleep(4 * time.Second)
		if err := l.renew(t.Context()); !errors.Is(err, ErrLease) || e.written != 3 {
			t.Errorf("a lease that is over: %v, %d renewals", err, e.written)
		}
	})
}
