package simtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// replayFrame is a prompt that an older agent sends back when it starts it.
func replayFrame(id, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"isReplay":true,"message":{"role":"user","content":[{"type":"text","text":%q}]}}`,
		id, text)
}

func lifecycleFrame(id, state string) string {
	return fmt.Sprintf(`{"type":"command_lifecycle","command_uuid":%q,"state":%q,"uuid":"l","session_id":"s"}`, id, state)
}

// resultOf is a result that names one prompt.
func resultOf(text, prompt string) string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","result":%q,"user_message_uuid":%q}`, text, prompt)
}

// A namelessQueue answers a queue like Claude Code 2.1.88 to 2.1.200: the first prompt by itself,
// and later ones together, with results that name none.
func namelessQueue() *clewtest.Scenario {
	return connected().
		Expect(promptFrame("p1", "one")).Send(replayFrame("p1", "one")).
		Expect(promptFrame("p2", "two")).Expect(promptFrame("p3", "three")).
		Send(assistantFrame("1"), resultFrame("one"), replayFrame("p2", "two"), replayFrame("p3", "two three"),
			assistantFrame("2 and 3"), resultFrame("two and three"))
}

// A namedQueue answers a queue like Claude Code 2.1.250: a result names the last of its prompts.
func namedQueue() *clewtest.Scenario {
	return connected().
		Expect(promptFrame("p1", "one")).Send(lifecycleFrame("p1", "queued"), lifecycleFrame("p1", "started")).
		Expect(promptFrame("p2", "two")).Expect(promptFrame("p3", "three")).
		Send(lifecycleFrame("p2", "queued"), lifecycleFrame("p3", "queued"), assistantFrame("1"), resultOf("one", "p1"),
			lifecycleFrame("p1", "completed"), lifecycleFrame("p2", "started"), lifecycleFrame("p3", "started"),
			assistantFrame("2 and 3"), resultOf("two and three", "p3"),
			lifecycleFrame("p2", "completed"), lifecycleFrame("p3", "completed"))
}

// The prompts that an agent sends back are hidden. Outputs of commands, which have the same mark,
// are not.
func TestOutputOfCommandsIsNotHidden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "/compact")).
			Send(replayFrame("p1", "/compact"), replayFrame("o1", "Compacted"), resultFrame("done")), nil)
		messages, err := readOut(t, s.Turn(t.Context(), clew.Text("/compact")))
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, msg := range messages {
			if m, ok := msg.(*wire.UserMessage); ok {
				shown = append(shown, m.Content.Text())
			}
		}
		if diff := cmp.Diff([]string{"Compacted"}, shown); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Each of the prompts that an older agent answers together ends with their result.
func TestOlderAgentsAnswerPromptsTogether(t *testing.T) {
	for name, scenario := range map[string]func() *clewtest.Scenario{"no names": namelessQueue, "one name": namedQueue} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _ := simulate(t, scenario(), nil)
				first := inBackground(t.Context(), s, clew.Text("one"))
				second := inBackground(t.Context(), s, clew.Text("two"))
				third := inBackground(t.Context(), s, clew.Text("three"))
				for _, r := range []*reading{first, second, third} {
					<-r.done
				}
				if first.err != nil || last(first.texts) != "result: one" || last(second.texts) != "result: two and three" {
					t.Errorf("turns %q, %q, error %v", first.texts, second.texts, first.err)
				}
				third.want(t, nil, "result: two and three")
			})
		})
	}
}

func last(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// A run with several prompts ends without an error, whether or not it has callbacks.
func TestOlderAgentsAnswerARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, opts := range []*clew.Options{{}, {OnElicitation: declines}} {
			agent := clewtest.NewAgent(t, namelessQueue())
			prompts := slices.Values([]*clew.UserMessage{clew.Text("one"), clew.Text("two"), clew.Text("three")})
			got, err := textsOf(clew.Query(t.Context(), prompts, inMemory(agent, opts)))
			if err != nil || last(got) != "result: two and three" || len(got) != 4 {
				t.Errorf("run %q, error %v", got, err)
			}
		}
	})
}

