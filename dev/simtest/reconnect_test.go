package simtest_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// An agentSequence has agents in memory that are started one after the other. A nil one can't be
// started, nor can one after the last.
type agentSequence struct {
	t      *testing.T
	agents []*clewtest.Agent

	mu       sync.Mutex
	launches []clew.Launch
	times    []time.Time
	conns    []*clewtest.Conn
}

var errNoAgent = errors.New("there is no agent")

func startSequence(t *testing.T, scenarios ...*clewtest.Scenario) *agentSequence {
	t.Helper()
	c := &agentSequence{t: t}
	for _, scenario := range scenarios {
		var agent *clewtest.Agent
		if scenario != nil {
			agent = clewtest.NewAgent(t, scenario)
		}
		c.agents = append(c.agents, agent)
	}
	return c
}

// Connect makes the sequence a [clew.Transport].
func (c *agentSequence) Connect(_ context.Context, launch *clew.Launch) (clew.Connection, error) {
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
func (c *agentSequence) open(opts *clew.Options) *clew.Session {
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

// kill ends the newest agent, in a bubble, once its output is read, and waits until its end is
// noticed.
func (c *agentSequence) kill() {
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
func (c *agentSequence) resumed() []string {
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
func (c *agentSequence) pauses() []float64 {
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
	// reconnectedText is textOf's text for the message.
	reconnectedText = "*wire.SessionReconnectedMessage"
)

func initFrame(session string) string {
	return `{"type":"system","subtype":"init","session_id":"` + session + `"}`
}

// killed is the session's error for an agent in memory that ends by SIGKILL.
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

// wantLost checks that the error reports a loss with a killed agent.
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

// wantGivenUp returns the error for a session that was given up.
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

// A turn that is cut off ends with its own error, after all messages of the agent. The next turn
// continues the conversation.
func TestReconnectAfterACutTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, cut(), answers("two"))
		s := agents.open(nil)
		msgs, err := readOut(t, s.Turn(t.Context(), &clew.UserMessage{
			UUID: "p1", APIMessage: wire.APIMessage{Content: clew.Content{&clew.TextBlock{Text: "one"}}},
		}))
		wantLost(t, err)
		if s.Err() != nil {
			t.Errorf("the session has ended: %v", s.Err())
		}
		want := &wire.SessionReconnectedMessage{
			Error: killed.Error(), ExitCode: -1, Attempts: 1, LostPrompts: []string{"p1"}, Resumed: true, SessionID: sessionOne,
		}
		got := msgs[len(msgs)-1]
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(*want), cmpopts.IgnoreFields(*want, "UUID")); diff != "" {
			t.Errorf("the last of %d messages (-want +got):\n%s", len(msgs), diff)
		}
		wantTurn(t, s, "two", "ok", "result: two")
		if diff := cmp.Diff([]string{"", "--resume=" + sessionOne}, agents.resumed()); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		wantClosed(t, s)
		wantNoGoroutine(t)
	})
}

// Messages continues, and names the lost prompts, including those in the agent's queue.
func TestReconnectWhileAllIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t,
			connected().Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).
				Send(initFrame(sessionOne), assistantFrame("Well,")).Do(kill()),
			answers("three"))
		s := agents.open(nil)
		var sent []string
		for _, prompt := range []string{"one", "two"} {
			id, err := s.Send(t.Context(), clew.Text(prompt))
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, id)
		}
		var texts []string
		for msg, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, textOf(msg))
			if m, ok := msg.(*wire.SessionReconnectedMessage); ok {
				if diff := cmp.Diff(sent, m.LostPrompts); diff != "" {
					t.Errorf("lost prompts (-want +got):\n%s", diff)
				}
				if _, err := s.Send(t.Context(), clew.Text("three")); err != nil {
					t.Fatal(err)
				}
			}
			if _, ok := msg.(*wire.ResultMessage); ok {
				break
			}
		}
		want := []string{"*wire.InitMessage", "Well,", reconnectedText, "ok", "result: three"}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

