package clew_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A turn that is cut ends with an error that says so, behind all that the agent had said, and the next one goes on.
func TestReconnectAfterACutTurn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		agents := succeed(t, cut(), answers("two"))
		s := agents.open(nil)
		msgs, err := hearOut(t, s.TurnMessage(t.Context(), &clew.UserMessage{
			UUID: "p1", APIMessage: wire.APIMessage{Content: clew.Content{clew.Text("one")}},
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

// Messages goes on, and names the prompts that are lost, also those that were in the queue of the agent.
func TestReconnectWhileAllIsRead(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		agents := succeed(t,
			connected().Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).
				Send(initFrame(sessionOne), assistantFrame("Well,")).Do(kill()),
			answers("three"))
		s := agents.open(nil)
		var sent []string
		for _, prompt := range []string{"one", "two"} {
			id, err := s.Send(t.Context(), prompt)
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
				if _, err := s.Send(t.Context(), "three"); err != nil {
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

// All turns that are cut end, also those that stand in line, and their contexts are of no concern any more.
func TestReconnectEndsTurnsInLine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		agents := succeed(t,
			connected().Expect(promptFrame("p1", "left")).Expect(promptFrame("p2", "first")).Expect(promptFrame("p3", "second")).
				Send(initFrame(sessionOne), assistantFrame("Well,")),
			answers("next"))
		s := agents.open(nil)
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := s.Send(t.Context(), "left"); err != nil {
			t.Fatal(err)
		}
		first := inBackground(ctx, s, textPrompt("first"))
		second := inBackground(ctx, s, textPrompt("second"))
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

// A turn that was left leaves a message about the new agent for the next turn, which skips all else.
func TestReconnectBehindALeftTurn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		agents := succeed(t, connected().Expect(promptFrame("p1", "one")).
			Send(assistantFrame("1"), assistantFrame("2"), assistantFrame("3")), answers("two"))
		s := agents.open(nil)
		for range s.Turn(t.Context(), "one") {
			break
		}
		agents.kill()
		wantTurn(t, s, "two", reconnectedText, "ok", "result: two")
	})
}

// A result that was read before the death counts, read by the caller or not.
func TestReconnectAfterATurn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		agents := succeed(t, connected().Expect(promptFrame("p1", "one")).
			Send(initFrame(sessionOne), assistantFrame("1"), resultFrame("one", "p1")).Do(clewtest.ExitBefore(1)),
			answers("two"))
		s := agents.open(nil)
		if _, err := s.Send(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantTurn(t, s, "two", "*wire.InitMessage", "1", "result: one", reconnectedText, "ok", "result: two")
	})
}

// What came before the death may be on disk by the time that it is read, and the message about it, too.
func TestReconnectBehindABacklogOnDisk(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const messages = 40_000
		agents := succeed(t,
			connected().Expect(promptFrame("p1", "one")).Do(clewtest.Flood(2*messages)).Do(kill()), answers("two"))
		s := agents.open(nil)
		turn := make(chan error, 1)
		var last wire.Message
		seen := 0
		go func() {
			var err error
			for msg, failure := range s.Turn(t.Context(), "one") {
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

// An agent that ends in the middle of a turn has died, whatever its exit code. Between turns it has ended, and so does
// the session.
func TestReconnectAfterAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	t.Run("in a turn", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			s := succeed(t, connected().Expect(promptFrame("p1", "one")).Exit(0), answers("two")).open(nil)
			_, err := hearOut(t, s.Turn(t.Context(), "one"))
			if exit := wantExit(t, err); exit.Reason != "ended without a result" || s.Err() != nil {
				t.Errorf("error %v, of the session %v", err, s.Err())
			}
			wantTurn(t, s, "two", "ok", "result: two")
		})
	})
	t.Run("between turns", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			agents := succeed(t, answers("one").Exit(0))
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
	inBubble(t, func(t *testing.T) {
		agents := succeed(t, cut())
		opts := &clew.Options{Transport: agents, Reconnect: new(clew.ReconnectOptions), Ephemeral: true}
		_, err := clew.Run(t.Context(), "one", opts)
		if diff := cmp.Diff(killed, wantExit(t, err)); diff != "" || len(agents.resumed()) != 1 {
			t.Errorf("%d starts (-want +got):\n%s", len(agents.resumed()), diff)
		}
	})
}

// A session that has not come up has nothing to take up: the error is that of any other.
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
			inBubble(t, func(t *testing.T) {
				agents := succeed(t, test.scenario)
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
