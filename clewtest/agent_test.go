package clewtest_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
)

func dialogue(t testing.TB, text string) *clewtest.Scenario {
	t.Helper()
	s, err := clewtest.ReadDialogue(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestExpectAny(t *testing.T) {
	s := new(clewtest.Scenario).ExpectAny(ask("a"), ask("b"), prompt).Send(success("a"), success("b"))
	inBothForms(t, s, func(h *host) {
		h.say(prompt, ask("1"), ask("2"))
		h.expect(success("1"), success("2"))
		h.close()
		h.ends("")
	})
}

// A frame counts for the expected frame that names more of its values, in whatever order they are
// expected.
func TestExpectAnyMostSpecific(t *testing.T) {
	s := new(clewtest.Scenario).ExpectAny(`{"type":"user"}`, prompt)
	inBothForms(t, s, func(h *host) {
		h.say(prompt, strings.Replace(prompt, "Hi", "Ho", 1))
		h.close()
		h.ends("")
	})
}

func TestKeepAliveFromTheHost(t *testing.T) {
	s := new(clewtest.Scenario).Expect(prompt).Send(answer).Expect(alive).Send(alive)
	inBothForms(t, s, func(h *host) {
		h.say(alive, "", prompt)
		h.expect(answer)
		h.say(alive)
		h.expect(alive)
		h.say(alive)
		h.close()
		h.ends("")
	})
}

func TestAgentArgsAndDialogue(t *testing.T) {
	a := clewtest.NewAgent(t, new(clewtest.Scenario).Expect(ask("a")).Send(success("a")).Stderr("hm\n"))
	if a.Args() != nil || a.Dialogue() != "" {
		t.Errorf("before it starts: %q, %q", a.Args(), a.Dialogue())
	}
	for range 2 {
		h := processHost(t, a)
		h.say(ask("1"))
		h.expect(success("1"))
		if diff := cmp.Diff([]string{"--verbose", "two words"}, a.Args()); diff != "" {
			t.Errorf("arguments (-want +got):\n%s", diff)
		}
		h.close()
		h.ends("")
		want := "# args \"--verbose\" \"two words\"\n> " + ask("1") + "\n< " + success("1") +
			"\n# stderr \"hm\\n\"\n# host closes stdin\n# exit 0\n"
		if diff := cmp.Diff(want, a.Dialogue()); diff != "" {
			t.Errorf("dialogue (-want +got):\n%s", diff)
		}
	}
}

// A host can start its agent with Path and Env.
func TestAgentPathAndEnv(t *testing.T) {
	a := clewtest.NewAgent(t, new(clewtest.Scenario).Send(answer))
	p, err := os.StartProcess(a.Path(), []string{"claude", "-p"}, &os.ProcAttr{Env: a.Env()})
	if err != nil {
		t.Fatal(err)
	}
	if state, err := p.Wait(); err != nil || !state.Success() {
		t.Errorf("got %v, %v", state, err)
	}
	if diff := cmp.Diff([]string{"-p"}, a.Args()); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestAgentWithoutItsTest(t *testing.T) {
	for name, value := range map[string]string{
		"malformed": "x", "nobody listens": "127.0.0.1:1 secret agent",
	} {
		cmd := clewtest.NewAgent(t, nil).Command(t.Context())
		cmd.Env = []string{"CLEWTEST_AGENT=" + value}
		out, err := cmd.CombinedOutput()
		if exitCode(err) != 70 || !strings.HasPrefix(string(out), "clewtest: the test is gone: ") {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}

func TestWrongSecret(t *testing.T) {
	a := clewtest.NewAgent(t, new(clewtest.Scenario).Send(answer))
	cmd := a.Command(t.Context())
	address, _, _ := strings.Cut(a.Env()[0], " ")
	cmd.Env = []string{address + " wrong agent"}
	if out, err := cmd.CombinedOutput(); exitCode(err) != 70 || string(out) != "clewtest: the test is gone: it closed the connection\n" {
		t.Errorf("got %v, %s", err, out)
	}
	if a.Dialogue() != "" {
		t.Errorf("dialogue %q", a.Dialogue())
	}
}

func TestNilScenario(t *testing.T) {
	h := memoryHost(t, clewtest.NewAgent(t, nil))
	h.close()
	h.ends("")
}

func TestScenarioIsCopied(t *testing.T) {
	s := new(clewtest.Scenario).Send(answer)
	a := clewtest.NewAgent(t, s)
	s.Expect(prompt)
	h := memoryHost(t, a)
	h.expect(answer)
	h.close()
	h.ends("")
}

// A host that writes before it reads does not block. It would not with a process either.
func TestConnHasRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(clewtest.Scenario)
		for range 10 {
			s.Send(answer).Expect(prompt)
		}
		h := memoryHost(t, clewtest.NewAgent(t, s))
		for range 10 {
			h.say(prompt)
		}
		h.close()
		if got := h.rest(); got != strings.Repeat(answer+"\n", 10) {
			t.Errorf("read %q", got)
		}
	})
}

func TestConnInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(clewtest.Scenario).Expect(prompt).Do(clewtest.Trickle(answer, time.Second)).Do(clewtest.Hang())
		c := clewtest.NewAgent(t, s).Conn()
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		context.AfterFunc(ctx, func() { _ = c.Signal(syscall.SIGTERM) })
		if _, err := io.WriteString(c.Stdin, prompt+"\n"); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c.Stdout)
		if string(got) != answer+"\n" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		var exit *clewtest.ExitError
		if err := c.Wait(); !errors.As(err, &exit) || exit.Code != -1 || exit.Signal != syscall.SIGTERM {
			t.Errorf("got %v", err)
		}
		if passed := time.Since(begin); passed != time.Hour {
			t.Errorf("%v passed", passed)
		}
	})
}