// All cut turns end, including turns in line, and their contexts no longer matter.
func TestReconnectEndsTurnsInLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t,
			connected().Expect(promptFrame("p1", "left")).Expect(promptFrame("p2", "first")).Expect(promptFrame("p3", "second")).
				Send(initFrame(sessionOne), assistantFrame("Well,")),
			answers("next"))
		s := agents.open(nil)
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := s.Send(t.Context(), clew.Text("left")); err != nil {
			t.Fatal(err)
		}
		first := inBackground(ctx, s, clew.Text("first"))
		second := inBackground(ctx, s, clew.Text("second"))
		agents.kill()
		for _, turn := range []*reading{first, second} {
			<-turn.done
			wantLost(t, turn.err)
		}
		cancel() // does nothing to the new agent
		if diff := cmp.Diff([]string{"*wire.InitMessage", "Well,", reconnectedText}, first.texts); diff != "" {
			t.Errorf("first turn (-want +got):\n%s", diff)
		}
		wantTurn(t, s, "next", "ok", "result: next")
	})
}

// A turn that was left leaves a message about the new agent for the next turn, which skips all
// else.
func TestReconnectBehindALeftTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, connected().Expect(promptFrame("p1", "one")).
			Send(assistantFrame("1"), assistantFrame("2"), assistantFrame("3")), answers("two"))
		s := agents.open(nil)
		for range s.Turn(t.Context(), clew.Text("one")) {
			break
		}
		agents.kill()
		wantTurn(t, s, "two", reconnectedText, "ok", "result: two")
	})
}

// A result that was read before the death counts, read by the caller or not.
func TestReconnectAfterATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, connected().Expect(promptFrame("p1", "one")).
			Send(initFrame(sessionOne), assistantFrame("1"), resultFrame("one", "p1")).Do(clewtest.ExitBefore(1)),
			answers("two"))
		s := agents.open(nil)
		if _, err := s.Send(t.Context(), clew.Text("one")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantTurn(t, s, "two", "*wire.InitMessage", "1", "result: one", reconnectedText, "ok", "result: two")
	})
}

// Messages from before the death may be on disk by the time they are read, as may the message about
// it.
func TestReconnectBehindABacklogOnDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages = 40_000
		agents := startSequence(t,
			connected().Expect(promptFrame("p1", "one")).Do(clewtest.Flood(2*messages)).Do(kill()), answers("two"))
		s := agents.open(nil)
		turn := make(chan error, 1)
		var last wire.Message
		seen := 0
		go func() {
			var err error
			for msg, failure := range s.Turn(t.Context(), clew.Text("one")) {
				if err = failure; msg != nil {
					last = msg
					if seen++; seen == 1 {
						time.Sleep(time.Hour)
					}
				}
			}
			turn <- err
		}()
		wantLost(t, <-turn)
		if m, ok := last.(*wire.SessionReconnectedMessage); !ok || len(m.LostPrompts) != 1 || seen != messages+1 {
			t.Errorf("%d messages, the last is %T", seen, last)
		}
		wantTurn(t, s, "two", "ok", "result: two")
	})
}

// An agent that ends in the middle of a turn died, whatever its exit code. Between turns it ends,
// and so does the session.
func TestReconnectAfterAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	t.Run("in a turn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := startSequence(t, connected().Expect(promptFrame("p1", "one")).Exit(0), answers("two")).open(nil)
			_, err := readOut(t, s.Turn(t.Context(), clew.Text("one")))
			if exit := wantExit(t, err); exit.Reason != "ended without a result" || s.Err() != nil {
				t.Errorf("error %v, of the session %v", err, s.Err())
			}
			wantTurn(t, s, "two", "ok", "result: two")
		})
	})
	t.Run("between turns", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			agents := startSequence(t, answers("one").Exit(0))
			s := agents.open(nil)
			wantTurn(t, s, "one", "ok", "result: one")
			synctest.Wait()
			if exit := wantExit(t, s.Err()); exit.Reason != "has ended" || len(agents.resumed()) != 1 {
				t.Errorf("error %v after %d starts", s.Err(), len(agents.resumed()))
			}
		})
	})
}

// One-shot runs end with their agent.
func TestReconnectIsNotForRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, cut())
		opts := &clew.Options{Transport: agents, Reconnect: new(clew.ReconnectOptions), Session: clew.SessionOptions{Ephemeral: true}}
		_, err := clew.Run(t.Context(), "one", opts)
		if diff := cmp.Diff(killed, wantExit(t, err)); diff != "" || len(agents.resumed()) != 1 {
			t.Errorf("%d starts (-want +got):\n%s", len(agents.resumed()), diff)
		}
	})
}

