package simtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/wire"
)

// A fakeTransport starts simulated agents for a pool, and remembers them. Each answers every prompt
// with an echo, but for:
//
//   - "wait", which it answers when the transport may continue
//   - "die", at which it dies, and "fail", which fails
//   - "rule", "plan" and "schedule", after which something remains that /clear does not remove
//   - "stubborn" and "stuck", after which /clear leaves the conversation or the session
//   - "deaf", after which it answers nothing
//   - "answer and die", after whose answer it dies
type fakeTransport struct {
	// slow is the start time of an agent, and broken returns the reason why the nth one, counted
	// from 1, can't start.
	slow   time.Duration
	broken func(n int) error
	// mirrors has the agents write something down at each /clear.
	mirrors bool
	// write writes a frame to an agent, unless it is nil.
	write func(a *fakeAgent, frame []byte) (int, error)
	// cost is the cost of a conversation.
	cost float64

	mu     sync.Mutex
	agents []*fakeAgent
	tries  []time.Time // of starts
	alive  int
	most   int // alive at once
	goOn   chan struct{}
}

func newFakeTransport() *fakeTransport {
	return &fakeTransport{slow: 400 * time.Millisecond, goOn: make(chan struct{})}
}

// Connect starts an agent.
func (c *fakeTransport) Connect(ctx context.Context, launch *clew.Launch) (clew.Connection, error) {
	c.mu.Lock()
	c.tries = append(c.tries, time.Now())
	n := len(c.tries)
	c.mu.Unlock()
	select {
	case <-time.After(c.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.broken != nil {
		if err := c.broken(n); err != nil {
			return nil, err
		}
	}
	a := c.add()
	a.limit = limitIn(launch)
	return a, nil
}

func (c *fakeTransport) add() *fakeAgent {
	a := &fakeAgent{transport: c, dying: make(chan struct{}), gone: make(chan struct{}), session: "session 1"}
	a.stdin, a.in = io.Pipe()
	a.out, a.stdout = io.Pipe()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agents = append(c.agents, a)
	c.alive++
	c.most = max(c.most, c.alive)
	go a.run()
	return a
}

// counts returns how many agents were started, are alive, and were alive at most.
func (c *fakeTransport) counts() (started, alive, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.agents), c.alive, c.most
}

// agent returns the nth agent, counted from 1.
func (c *fakeTransport) agent(n int) *fakeAgent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agents[n-1]
}

// prompts returns what each agent was asked, in the order of their start.
func (c *fakeTransport) prompts() [][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all [][]string
	for _, a := range c.agents {
		all = append(all, slices.Clone(a.prompts))
	}
	return all
}

// A fakeAgent is an agent of a fakeTransport.
type fakeAgent struct {
	limit                         string // of its costs
	transport                     *fakeTransport
	stdin, out                    *io.PipeReader
	in, stdout                    *io.PipeWriter
	dying, gone                   chan struct{}
	killed, deaf, stubborn, stuck bool
	prompts                       []string
	session                       string
	rules, mode                   string // what /clear leaves
}

func (a *fakeAgent) Read(p []byte) (int, error) { return a.out.Read(p) }
func (a *fakeAgent) CloseWrite() error          { return a.in.Close() }

func (a *fakeAgent) Write(p []byte) (int, error) {
	if a.transport.write != nil {
		return a.transport.write(a, p)
	}
	return a.in.Write(p)
}

// closeTimeout is the time that a fake agent has to end.
const closeTimeout = polltest.ToPass

// Close ends the agent's input, and kills it if it still runs after a while. The clock is the
// bubble's.
func (a *fakeAgent) Close() error {
	_ = a.in.Close() // it always succeeds
	select {
	case <-a.gone:
	case <-time.After(closeTimeout):
		a.kill()
		<-a.gone
	}
	a.transport.mu.Lock()
	defer a.transport.mu.Unlock()
	if a.killed {
		return &clew.ExitError{Code: -1, Reason: "was killed"}
	}
	return nil
}

// kill ends the agent at once.
func (a *fakeAgent) kill() {
	a.transport.mu.Lock()
	defer a.transport.mu.Unlock()
	if a.killed {
		return
	}
	a.killed = true
	close(a.dying)
	_ = a.stdin.CloseWithError(io.ErrClosedPipe) // it always succeeds
	_ = a.stdout.Close()
}

// hang makes the agent stop answering.
func (a *fakeAgent) hang() {
	a.transport.mu.Lock()
	defer a.transport.mu.Unlock()
	a.deaf = true
}

