package simtest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/wire"
)

// granting returns a scenario in which an agent gets requests, each as its subtype and fields, and
// grants them.
func granting(scenario *clewtest.Scenario, requests ...string) *clewtest.Scenario {
	for i, request := range requests {
		id := string(rune('a' + i))
		scenario.Expect(controlRequest(id, request)).Send(controlSuccess(id, `{}`))
	}
	return scenario
}

// Changes that were made after the start are repeated to the new agent, the newest of each kind, in
// order, before any prompt. Momentary requests are not repeated.
func TestReconnectRepeatsChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := granting(connected(),
			`{"subtype":"set_model","model":"opus"}`,
			`{"subtype":"apply_flag_settings","settings":{"effortLevel":"low","permissions":{"deny":["A"]}}}`,
			`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":5}`,
			`{"subtype":"set_max_thinking_tokens","thinking_display":"omitted"}`,
			`{"subtype":"set_permission_mode","mode":"plan"}`,
			`{"subtype":"get_usage"}`,
			`{"subtype":"set_model","model":"sonnet"}`,
			`{"subtype":"mcp_set_servers","servers":{"b":{"command":"b"}}}`,
			`{"subtype":"mcp_toggle","serverName":"b","enabled":false}`,
			`{"subtype":"mcp_toggle","serverName":"c","enabled":true}`,
			`{"subtype":"apply_flag_settings","settings":{"permissions":{"deny":["B"]}}}`,
			`{"subtype":"set_prompt_suggestions_paused","paused":true}`,
		)
		next := granting(connected(),
			`{"subtype":"mcp_set_servers","servers":{"b":{"command":"b"}}}`,
			`{"subtype":"set_permission_mode","mode":"plan"}`,
			`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":5}`,
			`{"subtype":"set_max_thinking_tokens","thinking_display":"omitted"}`,
			`{"subtype":"set_model","model":"sonnet"}`,
			`{"subtype":"mcp_toggle","serverName":"b","enabled":false}`,
			`{"subtype":"mcp_toggle","serverName":"c","enabled":true}`,
			`{"subtype":"apply_flag_settings","settings":{"effortLevel":"low","permissions":{"deny":["B"]}}}`,
			`{"subtype":"set_prompt_suggestions_paused","paused":true}`,
		).Expect(promptFrame("p", "two")).Send(resultFrame("two", "p"))
		agents := startSequence(t, first, next)
		s := agents.open(nil)
		ctx := t.Context()
		deny := func(rule string) map[string]any { return map[string]any{"deny": []string{rule}} }
		for i, err := range []error{
			second(s.SetModel(ctx, "opus")),
			s.ApplySettings(ctx, map[string]any{"effortLevel": "low", "permissions": deny("A")}),
			s.SetThinking(ctx, &clew.ThinkingOptions{BudgetTokens: new(5)}),
			s.SetThinking(ctx, &clew.ThinkingOptions{Display: clew.ThinkingOmitted}),
			s.SetPermissionMode(ctx, clew.PermissionModePlan),
			second(screens.AccountUsage(ctx, s, nil)),
			second(s.SetModel(ctx, "sonnet")),
			second(s.SetMCPServers(ctx, map[string]clew.MCPServer{"b": &clew.MCPStdioServer{Command: "b"}})),
			s.SetMCPEnabled(ctx, "b", false),
			s.SetMCPEnabled(ctx, "c", true),
			s.ApplySettings(ctx, map[string]any{"permissions": deny("B")}),
			s.SetPromptSuggestions(ctx, false),
		} {
			if err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
		}
		agents.kill()
		wantTurn(t, s, "two", reconnectedText, "result: two")
	})
}