// A session that never came up has nothing to resume: the error is the usual one.
func TestReconnectIsNotForTheStart(t *testing.T) {
	t.Parallel()
	failing := `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}`
	for name, test := range map[string]struct {
		scenario *clewtest.Scenario
		want     string
	}{
		"dead":           {new(clewtest.Scenario).Expect(initialize).Do(kill()), "was lost"},
		"words":          {new(clewtest.Scenario).Expect(initialize).Send(failing).Exit(1), "No conversation found"},
		"dead in mid-up": {connected().Expect(controlRequest("m", `{"subtype":"mcp_set_servers"}`)).Do(kill()), "was lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agents := startSequence(t, test.scenario)
				_, err := clew.Connect(t.Context(), &clew.Options{
					Transport: agents, Reconnect: new(clew.ReconnectOptions),
					MCPServers: map[string]clew.MCPServer{"a": &clew.MCPStdioServer{Command: "a"}},
				})
				if err == nil || !strings.Contains(err.Error(), test.want) || isLostError(err) || len(agents.resumed()) != 1 {
					t.Errorf("error %v after %d starts", err, len(agents.resumed()))
				}
				wantNoGoroutine(t)
			})
		})
	}
}

// Agents that are processes leave nothing, however many die, and errors have the end of their
// standard error.
func TestReconnectProcesses(t *testing.T) {
	agent := clewtest.NewAgent(t, asked().Send(aWord).Stderr("out of memory\n").Do(clewtest.KilledBy(os.Kill)))
	opts := asProcess(agent)
	opts.Reconnect = &clew.ReconnectOptions{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1}
	wantNothingLeft(t, func() {
		s := connectTo(t, opts)
		lost := 0
		var err error
		for s.Err() == nil {
			_, err = readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
			exit := wantExit(t, err)
			if exit.Stderr != "out of memory\n" || runtime.GOOS != "windows" && exit.Signal != os.Kill {
				t.Errorf("exit %+v", exit)
			}
			if isLostError(err) {
				lost++
			}
		}
		if given, ok := errors.AsType[*clew.ReconnectError](err); !ok || given.Attempts != 3 || lost != 3 {
			t.Errorf("%d turns are lost, the last error is %v", lost, err)
		}
		wantClosed(t, s)
	})
}

// A store that hangs holds up the next agent no longer than one call may take, however much there
// is to copy, and losses are reported.
func TestReconnectWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		store := &fakeStore{before: func(context.Context, int) error { <-release; return nil }}
		agents := startSequence(t, connected().Expect(promptFrame("p1", "one")).Send(initFrame(sessionOne),
			mirrorFrame("s", `{"a":1}`), mirrorFrame("s/subagents/a", `{"a":2}`), mirrorFrame("s2", `{"a":3}`)).Do(kill()),
			answers("two"))
		s := agents.open(&clew.Options{Store: clew.StoreOptions{Store: store, Timeout: 7 * time.Second}})
		begin := time.Now()
		_, err := textsOf(s.Turn(t.Context(), clew.Text("one")))
		wantLost(t, err)
		wantElapsed(t, begin, 7*time.Second)
		lossMessage := "*wire.MirrorErrorMessage"
		wantTurn(t, s, "two", "ok", lossMessage, lossMessage, lossMessage, "result: two")
	})
}

// Closing while the store is waited for before the next agent is started takes no longer than one
// call may.
func TestCloseBetweenAgentsWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		store := &fakeStore{before: func(context.Context, int) error { <-release; return nil }}
		agents := startSequence(t, connected().Send(mirrorFrame("s", `{}`, `{}`)).Do(clewtest.Hang()))
		s, err := clew.Connect(t.Context(), &clew.Options{
			Transport: agents, Reconnect: new(clew.ReconnectOptions), Store: clew.StoreOptions{Store: store, Timeout: 7 * time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		agents.kill()
		time.Sleep(time.Second)
		begin := time.Now()
		wantLostEntries(t, s.Close(), 2, context.DeadlineExceeded)
		wantElapsed(t, begin, 6*time.Second)
		if len(agents.resumed()) != 1 {
			t.Errorf("agents were started with %q", agents.resumed())
		}
	})
}
