package clewtest_test

import (
	"context"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
)

func TestMissingWhenTheTestEnds(t *testing.T) {
	for form, start := range forms {
		t.Run(form, func(t *testing.T) {
			fake := &fakeTB{TB: t}
			h := start(t, clewtest.NewAgent(fake, dialogue(t, "> {\"type\":\"a\"}\n< b\n< c\n> {\"type\":\"d\"}\n")))
			h.say(`{"type":"a"}`)
			h.expect("b", "c")
			got := strings.Replace(fake.end(), "# args \"--verbose\" \"two words\"\n", "", 1)
			want := `clewtest: step 4 (line 4): the test ended, and the scenario expects more of the host
want > {"type":"d"}
the dialogue so far:
> {"type":"a"}
< b
< c
# the test ended`
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissingWhenKilled(t *testing.T) {
	for form, start := range forms {
		t.Run(form, func(t *testing.T) {
			fake := &fakeTB{TB: t}
			h := start(t, clewtest.NewAgent(fake, dialogue(t, "< b\n# host closes stdin\n")))
			h.expect("b")
			if err := h.signal(os.Kill); err != nil {
				t.Fatal(err)
			}
			h.ends("signal: killed")
			if got := fake.end(); !strings.Contains(got, ", and the scenario expects more of the host\nwant host closes stdin\n") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// Of a step in any order, only what has not come is missing.
func TestMissingInPart(t *testing.T) {
	for form, start := range forms {
		t.Run(form, func(t *testing.T) {
			fake := &fakeTB{TB: t}
			s := new(clewtest.Scenario).ExpectAny(prompt, ask("a")).Send(answer).Expect(ask("b"))
			agent := clewtest.NewAgent(fake, s)
			h := start(t, agent)
			h.say(prompt)
			for !strings.Contains(agent.Dialogue(), prompt) {
				runtime.Gosched()
			}
			if got, want := fake.end(), "\nwant > "+ask("a")+"\nthe dialogue so far:\n"; !strings.Contains(got, want) ||
				strings.Contains(got, "want > "+prompt) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestNotStarted(t *testing.T) {
	tests := []struct {
		name string
		s    *clewtest.Scenario
		use  func(*clewtest.Agent)
		want string
	}{
		{"frame", new(clewtest.Scenario).Send(answer).Expect(prompt), nil, "want > " + prompt},
		{"end of input", new(clewtest.Scenario).CloseStdin(), nil, "want host closes stdin"},
		{"environment alone", new(clewtest.Scenario).Expect(prompt), func(a *clewtest.Agent) { a.Env() }, "want > " + prompt},
		{"killed at once", new(clewtest.Scenario).Expect(prompt), killAtOnce, "want > " + prompt},
		{"nothing expected", new(clewtest.Scenario).Send(answer), nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := &fakeTB{TB: t}
			a := clewtest.NewAgent(fake, tt.s)
			if tt.use != nil {
				tt.use(a)
			}
			if got := fake.end(); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// killAtOnce starts the agent, and kills it, most probably, before it comes up.
func killAtOnce(a *clewtest.Agent) {
	cmd := a.Command(context.Background())
	if cmd.Start() == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// A test that has failed before it could start its agent has said enough.
func TestNotStartedAfterFailure(t *testing.T) {
	fake := &fakeTB{TB: t}
	clewtest.NewAgent(fake, new(clewtest.Scenario).Expect(prompt))
	fake.Errorf("no such file")
	if got := fake.end(); got != "no such file" {
		t.Errorf("got %s", got)
	}
}

// What the host has said by the end of the test counts, though the agent has not read it yet.
func TestNothingMissing(t *testing.T) {
	tests := map[string]func(h *host){
		"closed without waiting": func(h *host) {
			h.say(prompt)
			h.close()
		},
		"waited for": func(h *host) {
			h.say(prompt)
			h.expect(answer)
			h.close()
			h.ends("")
		},
	}
	for name, talk := range tests {
		for range 20 {
			fake := &fakeTB{TB: t}
			talk(memoryHost(t, clewtest.NewAgent(fake, new(clewtest.Scenario).Expect(prompt).Send(answer).CloseStdin())))
			if got := fake.end(); got != "" {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// Behind its last step nothing of the host is missing: it may leave the agent, or kill it.
func TestLeftAfterTheLastStep(t *testing.T) {
	for form, start := range forms {
		for _, sig := range []os.Signal{nil, syscall.SIGTERM} {
			if sig != nil && runtime.GOOS == "windows" {
				continue
			}
			fake := &fakeTB{TB: t}
			h := start(t, clewtest.NewAgent(fake, new(clewtest.Scenario).Send(answer).Do(clewtest.Hang())))
			h.expect(answer)
			if sig != nil {
				if err := h.signal(sig); err != nil {
					t.Error(err)
				}
				h.ends("signal: terminated")
			}
			if got := fake.end(); got != "" {
				t.Errorf("%s, %v: %s", form, sig, got)
			}
		}
	}
}

// Nothing of an agent is left when its test is over, however it was left.
func TestNoGoroutineStays(t *testing.T) {
	t.Run("agents", func(t *testing.T) {
		s := new(clewtest.Scenario).Do(clewtest.LeaveGrandchild()).Do(clewtest.IgnoreSIGTERM()).Send(answer).Do(clewtest.Hang())
		for _, start := range forms {
			h := start(t, clewtest.NewAgent(t, s))
			h.expect(answer)
		}
		clewtest.NewAgent(t, s).Env()
	})
	deadline := time.Now().Add(10 * time.Second)
	for stacks(t) != "" {
		if time.Now().After(deadline) {
			t.Fatalf("left running:\n%s", stacks(t))
		}
		runtime.Gosched()
	}
}

// stacks returns the goroutines of agents, whichever test they are of. A test that asks must not be parallel: then no other
// runs.
func stacks(t *testing.T) string {
	t.Helper()
	buf := make([]byte, 1<<20)
	var left []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		for _, owner := range []string{"clewtest.(*hub)", "clewtest.(*memory)", "clewtest.(*player)"} {
			if strings.Contains(stack, owner) {
				left = append(left, stack)
				break
			}
		}
	}
	return strings.Join(left, "\n\n")
}