// The agent of a test around the bubble works if it ends before the bubble.
func TestConnInBubbleOfAnotherTest(t *testing.T) {
	a := clewtest.NewAgent(t, new(clewtest.Scenario).Expect(prompt).Do(clewtest.Trickle(answer, time.Second)))
	synctest.Test(t, func(t *testing.T) {
		h := memoryHost(t, a)
		h.say(prompt)
		h.expect(answer)
		h.close()
		h.ends("")
	})
}

func TestHostClosesTheOutput(t *testing.T) {
	fake := &fakeTB{TB: t}
	c := clewtest.NewAgent(fake, dialogue(t, "< a\n> {}\n< b\n> {\"type\":\"c\"}\n")).Conn()
	if _, err := io.ReadFull(c.Stdout, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	if err := c.Stdout.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c.Stdin, "{}\n"); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(c.Wait()); code != 70 {
		t.Errorf("exit %d", code)
	}
	want := "clewtest: step 3 (line 3): the host closed the agent's output, and the scenario expects more of the host\n" +
		"want > {\"type\":\"c\"}\nthe dialogue so far:\n< a\n> {}\n< b\n# the host closed the agent's output"
	if diff := cmp.Diff(want, fake.end()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestSummarize runs the test in the example.
func TestSummarize(t *testing.T) { testSummarize(t) }

// The agent's requests keep their ids, even if the host uses the same ones.
func TestRequestIDsOfBothSides(t *testing.T) {
	request := `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool"}}`
	reply := `{"type":"control_response","response":{"subtype":"success","request_id":"r1"}}`
	s := new(clewtest.Scenario).Expect(ask("r1")).Send(request).Expect(reply).Send(success("r1"))
	inBothForms(t, s, func(h *host) {
		h.say(ask("x"))
		h.expect(request)
		h.say(reply)
		h.expect(success("x"))
		h.close()
		h.ends("")
	})
}

// The agent keeps its session ID, whatever ID the host sends.
func TestSessionIDIsTheAgents(t *testing.T) {
	named := strings.Replace(prompt, "{", `{"session_id":"s","uuid":"u",`, 1)
	s := new(clewtest.Scenario).Expect(named).Send(answer)
	inBothForms(t, s, func(h *host) {
		h.say(strings.Replace(strings.Replace(named, `"s"`, `""`, 1), `"u"`, `"mine"`, 1))
		h.expect(answer)
		h.close()
		h.ends("")
	})
}

// Answers for Any go to the requests without a name, in their order.
func TestAnyRequestID(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask(clewtest.Any)).Expect(ask("b")).Expect(ask(clewtest.Any)).Expect(ask(clewtest.Any)).
		Send(success(clewtest.Any), success("b"), map[string]any{
			"response": map[string]any{"request_id": clewtest.Any, "response": struct{}{}, "subtype": "success"},
			"type":     "control_response",
		}).Do(clewtest.RespondTwice(clewtest.Any))
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"), ask("2"), ask("3"), ask("4"))
		h.expect(success("1"), success("2"), success("3"), success("4"), success("4"))
		h.close()
		h.ends("")
	})
}

func TestHookCallbackIDs(t *testing.T) {
	initialize := `{"type":"control_request","request_id":"i","request":{"subtype":"initialize","hooks":{` +
		`"PreToolUse":[{"matcher":"*","hookCallbackIds":["hook_0","hook_1"]}],"Stop":[{"hookCallbackIds":["hook_2"]}]}}}`
	call := func(id string) string {
		return `{"type":"control_request","request_id":"c","request":{"subtype":"hook_callback","callback_id":"` + id + `","input":{}}}`
	}
	s := new(clewtest.Scenario).Expect(initialize).Send(call("hook_2"), call("hook_0"), call("other"))
	inBothForms(t, s, func(h *host) {
		h.say(strings.NewReplacer("hook_0", "one", "hook_1", "two", "hook_2", "three").Replace(initialize))
		h.expect(call("three"), call("one"), call("other"))
		h.close()
		h.ends("")
	})
}

// The example of a test with the real agent passes.
func TestRealAgentExample(t *testing.T) {
	t.Parallel()
	testReview(t)
}
