package pools_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// open returns a pool that ends with the test.
func open(t *testing.T, opts *clew.Options, config *clew.PoolOptions) *clew.Pool {
	t.Helper()
	p, err := clew.NewPool(t.Context(), opts, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// ask runs a prompt that has to succeed.
func ask(t *testing.T, p *clew.Pool, prompt string) *wire.ResultMessage {
	t.Helper()
	result, err := p.Run(t.Context(), clew.Text(prompt))
	if err != nil {
		t.Fatalf("%q: %v", prompt, err)
	}
	return result
}

// bodies returns the bodies of the requests to the model, from the nth on.
func bodies(model *clewtest.Model, n int) string {
	var b strings.Builder
	for _, r := range model.AllRequests()[n:] {
		b.Write(r.Body)
	}
	return b.String()
}

// A counter is the usual transport. It also counts the running processes.
type counter struct {
	clew.ProcessTransport
	mu          sync.Mutex
	alive, most int
}

// Connect starts a process.
func (c *counter) Connect(ctx context.Context, launch *clew.Launch) (clew.Connection, error) {
	conn, err := c.ProcessTransport.Connect(ctx, launch)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alive++
	c.most = max(c.most, c.alive)
	return &counted{Connection: conn, counter: c}, nil
}

// counts returns how many processes there are now, and how many there were at most.
func (c *counter) counts() (alive, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alive, c.most
}

type counted struct {
	clew.Connection
	counter *counter
	once    sync.Once
}

// Close ends the process.
func (c *counted) Close() error {
	err := c.Connection.Close()
	c.once.Do(func() {
		c.counter.mu.Lock()
		defer c.counter.mu.Unlock()
		c.counter.alive--
	})
	return err
}

// Interrupt interrupts the process.
func (c *counted) Interrupt() error {
	return c.Connection.(interface{ Interrupt() error }).Interrupt()
}