// Some agents drop the prompts that wait when their input is closed, so it stays open until all are
// answered.
func TestInputStaysOpenForPromptsThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var record strings.Builder
		agent := clewtest.NewAgent(t, namelessQueue())
		prompts := slices.Values([]*clew.UserMessage{clew.Text("one"), clew.Text("two"), clew.Text("three")})
		if _, err := clew.Run(t.Context(), prompts, inMemory(agent, &clew.Options{Debug: clew.DebugOptions{Record: &record}})); err != nil {
			t.Error(err)
		}
		_, after, closed := strings.Cut(record.String(), "# host closes stdin")
		if !closed || strings.Contains(after, `"type":"result"`) {
			t.Errorf("recorded:\n%s", record.String())
		}
	})
}

func declines(context.Context, *clew.ElicitationRequest) (*clew.ElicitationResult, error) {
	return nil, nil
}

// An older agent does not report that a prompt was canceled: its answer to the request shows it.
func TestOlderAgentsCancelPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(promptFrame("p1", "one")).Send(replayFrame("p1", "one")).
			Expect(promptFrame("p2", "two")).
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":true}`), resultFrame("one")).
			Expect(promptFrame("p3", "three")).Send(replayFrame("p3", "three"), assistantFrame("3"), resultFrame("three")), nil)
		first := inBackground(t.Context(), s, clew.Text("one"))
		prompt := clew.Text("two")
		prompt.UUID = "p2"
		second := inBackground(t.Context(), s, prompt)
		if canceled, err := s.CancelPrompt(t.Context(), "p2"); !canceled || err != nil {
			t.Errorf("canceled %t, %v", canceled, err)
		}
		<-first.done
		<-second.done
		wantError(t, second.err, clew.ErrCanceled)
		wantTurn(t, s, "three", "3", "result: three")
	})
}

// A caller who cancels a prompt inside its loop does not wait for room in a full backlog, which
// only the loop makes.
func TestOlderAgentsCancelPromptInAFullBacklog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const frames = 12
		scenario := connected().
			Expect(promptFrame("p1", "one")).Send(replayFrame("p1", "one")).
			Expect(promptFrame("p2", "two")).Send(assistantFrame("first"))
		for range frames {
			scenario.Send(assistantFrame(strings.Repeat("x", 1<<20)))
		}
		s, _ := simulate(t, scenario.
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":true}`), resultFrame("one")).
			Expect(promptFrame("p3", "three")).Send(replayFrame("p3", "three"), assistantFrame("3"), resultFrame("three")),
			&clew.Options{Limits: clew.Limits{MaxBacklogBytes: 1}})
		second := clew.Text("two")
		second.UUID = "p2"
		for _, prompt := range []*clew.UserMessage{clew.Text("one"), second} {
			if _, err := s.Send(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
		}
		got := 0
		for msg, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if textOf(msg) == "first" {
				if canceled, err := s.CancelPrompt(t.Context(), "p2"); !canceled || err != nil {
					t.Errorf("canceled %t, %v", canceled, err)
				}
			}
			got++
			if _, ok := msg.(*clew.ResultMessage); ok {
				break
			}
		}
		if want := 1 + frames + 1; got != want {
			t.Errorf("%d messages, want %d", got, want)
		}
		wantTurn(t, s, "three", "3", "result: three")
	})
}

// So it is when the context of a turn that waits in the queue ends.
func TestOlderAgentsLeaveTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(promptFrame("p1", "one")).Send(replayFrame("p1", "one")).
			Expect(promptFrame("p2", "two")).
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":true}`), resultFrame("one")).
			Expect(promptFrame("p3", "three")).Send(replayFrame("p3", "three"), assistantFrame("3"), resultFrame("three")), nil)
		first := inBackground(t.Context(), s, clew.Text("one"))
		ctx, cancel := context.WithCancel(t.Context())
		second := inBackground(ctx, s, clew.Text("two"))
		cancel()
		second.want(t, context.Canceled)
		<-first.done
		synctest.Wait()
		got, err := textsOf(s.Turn(t.Context(), clew.Text("three"))) // the report may come before or in it
		if err != nil || !slices.Contains(got, "3") || last(got) != "result: three" {
			t.Errorf("the turn %q, error %v", got, err)
		}
	})
}

