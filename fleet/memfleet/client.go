package memfleet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/pause"
)

// Faults sets the faults of a client's calls. Numbers are probabilities, from 0 to 1. The zero
// value has no faults.
type Faults struct {
	// Seed decides what happens. Clients of one seed get the same numbers for the same calls.
	Seed uint64
	// Calls has the faults of a method by its name, such as "Set"; "" stands for the other methods.
	// Watch and Listen start with a call.
	Calls map[string]CallFaults
	// Break is the probability that a Watch or a Listen ends with [ErrFault] instead of its next
	// record or message.
	Break float64
	// Lag is by how much a record of a Watch is late at most.
	Lag time.Duration
	// Drop and Double are how often a message that the client publishes is lost, and how often it comes
	// twice.
	Drop, Double float64
}

// CallFaults are the faults of a call. At most one of Before, After and Late happens to it.
type CallFaults struct {
	Before float64       // it fails, and has no effect
	After  float64       // it has its effect, and fails
	Late   float64       // it fails, and has its effect up to Delay later
	Delay  time.Duration // its request and its answer take up to this long each
}

// Errors of clients.
var (
	ErrFault  = errors.New("memfleet: an injected fault")
	ErrKilled = errors.New("memfleet: the client was killed")
)

// A Client is a handle onto an engine, for one machine of a test. It implements [fleet.Engine],
// with faults.
type Client struct {
	engine *Engine
	faults Faults
	alive  context.Context // ends with Kill
	kill   context.CancelFunc

	mu   sync.Mutex
	rand *rand.Rand
	back chan struct{} // nil, or closed by Reconnect
}

var _ fleet.Engine = (*Client)(nil)

// Client returns a handle onto the data of the engine. Nil means no faults.
func (e *Engine) Client(faults *Faults) *Client {
	c := &Client{engine: e}
	if faults != nil {
		c.faults = *faults
	}
	c.rand = rand.New(rand.NewPCG(c.faults.Seed, 0))
	c.alive, c.kill = context.WithCancel(context.Background())
	return c
}

// Cut takes the client off the network. Its calls, including calls under way, wait until their
// context ends or Reconnect is called. A call whose request arrived has its effect. Watches are
// silent, and messages are lost.
func (c *Client) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.back == nil {
		c.back = make(chan struct{})
	}
}

// Reconnect undoes Cut. Watches now get everything that they missed.
func (c *Client) Reconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.back != nil {
		close(c.back)
		c.back = nil
	}
}

// Kill ends the client for good: calls, watches and listeners fail with [ErrKilled], those under way too.
// Requests that were sent may still have an effect. Later calls fail after a minute, or when their context
// ends: what repeats them in vain then costs a test little.
func (c *Client) Kill() { c.kill() }

// A fate is the outcome of a call.
type fate struct {
	before, after, late     bool
	request, answer, effect time.Duration
}

// fate decides about a call. It takes as many numbers for each.
func (c *Client) fate(method string) fate {
	f, ok := c.faults.Calls[method]
	if !ok {
		f = c.faults.Calls[""]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.rand.Float64()
	part := func() time.Duration { return time.Duration(c.rand.Float64() * float64(f.Delay)) }
	return fate{
		before:  p < f.Before,
		after:   p >= f.Before && p < f.Before+f.After,
		late:    p >= f.Before+f.After && p < f.Before+f.After+f.Late,
		request: part(), answer: part(), effect: part(),
	}
}

// chance reports whether something happens that has a probability.
func (c *Client) chance(p float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.Float64() < p
}

// travel waits for as long as a message takes, and until the client is connected.
func (c *Client) travel(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		if err := wait(ctx, c, timer.C); err != nil {
			return err
		}
	}
	for {
		c.mu.Lock()
		back := c.back
		c.mu.Unlock()
		if back == nil {
			return c.over(ctx)
		}
		if err := wait(ctx, c, back); err != nil {
			return err
		}
	}
}

// over returns the reason why a call can't continue, or nil.
func (c *Client) over(ctx context.Context) error {
	if c.alive.Err() != nil {
		return ErrKilled
	}
	return ctx.Err()
}

// wait waits for a channel, unless the context or the client ends before.
func wait[T any](ctx context.Context, c *Client, until <-chan T) error {
	select {
	case <-until:
	case <-ctx.Done():
	case <-c.alive.Done():
	}
	return c.over(ctx)
}

// call does something with the engine. The effect has its own context, since a request that was
// sent takes effect whatever its caller does.
func (c *Client) call(ctx context.Context, f fate, effect func(context.Context) error) error {
	if c.alive.Err() != nil {
		_ = pause.For(ctx, time.Minute)
		return ErrKilled
	}
	if err := c.travel(ctx, f.request); err != nil {
		return err
	}
	sent := context.WithoutCancel(ctx)
	switch {
	case f.before:
		return ErrFault
	case f.late:
		time.AfterFunc(f.effect, func() { _ = effect(sent) }) // nobody waits for its answer
		return ErrFault
	}
	err := effect(sent)
	if lost := c.travel(ctx, f.answer); lost != nil {
		return lost
	}
	if f.after {
		return ErrFault
	}
	return err
}

// read is like call, for a method that changes nothing.
func (c *Client) read(ctx context.Context, method string, effect func(context.Context) error) error {
	f := c.fate(method)
	f.before = f.before || f.late
	return c.call(ctx, f, effect)
}