func (a *fakeAgent) run() {
	defer func() {
		_ = a.stdout.Close() // it always succeeds
		a.transport.mu.Lock()
		a.transport.alive--
		a.transport.mu.Unlock()
		close(a.gone)
	}()
	for line := range lines(a.stdin) {
		a.transport.mu.Lock()
		deaf := a.deaf
		a.transport.mu.Unlock()
		if !deaf && !a.hear(line) {
			return
		}
	}
}

// lines returns the lines of a stream, to its end.
func lines(r io.Reader) func(func(string) bool) {
	return func(yield func(string) bool) {
		for s := bufio.NewScanner(r); s.Scan(); {
			if !yield(s.Text()) {
				return
			}
		}
	}
}

// hear answers a frame, and reports whether the agent lives on.
func (a *fakeAgent) hear(line string) bool {
	switch m := wire.NewDecoder(nil).Decode([]byte(line)).(type) {
	case *wire.ControlRequestMessage:
		answer := `{}`
		if m.Request.Subtype == "list_permission_rules" {
			answer = fmt.Sprintf(`{"state":{"rules":[%q]}}`, a.rules)
		}
		return a.say(controlSuccess(m.RequestID, answer))
	case *wire.UserMessage:
		a.transport.mu.Lock()
		a.prompts = append(a.prompts, m.Content.Text())
		a.transport.mu.Unlock()
		return a.turn(m.UUID, m.Content.Text())
	}
	return true
}

