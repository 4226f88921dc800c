package clew_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// A succession is agents in memory that are started one after the other. A nil one can't be started, nor can one behind
// the last.
type succession struct {
	t      *testing.T
	agents []*clewtest.Agent

	mu       sync.Mutex
	launches []clew.Launch
	times    []time.Time
	conns    []*clewtest.Conn
}

var errNoAgent = errors.New("there is no agent")

func succeed(t *testing.T, scenarios ...*clewtest.Scenario) *succession {
	t.Helper()
	c := &succession{t: t}
	for _, scenario := range scenarios {
		var agent *clewtest.Agent
		if scenario != nil {
			agent = clewtest.NewAgent(t, scenario)
		}
		c.agents = append(c.agents, agent)
	}
	return c
}

// Connect makes the succession a [clew.Transport].
func (c *succession) Connect(_ context.Context, launch *clew.Launch) (clew.Connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.launches)
	c.launches, c.times = append(c.launches, *launch), append(c.times, time.Now())
	if n >= len(c.agents) || c.agents[n] == nil {
		return nil, errNoAgent
	}
	conn := c.agents[n].Conn()
	c.conns = append(c.conns, conn)
	return conn, nil
}

// open opens a session over the agents that the end of the test closes.
func (c *succession) open(opts *clew.Options) *clew.Session {
	c.t.Helper()
	if opts == nil {
		opts = new(clew.Options)
	}
	opts.Transport = c
	if opts.Reconnect == nil {
		opts.Reconnect = new(clew.ReconnectOptions)
	}
	return dial(c.t, opts)
}

// kill ends the newest agent, in a bubble, once what it has sent is read, and waits until its end was noticed.
func (c *succession) kill() {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	conn := c.conns[len(c.conns)-1]
	c.mu.Unlock()
	if err := conn.Signal(os.Kill); err != nil {
		c.t.Fatal(err)
	}
	synctest.Wait()
}

// resumed returns the flags about sessions that each agent was started with.
func (c *succession) resumed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, launch := range c.launches {
		var flags []string
		for _, arg := range launch.Args {
			name, _, _ := strings.Cut(arg, "=")
			if slices.Contains([]string{"--resume", "--session-id", "--continue", "--fork-session"}, name) {
				flags = append(flags, arg)
			}
		}
		all = append(all, strings.Join(flags, " "))
	}
	return all
}

// pauses returns the time before each start but the first, in seconds.
func (c *succession) pauses() []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []float64
	for i := 1; i < len(c.times); i++ {
		all = append(all, c.times[i].Sub(c.times[i-1]).Seconds())
	}
	return all
}

const (
	sessionOne = "11111111-2222-4333-8444-555555555555"
	sessionTwo = "66666666-7777-4888-8999-000000000000"
	// reconnectedText is what textOf says of the message.
	reconnectedText = "*wire.SessionReconnectedMessage"
)

func initFrame(session string) string {
	return `{"type":"system","subtype":"init","session_id":"` + session + `"}`
}

// killed is how an agent in memory ends by SIGKILL, as the session sees it.
var killed = &clew.ExitError{Code: -1, Reason: "was lost: signal: killed"}

func kill() clewtest.Fault { return clewtest.KilledBy(os.Kill) }

// cut returns a scenario in which an agent dies in the middle of its first turn.
func cut() *clewtest.Scenario {
	return connected().Expect(promptFrame("p1", "one")).Send(initFrame(sessionOne), assistantFrame("Well,")).Do(kill())
}

// answers returns a scenario in which an agent has a turn.
func answers(prompt string) *clewtest.Scenario {
	return connected().Expect(promptFrame("p", prompt)).Send(assistantFrame("ok"), resultFrame(prompt, "p"))
}

// wantLost checks that the error says that something was lost with an agent that was killed.
func wantLost(t *testing.T, err error) {
	t.Helper()
	lost, ok := errors.AsType[*clew.LostError](err)
	if !ok {
		t.Errorf("error %v, want a LostError", err)
		return
	}
	if *lost.Exit != *killed || wantExit(t, err) != lost.Exit {
		t.Errorf("exit %+v", lost.Exit)
	}
}

// wantGivenUp returns the error of a session that was given up.
func wantGivenUp(t *testing.T, err error) *clew.ReconnectError {
	t.Helper()
	given, ok := errors.AsType[*clew.ReconnectError](err)
	if !ok {
		t.Fatalf("error %v, want a ReconnectError", err)
	}
	return given
}

func isLostError(err error) bool {
	_, ok := errors.AsType[*clew.LostError](err)
	return ok
}