// A request that the agent does not answer ends with the reason. The session continues.
func TestControlRequestIsNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(controlRequest("c", `{"subtype":"list_models"}`)).Expect(controlCancel("c")).
			Expect(promptFrame("p", "Hi")).Send(resultFrame("done", "p")), nil)
		began := time.Now()
		_, err := s.Models(t.Context())
		refused, ok := errors.AsType[*clew.ControlError](err)
		if !ok || refused.Unsupported() || !errors.Is(err, context.DeadlineExceeded) ||
			err.Error() != "clew: list_models: the agent did not answer within 1m0s: it may not know the request" {
			t.Errorf("error %v", err)
		}
		if passed := time.Since(began); passed != time.Minute { // of the fake clock
			t.Errorf("after %v", passed)
		}
		wantTurn(t, s, "Hi", "result: done")
	})
}

// The limit can be changed. Requests whose answers depend on a model have none.
func TestControlTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(controlRequest("c", `{"subtype":"list_models"}`)).Expect(controlCancel("c")).
			Expect(controlRequest("q", `{"subtype":"side_question"}`)).Expect(controlCancel("q")),
			&clew.Options{Limits: clew.Limits{ControlTimeout: time.Second}})
		began := time.Now()
		if _, err := s.Models(t.Context()); err == nil || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := s.SideQuestion(ctx, "Why?")
		if _, refused := errors.AsType[*clew.ControlError](err); refused || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// An agent that does not know how a request is withdrawn gets no withdrawal: some die of it.
func TestOldAgentGetsNoWithdrawal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(controlRequest("c", `{"subtype":"list_models"}`)).
			Expect(promptFrame("p", "Hi")).Send(resultFrame("done")), &clew.Options{AgentVersion: "2.0.76", AllowOldAgent: true})
		if _, err := s.Models(t.Context()); err == nil {
			t.Error("there is an answer")
		}
		wantTurn(t, s, "Hi", "result: done")
	})
}

// An option that the version of the agent ignores is refused before the agent starts.
func TestOptionOfANewerAgent(t *testing.T) {
	t.Parallel()
	agent := clewtest.NewAgent(t, nil)
	_, err := clew.Connect(t.Context(), inMemory(agent, &clew.Options{AgentVersion: "2.1.88", VerbatimPrompts: true}))
	if refused, ok := errors.AsType[*clew.OptionsError](err); !ok || refused.Option != "VerbatimPrompts" {
		t.Errorf("error %v", err)
	}
}

// verbatim returns a prompt that the agent must take literally.
func verbatim(text string) *clew.UserMessage {
	prompt := clew.Text(text)
	prompt.ClientComposed = true
	return prompt
}

func wantUnfit(t *testing.T, err error) {
	t.Helper()
	if refused, ok := errors.AsType[*clew.OptionsError](err); !ok || refused.Option != "UserMessage.ClientComposed" {
		t.Errorf("error %v", err)
	}
}

// A prompt that the version of the agent would take in another way is refused, in every way to send it.
func TestPromptOfANewerAgent(t *testing.T) {
	const old = "2.1.200"
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Send(resultFrame("done")), &clew.Options{AgentVersion: old})
		_, err := s.Send(t.Context(), verbatim("/compact"))
		wantUnfit(t, err)
		_, err = textsOf(s.Turn(t.Context(), verbatim("/compact")))
		wantUnfit(t, err)
		wantTurn(t, s, "Hi", "result: done")

		_, err = clew.Run(t.Context(), verbatim("/compact"), inMemory(clewtest.NewAgent(t, connected()), &clew.Options{AgentVersion: old}))
		wantUnfit(t, err)

		c := newFakeTransport()
		p, err := clew.NewPool(t.Context(), &clew.Options{Transport: c, AgentVersion: old}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		_, err = p.Run(t.Context(), verbatim("/compact"))
		wantUnfit(t, err)
		if served := p.Stats().Served; served != 1 {
			t.Errorf("%d agents were tried", served)
		}
	})
}