// turn answers a prompt, and reports whether the agent lives on.
func (a *fakeAgent) turn(id, prompt string) bool {
	switch prompt {
	case "/clear":
		if !a.stubborn {
			a.say(fmt.Sprintf(`{"type":"conversation_reset","new_conversation_id":"c","session_id":%q}`, a.session))
		}
		if a.transport.mirrors {
			a.say(mirrorFrame("s", `{}`))
		}
		if !a.stuck {
			a.session += "+"
		}
	case "wait":
		select {
		case <-a.transport.goOn:
		case <-a.dying:
			return false
		}
	case "die":
		a.kill()
		return false
	case "schedule":
		a.say(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"CronCreate","input":{}}]}}`)
	}
	mode := a.mode
	a.change(prompt)
	if prompt == "answer and die" {
		defer a.kill()
	}
	return a.say(
		fmt.Sprintf(`{"type":"system","subtype":"init","session_id":%q,"permissionMode":%q}`, a.session, mode),
		assistantFrame("You said "+prompt),
		fmt.Sprintf(`{"type":"result","subtype":"success","is_error":%v,"result":%q,"session_id":%q,`+
			`"total_cost_usd":%v,"user_message_uuids":[%q]}`,
			prompt == "fail", "You said "+prompt, a.session, a.transport.cost, id))
}

// change does what a prompt says to the agent itself.
func (a *fakeAgent) change(prompt string) {
	a.transport.mu.Lock()
	defer a.transport.mu.Unlock()
	switch prompt {
	case "rule":
		a.rules = "Bash"
	case "plan":
		a.mode = "plan"
	case "stubborn":
		a.stubborn = true
	case "stuck":
		a.stuck = true
	case "deaf":
		a.deaf = true
	}
}

func (a *fakeAgent) say(frames ...string) bool {
	for _, frame := range frames {
		if _, err := io.WriteString(a.stdout, frame+"\n"); err != nil {
			return false
		}
	}
	return true
}

// openPool returns a pool over the transport. It ends with the test.
func openPool(t *testing.T, c *fakeTransport, config *clew.PoolOptions) *clew.Pool {
	t.Helper()
	p, err := clew.NewPool(t.Context(), &clew.Options{Transport: c}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if _, alive, _ := c.counts(); alive > 0 {
			t.Errorf("%d agents are left", alive)
		}
		wantNoGoroutine(t)
	})
	return p
}

// wantRun runs a prompt, which must be echoed.
func wantRun(ctx context.Context, t *testing.T, p *clew.Pool, prompt string) {
	t.Helper()
	result, err := p.Run(ctx, clew.Text(prompt))
	if err != nil || !strings.HasSuffix(result.Result, "You said "+prompt) {
		t.Errorf("result %v, error %v", result, err)
	}
}

var errBroken = errors.New("no such agent today")

// An agent that may serve several conversations forgets each of them, and ends after the last one.
func TestPoolReuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{MaxAgents: 1, MaxUses: 3})
		for _, word := range []string{"a", "b", "c", "d"} {
			wantRun(t.Context(), t, p, word)
		}
		want := [][]string{{"a", "/clear", "b", "/clear", "c"}, {"d", "/clear"}}
		synctest.Wait()
		if diff := cmp.Diff(want, c.prompts()); diff != "" {
			t.Errorf("what the agents were asked (-want +got):\n%s", diff)
		}
		if got := p.Stats(); got.Served != 4 || got.Reused != 2 || got.Started != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// An agent that has not forgotten everything, or may not have, is not used again.
func TestPoolDoesNotReuse(t *testing.T) {
	runs := map[string]func(t *testing.T, p *clew.Pool){
		"a run that failed":       failRun,
		"a run that was left":     leaveRun,
		"a run that was given up": giveUpRun,
		"a session":               holdSession,
	}
	for name, prompt := range map[string]string{
		"a new rule": "rule", "another mode": "plan", "a schedule": "schedule", "a command": "/model",
		"the same conversation": "stubborn", "the same session": "stuck", "no answer": "deaf",
	} {
		runs[name] = func(t *testing.T, p *clew.Pool) { wantRun(t.Context(), t, p, prompt) }
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newFakeTransport()
				p := openPool(t, c, &clew.PoolOptions{MaxUses: 9, MaxAgents: 1})
				run(t, p)
				wantRun(t.Context(), t, p, "next")
				if got := p.Stats(); got.Reused != 0 || got.Started != 2 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func failRun(t *testing.T, p *clew.Pool) {
	_, err := p.Run(t.Context(), clew.Text("fail"))
	if _, ok := errors.AsType[*clew.ResultError](err); !ok {
		t.Errorf("error %v", err)
	}
}

func leaveRun(t *testing.T, p *clew.Pool) {
	for _, err := range p.Query(t.Context(), clew.Text("word")) {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

func giveUpRun(t *testing.T, p *clew.Pool) {
	ctx, cancel := context.WithTimeout(t.Context(), polltest.ToPass)
	defer cancel()
	_, err := p.Run(ctx, clew.Text("wait"))
	wantError(t, err, context.DeadlineExceeded)
}

func holdSession(t *testing.T, p *clew.Pool) {
	s, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantTurn(t, s, "Hi", "*wire.InitMessage", "You said Hi", "result: You said Hi")
	wantClosed(t, s)
}

// A caller that stops reading at the last message does not cost the agent.
func TestPoolReuseAfterTheLastMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{MaxUses: 9, MaxAgents: 1})
		for msg, err := range p.Query(t.Context(), clew.Text("word")) {
			if err != nil {
				t.Error(err)
			}
			if _, ok := msg.(*clew.ResultMessage); ok {
				break
			}
		}
		wantRun(t.Context(), t, p, "next")
		if got := p.Stats(); got.Reused != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// Agents that were used stay until they are idle for too long: the last used one is taken next.
func TestPoolReusesTheNewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{MaxUses: 1000, IdleTimeout: time.Hour})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { wantRun(t.Context(), t, p, "wait") })
		}
		time.Sleep(time.Minute)
		close(c.goOn)
		all.Wait()
		for range 30 {
			wantRun(t.Context(), t, p, "word")
			time.Sleep(10 * time.Minute)
		}
		if got := p.Stats(); got.Started > 10 || got.Reused < 25 || got.Warm > 2 {
			t.Errorf("%+v", got)
		}
	})
}

// The next caller does not hear of entries that the store lost from an earlier conversation: the
// agent is not used again, and Close reports the loss.
func TestPoolTellsNobodyElsesLosses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		c.mirrors = true
		opts := &clew.Options{Transport: c, Store: clew.StoreOptions{Store: always(errStore)}}
		p, err := clew.NewPool(t.Context(), opts, &clew.PoolOptions{MaxUses: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, prompt := range []string{"one", "two"} {
			wantRun(t.Context(), t, p, prompt)
			time.Sleep(time.Minute)
		}
		if diff := cmp.Diff([][]string{{"one", "/clear"}, {"two", "/clear"}}, c.prompts()[:2]); diff != "" {
			t.Errorf("prompts (-want +got):\n%s", diff)
		}
		if loss, ok := errors.AsType[*clew.StoreError](p.Close()); !ok || loss.Key != theSession {
			t.Errorf("Close returned %v", loss)
		}
		wantNoGoroutine(t)
	})
}