// Set is [Engine.Set] with faults.
func (c *Client) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	copies := slices.Clone(records) // the caller may change its own before a late effect
	for i := range copies {
		copies[i].Data = own(copies[i].Data)
	}
	var revisions []uint64
	err := c.call(ctx, c.fate("Set"), func(ctx context.Context) (err error) {
		revisions, err = c.engine.Set(ctx, t, copies...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return revisions, nil
}

// Get is [Engine.Get] with faults.
func (c *Client) Get(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
	var r fleet.Record
	err := c.read(ctx, "Get", func(ctx context.Context) (err error) {
		r, err = c.engine.Get(ctx, t, key)
		return err
	})
	if err != nil {
		return fleet.Record{}, err
	}
	return r, nil
}

// List is [Engine.List] with faults. One that fails may return some records before the error.
func (c *Client) List(ctx context.Context, t fleet.Table, group string, wants func(label string) bool) iter.Seq2[fleet.Record, error] {
	return c.list(ctx, "List", func(ctx context.Context) iter.Seq2[fleet.Record, error] { return c.engine.List(ctx, t, group, wants) })
}

// History is [Engine.History] with faults. One that fails may return some records before the error.
func (c *Client) History(ctx context.Context, t fleet.Table, key string) iter.Seq2[fleet.Record, error] {
	return c.list(ctx, "History", func(ctx context.Context) iter.Seq2[fleet.Record, error] { return c.engine.History(ctx, t, key) })
}

func (c *Client) list(
	ctx context.Context, method string, all func(context.Context) iter.Seq2[fleet.Record, error],
) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		var records []fleet.Record
		failed := c.read(ctx, method, func(ctx context.Context) error {
			for r, err := range all(ctx) {
				if err != nil {
					return err
				}
				records = append(records, r)
			}
			return nil
		})
		if failed != nil {
			records = records[:len(records)/2]
		}
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
		if failed != nil {
			yield(fleet.Record{}, failed)
		}
	}
}

// Watch is [Engine.Watch] with faults.
func (c *Client) Watch(ctx context.Context, t fleet.Table, key string, wants func(label string) bool) iter.Seq2[fleet.Record, error] {
	return follow(ctx, c, "Watch", func(ctx context.Context) iter.Seq2[fleet.Record, error] {
		return func(yield func(fleet.Record, error) bool) {
			for r, err := range c.engine.Watch(ctx, t, key, wants) {
				if late := c.travel(ctx, c.lag()); late != nil {
					yield(fleet.Record{}, late)
					return
				}
				if !yield(r, err) {
					return
				}
			}
		}
	})
}

// lag returns by how much a record is late.
func (c *Client) lag() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.rand.Float64() * float64(c.faults.Lag))
}

// Listen is [Engine.Listen] with faults.
func (c *Client) Listen(ctx context.Context, subject string) iter.Seq2[[]byte, error] {
	return follow(ctx, c, "Listen", func(ctx context.Context) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for m, err := range c.engine.Listen(ctx, subject) {
				if err == nil && c.isCut() {
					continue
				}
				if !yield(m, err) {
					return
				}
			}
		}
	})
}

func (c *Client) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.back != nil
}

// follow runs a loop that continues until the context or the client ends, or that breaks.
func follow[T any](ctx context.Context, c *Client, method string, all func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if err := c.read(ctx, method, func(context.Context) error { return nil }); err != nil {
			yield(zero, err)
			return
		}
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.alive, cancel)() //nolint:contextcheck // it also ends with the client
		for v, err := range all(inner) {
			switch {
			case err != nil && c.over(ctx) != nil:
				err = c.over(ctx)
			case err == nil && c.chance(c.faults.Break):
				err = ErrFault
			}
			if err != nil {
				yield(zero, err)
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Remove is [Engine.Remove] with faults.
func (c *Client) Remove(ctx context.Context, t fleet.Table, key string, revision uint64) error {
	return c.call(ctx, c.fate("Remove"), func(ctx context.Context) error { return c.engine.Remove(ctx, t, key, revision) })
}

// Publish is [Engine.Publish] with faults.
func (c *Client) Publish(ctx context.Context, subject string, message []byte) error {
	message = own(message)
	lost, double := c.chance(c.faults.Drop), c.chance(c.faults.Double)
	return c.call(ctx, c.fate("Publish"), func(ctx context.Context) error {
		if lost {
			return nil
		}
		err := c.engine.Publish(ctx, subject, message)
		if double {
			err = errors.Join(err, c.engine.Publish(ctx, subject, message))
		}
		return err
	})
}

// Put is [Engine.Put] with faults.
func (c *Client) Put(ctx context.Context, name string, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return c.call(ctx, c.fate("Put"), func(ctx context.Context) error { return c.engine.Put(ctx, name, bytes.NewReader(data)) })
}

// Open is [Engine.Open] with faults.
func (c *Client) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	var file io.ReadCloser
	err := c.read(ctx, "Open", func(ctx context.Context) (err error) {
		file, err = c.engine.Open(ctx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Delete is [Engine.Delete] with faults.
func (c *Client) Delete(ctx context.Context, prefix string) error {
	return c.call(ctx, c.fate("Delete"), func(ctx context.Context) error { return c.engine.Delete(ctx, prefix) })
}