// An agent that reports its version with its first turn got a prompt before: that is a warning.
func TestPromptOfANewerAgentThatIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).
			Send(`{"type":"system","subtype":"init","claude_code_version":"2.1.200","session_id":"s"}`, resultFrame("done")).
			Expect(promptFrame("q", "Hi")).Send(resultFrame("done")),
			&clew.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if _, err := textsOf(s.Turn(t.Context(), verbatim("Hi"))); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		const want = `option UserMessage.ClientComposed: Claude Code 2.1.200 may ignore it: use version 2.1.250 or newer`
		if got := log.String(); strings.Count(got, want) != 1 {
			t.Errorf("log %q", got)
		}
		_, err := textsOf(s.Turn(t.Context(), verbatim("Hi")))
		wantUnfit(t, err)
		wantTurn(t, s, "Hi", "result: done")
	})
}

// A warning is about a prompt that the agent got: not about a prompt that was lost with the agent
// before it, or that was withdrawn.
func TestPromptThatANewAgentHasNotGot(t *testing.T) {
	const init = `{"type":"system","subtype":"init","claude_code_version":"2.1.200","session_id":"s"}`
	for name, test := range map[string]struct {
		first, second *clewtest.Scenario
		before, after string // the prompt before and after the death of the first agent
		warnings      int
	}{
		"lost":   {connected().Expect(promptFrame("p", "one")).Do(clewtest.Hang()), connected().Expect(promptFrame("q", "Hi")), "one", "", 0},
		"waits":  {connected().Do(clewtest.Hang()), connected().Expect(promptFrame("p", "two")).Expect(promptFrame("q", "Hi")), "", "two", 1},
		"leaves": {connected().Do(clewtest.Hang()), connected().Expect(promptFrame("q", "Hi")), "", "leave", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				agents := startSequence(t, test.first, nil, test.second.Send(init, resultFrame("done", "q")))
				s := agents.open(&clew.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				sendVerbatim(t, s, test.before)
				agents.kill()
				sendVerbatim(t, s, test.after)
				if _, err := textsOf(s.Turn(t.Context(), clew.Text("Hi"))); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if got := strings.Count(log.String(), "ignores a part of a prompt"); got != test.warnings {
					t.Errorf("%d warnings, want %d: %s", got, test.warnings, &log)
				}
			})
		})
	}
}

// sendVerbatim sends a prompt unless it is empty. The prompt "leave" is soon withdrawn.
func sendVerbatim(t *testing.T, s *clew.Session, text string) {
	t.Helper()
	switch text {
	case "":
	case "leave":
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := s.Send(ctx, verbatim(text))
		wantError(t, err, context.DeadlineExceeded)
	default:
		go func() { _, _ = s.Send(t.Context(), verbatim(text)) }()
		synctest.Wait()
	}
}

// The agent reports the ID of the model that was set, or else ServerInfo has it.
func TestSetModelOfOlderAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := func(id, model string) string {
			return controlRequest(id, `{"subtype":"set_model","model":"`+model+`"}`)
		}
		s, _ := simulate(t, new(clewtest.Scenario).Expect(initialize).
			Send(controlSuccess("init", `{"models":[{"value":"opus","resolvedModel":"claude-opus-5"}]}`)).
			Expect(set("a", "haiku")).Send(controlSuccess("a", `{"model":"claude-haiku-5"}`)).
			Expect(set("b", "opus")).Send(controlSuccess("b", `{}`)).
			Expect(set("c", "sonnet")).Send(controlSuccess("c", `{}`)), nil)
		for _, tt := range [][2]string{{"haiku", "claude-haiku-5"}, {"opus", "claude-opus-5"}, {"sonnet", "sonnet"}} {
			if got, err := s.SetModel(t.Context(), tt[0]); got != tt[1] || err != nil {
				t.Errorf("%s became %q, %v", tt[0], got, err)
			}
		}
	})
}

// An interrupt that is to cancel the queue is refused, and not sent, if the agent would run the queue.
func TestCancelQueuedOfANewerAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).Send(controlSuccess("i", `{}`)), &clew.Options{AgentVersion: "2.1.200"})
		_, err := s.Interrupt(t.Context(), &clew.InterruptOptions{CancelQueued: true})
		refused, ok := errors.AsType[*clew.OptionsError](err)
		if !ok || refused.Option != "InterruptOptions.CancelQueued" || !strings.Contains(refused.Reason, "2.1.200") ||
			!strings.Contains(refused.Reason, "use version 2.1.219 or newer") {
			t.Errorf("error %v", err)
		}
		if _, err := s.Interrupt(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(controlRequest("i", `{"subtype":"interrupt","cancel_queued":true}`)).
			Send(controlSuccess("i", `{"cancelled":["p"]}`)), &clew.Options{AgentVersion: "2.1.219"})
		receipt, err := s.Interrupt(t.Context(), &clew.InterruptOptions{CancelQueued: true})
		if err != nil || len(receipt.Canceled) != 1 {
			t.Errorf("receipt %+v, error %v", receipt, err)
		}
	})
}