// The permission mode is the old agent's, even if that agent changed it by itself. A mode that is
// already right is not sent.
func TestReconnectKeepsThePermissionMode(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reported string // by the old agent, in addition to its init
		new      string // that the new agent starts with
		want     []string
	}{
		"as it begins": {"", "plan", nil},
		"another":      {"", "default", []string{`{"subtype":"set_permission_mode","mode":"plan"}`}},
		"a newer one": {
			`{"type":"system","subtype":"status","permissionMode":"acceptEdits"}`, "plan",
			[]string{`{"subtype":"set_permission_mode","mode":"acceptEdits"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				first := connected().Expect(promptFrame("p", "one")).
					Send(`{"type":"system","subtype":"init","session_id":"` + sessionOne + `","permissionMode":"plan"}`)
				if test.reported != "" {
					first.Send(test.reported)
				}
				second := new(clewtest.Scenario).Expect(initialize).
					Send(controlSuccess("init", `{"current_permission_mode":"`+test.new+`"}`))
				agents := startSequence(t, first.Do(kill()),
					granting(second, test.want...).Expect(promptFrame("p", "two")).Send(resultFrame("two", "p")))
				s := agents.open(nil)
				_, err := readOut(t, s.Turn(t.Context(), clew.Text("one")))
				wantLost(t, err)
				wantTurn(t, s, "two", "result: two")
			})
		})
	}
}

// A change that the new agent refuses is passed over, unless the agent could do what it may not
// without it.
func TestReconnectRefusedChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		toggle := `{"subtype":"mcp_toggle","serverName":"a","enabled":true}`
		mode := `{"subtype":"set_permission_mode","mode":"plan"}`
		agents := startSequence(t, granting(connected(), toggle, mode),
			connected().Expect(controlRequest("m", mode)).Send(controlRefusal("m", "no")),
			granting(connected(), mode).Expect(controlRequest("t", toggle)).Send(controlRefusal("t", "no")).
				Expect(promptFrame("p", "two")).Send(resultFrame("two", "p")))
		s := agents.open(nil)
		if err := s.SetMCPEnabled(t.Context(), "a", true); err != nil {
			t.Fatal(err)
		}
		if err := s.SetPermissionMode(t.Context(), "plan"); err != nil {
			t.Fatal(err)
		}
		agents.kill()
		wantTurn(t, s, "two", reconnectedText, "result: two")
	})
}

// A rewind is not written down before the next turn, and has to be repeated until then.
func TestReconnectRepeatsARewind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rewind := controlRequest("r", `{"subtype":"rewind_conversation","target_message_uuid":"x"}`)
		done := controlSuccess("r", `{"rewound":true}`)
		agents := startSequence(t, connected().Expect(rewind).Send(done),
			connected().Expect(rewind).Send(done).Expect(promptFrame("p", "two")).Send(resultFrame("two", "p")),
			answers("three"))
		s := agents.open(nil)
		if _, err := s.RewindConversation(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		agents.kill()
		wantTurn(t, s, "two", reconnectedText, "result: two")
		agents.kill()
		wantTurn(t, s, "three", reconnectedText, "ok", "result: three")
	})
}

// The agent resumes the conversation that the session is in. A conversation that may not be on disk
// starts again if it can't be resumed.
func TestReconnectChoosesTheConversation(t *testing.T) {
	t.Parallel()
	turn := func(s *clewtest.Scenario, session string) *clewtest.Scenario {
		return s.Expect(promptFrame("p", "Hi")).Send(initFrame(session), assistantFrame("ok"), resultFrame("done", "p"))
	}
	command := func(s *clewtest.Scenario, session string) *clewtest.Scenario {
		return s.Expect(promptFrame("p", "Hi")).Send(initFrame(session), resultFrame("done", "p"))
	}
	for name, test := range map[string]struct {
		opts  clew.Options
		first *clewtest.Scenario
		turns int
		want  []string
	}{
		"no turn": {clew.Options{Session: clew.SessionOptions{ID: sessionOne}}, connected(), 0, []string{
			"--session-id=" + sessionOne, "--session-id=" + sessionOne, "--session-id=" + sessionOne,
		}},
		"continued, no turn": {clew.Options{Session: clew.SessionOptions{Continue: true}}, connected(), 0, []string{"--continue", "--continue"}},
		"one turn": {clew.Options{}, turn(connected(), sessionOne), 1, []string{
			"", "--resume=" + sessionOne, "--session-id=" + sessionOne, "--resume=" + sessionOne,
		}},
		"two turns": {clew.Options{}, turn(turn(connected(), sessionOne), sessionOne), 2, []string{
			"", "--resume=" + sessionOne, "--resume=" + sessionOne,
		}},
		"forked": {clew.Options{Session: clew.SessionOptions{Resume: "old", Fork: true}}, turn(connected(), sessionTwo), 1, []string{
			"--resume=old --fork-session", "--resume=" + sessionTwo,
			"--resume=old --fork-session --session-id=" + sessionTwo,
		}},
		"resumed": {clew.Options{Session: clew.SessionOptions{Resume: sessionOne}}, turn(connected(), sessionOne), 1, []string{
			"--resume=" + sessionOne, "--resume=" + sessionOne, "--resume=" + sessionOne,
		}},
		"cleared": {
			clew.Options{Session: clew.SessionOptions{Resume: sessionOne}}, command(turn(turn(connected(), sessionOne), sessionOne), sessionTwo), 3,
			[]string{"--resume=" + sessionOne, "--resume=" + sessionTwo, "--session-id=" + sessionTwo},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agents := startSequence(t, test.first)
				test.opts.Reconnect = &clew.ReconnectOptions{MaxAttempts: len(test.want) - 1}
				s := agents.open(&test.opts)
				for range test.turns {
					if _, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi"))); err != nil {
						t.Fatal(err)
					}
				}
				agents.kill()
				_, err := s.Send(t.Context(), clew.Text("Hi"))
				given := wantGivenUp(t, err)
				if diff := cmp.Diff(test.want, agents.resumed()); diff != "" {
					t.Errorf("%v; starts (-want +got):\n%s", given, diff)
				}
			})
		})
	}
}

// A ponger is an MCP server that answers the message 1.
type ponger struct{}

func (ponger) HandleMCP(context.Context, clew.JSON) (clew.JSON, error) {
	return `{"jsonrpc":"2.0","id":1,"result":{}}`, nil
}

// Hooks, servers and the rest of the greeting are the same for each agent, but for the title, which
// may change.
func TestReconnectGreetsAlike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		greeting := `{"subtype":"initialize","agents":{"a":{"description":"d","prompt":"p"}},"sdkMcpServers":["m"]}`
		ping := `{"subtype":"mcp_message","server_name":"m","message":{"jsonrpc":"2.0","id":1,"method":"ping"}}`
		greet := new(clewtest.Scenario).Expect(controlRequest("i", greeting)).Send(controlSuccess("i", `{}`))
		agents := startSequence(t,
			greet.Expect(promptFrame("p1", "one")).Send(initFrame(sessionOne)).Do(kill()),
			new(clewtest.Scenario).Expect(controlRequest("i", greeting)).Send(controlSuccess("i", `{}`)).
				Send(controlRequest("m", ping)).Expect(controlSuccess("m", `{"mcp_response":{"id":1}}`)))
		s := agents.open(&clew.Options{
			Session:    clew.SessionOptions{Title: "mine"},
			Agents:     map[string]clew.AgentDefinition{"a": {Description: "d", Prompt: "p"}},
			MCPServers: map[string]clew.MCPServer{"m": &clew.MCPInProcessServer{Handler: ponger{}}},
		})
		_, err := readOut(t, s.Turn(t.Context(), clew.Text("one")))
		wantLost(t, err)
		synctest.Wait()
		wantClosed(t, s)
		for i, want := range []bool{true, false} {
			frames := hostFrames(agents.agents[i], "control_request")
			if got := strings.Contains(frames[0], `"title":"mine"`); got != want {
				t.Errorf("agent %d gets the title: %v", i, got)
			}
		}
	})
}

// The greeting of a new agent names the current in-process servers, and not earlier ones.
func TestReconnectGreetsWithTheServersOfNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := controlRequest("s", `{"subtype":"mcp_set_servers"}`)
		greeting := controlRequest("i", `{"subtype":"initialize","sdkMcpServers":["new"]}`)
		agents := startSequence(t, connected().Expect(set).Send(controlSuccess("s", `{}`)),
			new(clewtest.Scenario).Expect(greeting).Send(controlSuccess("i", `{}`)).Expect(set).Send(controlSuccess("s", `{}`)).
				Expect(promptFrame("p", "two")).Send(resultFrame("two", "p")))
		server := &clew.MCPInProcessServer{Handler: ponger{}}
		s := agents.open(&clew.Options{MCPServers: map[string]clew.MCPServer{"old": server}})
		if _, err := s.SetMCPServers(t.Context(), map[string]clew.MCPServer{"new": server}); err != nil {
			t.Fatal(err)
		}
		agents.kill()
		wantTurn(t, s, "two", reconnectedText, "result: two")
	})
}

// A randomAgent answers every request and every prompt after a while, and may die at any time.
type randomAgent struct {
	stdin  *io.PipeReader
	stdout *io.PipeWriter
	host   struct {
		stdin  *io.PipeWriter
		stdout *io.PipeReader
	}
	ended chan struct{}
}

func (m *randomAgent) Read(p []byte) (int, error)  { return m.host.stdout.Read(p) }
func (m *randomAgent) Write(p []byte) (int, error) { return m.host.stdin.Write(p) }
func (m *randomAgent) CloseWrite() error           { return m.host.stdin.Close() }

// Close reports a lost agent, whatever its end was.
func (m *randomAgent) Close() error {
	m.die()
	<-m.ended
	return io.ErrUnexpectedEOF
}

// die may be called at any time, and more than once.
func (m *randomAgent) die() {
	m.stdin.CloseWithError(io.ErrClosedPipe)
	_ = m.stdout.Close()
}

// A randomTransport starts random agents, one after the other, and counts the prompts that they
// received.
type randomTransport struct {
	mu      sync.Mutex
	random  *rand.Rand
	starts  int
	prompts promptCounts
	newest  *randomAgent
}

func (g *randomTransport) number(n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.random.IntN(n)
}

func (g *randomTransport) Connect(context.Context, *clew.Launch) (clew.Connection, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.starts++; g.starts > 1 && g.random.IntN(4) == 0 {
		return nil, errNoAgent
	}
	m := &randomAgent{ended: make(chan struct{})}
	m.stdin, m.host.stdin = io.Pipe()
	m.host.stdout, m.stdout = io.Pipe()
	g.newest = m
	go g.answerAtRandom(m)
	return m, nil
}

// answerAtRandom plays an agent until it dies.
func (g *randomTransport) answerAtRandom(m *randomAgent) {
	defer close(m.ended)
	defer m.die()
	var answers sync.WaitGroup
	defer answers.Wait()
	greeted := false
	for lines := bufio.NewReader(m.stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if !greeted && !bytes.Contains(line, []byte(`"subtype":"initialize"`)) {
			panic(fmt.Sprintf("the first frame is %s", line))
		}
		greeted = true
		if answer := g.prompts.answer(line); answer != "" {
			delay := time.Duration(g.number(20)) * time.Millisecond
			answers.Add(1)
			time.AfterFunc(delay, func() {
				defer answers.Done()
				_, _ = io.WriteString(m.stdout, answer+"\n")
			})
		}
	}
}

// promptCounts counts how often agents get each prompt, by its ID.
type promptCounts struct {
	mu   sync.Mutex
	seen map[string]int
}

// answer returns the answer to a frame, or "" if it needs none.
func (c *promptCounts) answer(line []byte) string {
	var frame struct {
		Type      string
		UUID      string
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal(line, &frame); err != nil {
		panic(fmt.Sprintf("%v: %s", err, line))
	}
	switch frame.Type {
	case "user":
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.seen == nil {
			c.seen = make(map[string]int)
		}
		c.seen[frame.UUID]++
		return resultFrame(frame.UUID, frame.UUID)
	case "control_request":
		return controlSuccess(frame.RequestID, `{}`)
	}
	return ""
}

// wantOnce checks that no prompt reached two agents.
func (c *promptCounts) wantOnce(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, times := range c.seen {
		if times > 1 {
			t.Errorf("%d agents got the prompt %s", times, id)
		}
	}
}

// killAtRandom kills agents at random times until stop is closed.
func (g *randomTransport) killAtRandom(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(g.number(60_000)) * time.Microsecond):
			g.mu.Lock()
			m := g.newest
			g.mu.Unlock()
			m.die()
		}
	}
}

// A shortLived transport starts agents that die at a frame after the greeting: before they answer
// it, or after that. Every fourth start fails.
type shortLived struct {
	frames  int // that an agent reads, but for the greeting
	answers bool
	starts  int
	prompts promptCounts
}

func (l *shortLived) Connect(context.Context, *clew.Launch) (clew.Connection, error) {
	if l.starts++; l.starts%4 == 0 {
		return nil, errNoAgent
	}
	m := &randomAgent{ended: make(chan struct{})}
	m.stdin, m.host.stdin = io.Pipe()
	m.host.stdout, m.stdout = io.Pipe()
	go l.play(m)
	return m, nil
}

// play plays an agent until it dies.
func (l *shortLived) play(m *randomAgent) {
	defer close(m.ended)
	defer m.die()
	lines := bufio.NewReader(m.stdin)
	for left := l.frames; left >= 0; left-- {
		line, err := lines.ReadBytes('\n')
		if err != nil || left == 0 && !l.answers {
			return
		}
		if answer := l.prompts.answer(line); answer != "" {
			if _, err := io.WriteString(m.stdout, answer+"\n"); err != nil {
				return
			}
		}
	}
}

// An agent may die at each frame. Every turn and every request ends, with an answer or an error
// that explains why there is none, no prompt reaches two agents, and nothing is left.
func TestReconnectAfterEachFrame(t *testing.T) {
	t.Parallel()
	for frames := 2; frames <= 6; frames++ {
		for _, answers := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d frames, answers %v", frames, answers), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := &shortLived{frames: frames, answers: answers}
					s, err := clew.Connect(t.Context(), &clew.Options{
						Transport: l, Reconnect: &clew.ReconnectOptions{MaxAttempts: 1000, MaxBackoff: time.Second},
					})
					if err != nil {
						t.Fatal(err)
					}
					answers := 0
					for caller := range 5 {
						answers += converse(t, s, caller, 2)
						request(t, s)
					}
					if err := s.Close(); err != nil && !isLostError(err) {
						t.Error(err)
					}
					wantNoGoroutine(t)
					l.prompts.wantOnce(t)
					if l.starts < 3 {
						t.Errorf("only %d starts", l.starts)
					}
					if answers == 0 {
						t.Error("no turn had an answer, so this test shows nothing")
					}
					t.Logf("%d answers to 10 prompts", answers)
				})
			})
		}
	}
}

// Whatever dies when, the same is true.
func TestReconnectUnderRandomDeaths(t *testing.T) {
	random := soak.Search(t)
	for range 100 {
		seed := random.Uint64()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &randomTransport{random: rand.New(rand.NewPCG(seed, 1))}
				s, err := clew.Connect(t.Context(), &clew.Options{
					Transport: g, Reconnect: &clew.ReconnectOptions{MaxAttempts: 1000, MaxBackoff: time.Second},
				})
				if err != nil {
					t.Fatal(err)
				}
				stop := make(chan struct{})
				var killer, callers sync.WaitGroup
				killer.Go(func() { g.killAtRandom(stop) })
				for caller := range 4 {
					callers.Go(func() { converse(t, s, caller, 20) })
				}
				callers.Go(func() {
					for range 40 {
						request(t, s)
						time.Sleep(5 * time.Millisecond)
					}
				})
				callers.Wait()
				close(stop)
				killer.Wait()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				wantNoGoroutine(t)
				g.prompts.wantOnce(t)
				if g.starts < 3 {
					t.Errorf("only %d starts", g.starts)
				}
			})
		})
	}
}

// converse has turns, one after the other, and counts the answers.
func converse(t *testing.T, s *clew.Session, caller, turns int) (answers int) {
	for n := range turns {
		prompt := clew.Text("Hi")
		prompt.UUID = fmt.Sprintf("prompt %d of caller %d", n, caller)
		var last wire.Message
		var err error
		for msg, failure := range s.Turn(t.Context(), prompt) {
			if err = failure; msg != nil {
				last = msg
			}
		}
		if result, ok := last.(*wire.ResultMessage); err == nil && (!ok || result.Result != prompt.UUID) {
			t.Errorf("the turn of %s ends with %v", prompt.UUID, last)
		}
		if err == nil {
			answers++
		} else if !isLostError(err) {
			t.Errorf("turn: %v", err)
		}
	}
	return answers
}

// request makes a request.
func request(t *testing.T, s *clew.Session) {
	if _, err := s.SetModel(t.Context(), "opus"); err != nil && !isLostError(err) {
		t.Errorf("request: %v", err)
	}
	if info := s.Info(); info == nil || errors.Is(s.Err(), clew.ErrClosed) {
		t.Error("the session has no agent")
	}
}