// An agent that is older than the oldest supported version does not start, whoever names its version,
// unless the options allow it. With them, an option that it ignores is refused.
func TestOldAgentIsRefused(t *testing.T) {
	t.Parallel()
	const reason = "Claude Code 2.0.76 is too old: update it to version " + clew.MinAgentVersion + " or newer"
	reported := func() *clewtest.Scenario {
		return answering(`"subtype":"success","response":{"claude_code_version":"2.0.76"}`)
	}
	refusal := func(t *testing.T, err error, option string) {
		t.Helper()
		if refused, ok := errors.AsType[*clew.OptionsError](err); !ok || refused.Option != option || !strings.Contains(refused.Reason, "2.0.76") ||
			!strings.Contains(refused.Reason, clew.MinAgentVersion) {
			t.Errorf("error %v, want an error of option %s with %q", err, option, reason)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := clew.Connect(t.Context(), inMemory(clewtest.NewAgent(t, nil), &clew.Options{AgentVersion: "2.0.76"}))
		refusal(t, err, "AgentVersion")
		_, err = clew.Connect(t.Context(), inMemory(clewtest.NewAgent(t, reported()), nil))
		refusal(t, err, "AgentPath")
		_, err = clew.Run(t.Context(), "Hi", inMemory(clewtest.NewAgent(t, reported()), nil))
		refusal(t, err, "AgentPath")
		_, err = clew.NewPool(t.Context(), inMemory(clewtest.NewAgent(t, nil), &clew.Options{AgentVersion: "2.0.76"}), &clew.PoolOptions{MaxUses: 3})
		refusal(t, err, "AgentVersion")
		_, err = clew.Connect(t.Context(), inMemory(clewtest.NewAgent(t, nil), &clew.Options{
			AgentVersion: "2.0.76", AllowOldAgent: true, SystemPrompt: &clew.SystemPrompt{Custom: []string{"Be brief."}},
		}))
		refusal(t, err, "SystemPrompt")
	})
}

// A version that answers before it is connected to a server of this process is asked until it is.
func TestAddedServerIsUsable(t *testing.T) {
	t.Parallel()
	status := func(id, state string) string {
		return controlSuccess(id, `{"mcpServers":[{"name":"other","status":"pending"},{"name":"own","status":"`+state+`"}]}`)
	}
	asked := func(id string) string { return controlRequest(id, `{"subtype":"mcp_status"}`) }
	for _, end := range []string{"connected", "failed"} {
		synctest.Test(t, func(t *testing.T) {
			s, agent := simulate(t, connected().
				Expect(setServers("s")).Send(serversSet("s")).
				Expect(asked("a")).Send(status("a", "pending")).
				Expect(asked("b")).Send(status("b", "pending")).
				Expect(asked("c")).Send(status("c", end)), &clew.Options{AgentVersion: "2.1.88"})
			_, err := s.SetMCPServers(t.Context(), ownServers(map[string]clew.MCPOpener{"own": new(mcpServer)}).MCPServers)
			if err != nil {
				t.Error(err)
			}
			wantClosed(t, s)
			_ = agent
		})
	}
	synctest.Test(t, func(t *testing.T) {
		scenario := connected().Expect(setServers("s")).Send(serversSet("s"))
		for i := range 3 { // 0, 20 and 40 ms after the request
			id := fmt.Sprint(i)
			scenario = scenario.Expect(asked(id)).Send(status(id, "pending"))
		}
		s, _ := simulate(t, scenario, &clew.Options{AgentVersion: "2.1.88", Limits: clew.Limits{ControlTimeout: 50 * time.Millisecond}})
		change, err := s.SetMCPServers(t.Context(), ownServers(map[string]clew.MCPOpener{"own": new(mcpServer)}).MCPServers)
		if change == nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not connected within 50ms") {
			t.Errorf("change %v, error %v", change, err)
		}
	})
}
