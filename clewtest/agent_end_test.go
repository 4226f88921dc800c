package clewtest_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

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

// If some frames of a step in any order came, only the others are missing.
func TestMissingInPart(t *testing.T) {
	for form, start := range forms {
		t.Run(form, func(t *testing.T) {
			fake := &fakeTB{TB: t}
			s := new(clewtest.Scenario).ExpectAny(prompt, ask("a")).Send(answer).Expect(ask("b"))
			agent := clewtest.NewAgent(fake, s)
			h := start(t, agent)
			h.say(prompt)
			if !eventually(func() bool { return strings.Contains(agent.Dialogue(), prompt) }) {
				t.Errorf("the dialogue is %q", agent.Dialogue())
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

// killAtOnce starts the agent and kills it, most likely before it connects to the test.
func killAtOnce(a *clewtest.Agent) {
	cmd := a.Command(context.Background())
	if cmd.Start() == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// A test that failed before it could start its agent gets no further report.
func TestNotStartedAfterFailure(t *testing.T) {
	fake := &fakeTB{TB: t}
	clewtest.NewAgent(fake, new(clewtest.Scenario).Expect(prompt))
	fake.Errorf("no such file")
	if got := fake.end(); got != "no such file" {
		t.Errorf("got %s", got)
	}
}

// A frame that the host sent before the end of the test is not missing, even if the agent has not
// read it yet.
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

// After the last step nothing is missing: the host may leave the agent running or kill it.
func TestEndAfterTheLastStep(t *testing.T) {
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

// No goroutine of an agent is left after its test, in whatever state the agent was.
func TestNoGoroutineStays(t *testing.T) {
	t.Run("agents", func(t *testing.T) {
		s := new(clewtest.Scenario).Do(clewtest.LeaveGrandchild()).Do(clewtest.IgnoreSIGTERM()).Send(answer).Do(clewtest.Hang())
		for _, start := range forms {
			h := start(t, clewtest.NewAgent(t, s))
			h.expect(answer)
		}
		clewtest.NewAgent(t, s).Env()
	})
	if !eventually(func() bool { return stacks(t) == "" }) {
		t.Fatalf("left running:\n%s", stacks(t))
	}
}

// stacks returns the goroutines of the agents of all tests. A test that calls it must not be
// parallel, so that no other test runs.
func stacks(t *testing.T) string {
	t.Helper()
	buf := make([]byte, 1<<20)
	var left []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		for _, owner := range []string{"clewtest.(*hub)", "simagent.(*memory)", "simagent.(*player)"} {
			if strings.Contains(stack, owner) {
				left = append(left, stack)
				break
			}
		}
	}
	return strings.Join(left, "\n\n")
}

const greeting = `# args "recorded"
> {"type":"control_request","request_id":"r1","request":{"subtype":"initialize"}}
< {"type":"control_response","response":{"subtype":"success","request_id":"r1"}}
> {"type":"user","message":{"role":"user","content":["Hi",1]}}
# in any order
> {"type":"a","x":1,"y":2}
> {"type":"b","x":1,"y":2}
# in order
# host closes stdin
# exit 0
`

const (
	initialize = `{"type":"control_request","request_id":"x","request":{"subtype":"initialize","hooks":{}}}`
	firstLines = "the dialogue so far:\n> " + initialize +
		"\n< {\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"x\"}}\n"
	hi = `{"type":"user","message":{"role":"user","content":["Hi",1]}}`
	a  = `{"type":"a","x":1,"y":2}`
	b  = `{"type":"b","x":1,"y":2}`
)

// reports are the lines that a host writes, and the test's reports about them. An empty line closes
// stdin.
var reports = []struct {
	name string
	says []string
	want string
}{
	{"another frame", []string{initialize, `{"type":"user","message":{"content":["Ho"],"role":"user"},"more":true}`},
		`clewtest: step 3 (line 4): the host sent another frame than the scenario has
	/message/content: want a list of 2, ["Hi",1], got a list of 1, ["Ho"]
want > {"type":"user","message":{"role":"user","content":["Hi",1]}}
got  > {"type":"user","message":{"content":["Ho"],"role":"user"},"more":true}
` + firstLines + `> {"type":"user","message":{"content":["Ho"],"role":"user"},"more":true}`},
	{"several differences", []string{initialize, `{"type":"control_request","request_id":"x"}`},
		`clewtest: step 3 (line 4): the host sent another frame than the scenario has
	/message: want {"content":["Hi",1],"role":"user"}, got nothing
	/type: want "user", got "control_request"
want > {"type":"user","message":{"role":"user","content":["Hi",1]}}
got  > {"type":"control_request","request_id":"x"}
` + firstLines + `> {"type":"control_request","request_id":"x"}`},
	{"none of several", []string{initialize, hi, a, `{"type":"b","x":1,"y":3}`},
		`clewtest: step 4 (line 6): the host sent another frame than the scenario has
	/y: want 2, got 3
want > {"type":"b","x":1,"y":2}
got  > {"type":"b","x":1,"y":3}
` + firstLines + "> " + hi + "\n> " + a + "\n" + `> {"type":"b","x":1,"y":3}`},
	{"the nearest of several", []string{initialize, hi, `{"type":"b","x":1,"y":3}`},
		`clewtest: step 4 (line 6): the host sent another frame than the scenario has
	/y: want 2, got 3
want > {"type":"a","x":1,"y":2}
want > {"type":"b","x":1,"y":2}
got  > {"type":"b","x":1,"y":3}
` + firstLines + "> " + hi + "\n" + `> {"type":"b","x":1,"y":3}`},
	{"not JSON", []string{"hello"},
		`clewtest: step 1 (line 2): the host sent a line that is not a JSON object: invalid character 'h' looking for beginning of value
the dialogue so far:
> hello`},
	{"stdin closed early", []string{initialize, hi, b, ""},
		`clewtest: step 4 (line 6): the host closed stdin before it sent a frame
want > {"type":"a","x":1,"y":2}
` + firstLines + "> " + hi + "\n> " + b + "\n# host closes stdin"},
	{"a frame for the end of input", []string{initialize, hi, b, a, a},
		`clewtest: step 5 (line 9): the host sent a frame where the scenario has the end of its input
want host closes stdin
got  > {"type":"a","x":1,"y":2}
` + firstLines + "> " + hi + "\n> " + b + "\n> " + a + "\n> " + a},
	{"as it should", []string{initialize, hi, b, a, ""}, ""},
}

func TestReports(t *testing.T) {
	for _, tt := range reports {
		for form, start := range forms {
			t.Run(tt.name+"/"+form, func(t *testing.T) {
				t.Parallel()
				fake := &fakeTB{TB: t}
				h := start(t, clewtest.NewAgent(fake, dialogue(t, greeting)))
				sayAll(h, tt.says)
				_ = h.rest()
				stderr, err := io.ReadAll(h.stderr)
				if err != nil {
					t.Error(err)
				}
				checkMismatchEnd(t, tt.want, string(stderr), exitCode(h.wait()))
				got := strings.Replace(fake.end(), "# args \"--verbose\" \"two words\"\n", "", 1)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("report (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func sayAll(h *host, says []string) {
	h.t.Helper()
	for _, line := range says {
		if line == "" {
			h.close()
			return
		}
		h.say(line)
	}
}

// checkMismatchEnd checks how the agent ends after a report: with exit code 70, and with the first
// line on stderr.
func checkMismatchEnd(t *testing.T, report, stderr string, code int) {
	t.Helper()
	if report == "" {
		if code != 0 || stderr != "" {
			t.Errorf("exit %d, stderr %s", code, stderr)
		}
		return
	}
	_, sentence, _ := strings.Cut(strings.SplitN(report, "\n", 2)[0], "): ")
	if want := "clewtest: " + sentence + "\n"; code != 70 || !strings.HasPrefix(stderr, want) {
		t.Errorf("exit %d, stderr %s, want %s", code, stderr, want)
	}
}

func TestFrameAfterTheLastStep(t *testing.T) {
	fake := &fakeTB{TB: t}
	h := memoryHost(t, clewtest.NewAgent(fake, dialogue(t, "< a\n")))
	h.say(prompt)
	h.expect("a")
	h.ends("exit status 70")
	want := "clewtest: after the last step: the host sent a frame after the last step of the scenario\ngot > " + prompt +
		"\nthe dialogue so far:\n< a\n> " + prompt
	if diff := cmp.Diff(want, fake.end()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// The report names the line of Go code that added the step.
func TestReportNamesTheStep(t *testing.T) {
	fake := &fakeTB{TB: t}
	_, file, line, _ := runtime.Caller(0)
	s := new(clewtest.Scenario).
		Send(alive, alive).
		Expect(prompt)
	h := memoryHost(t, clewtest.NewAgent(fake, s))
	h.say(answer)
	_ = h.rest()
	want := "step 3 (" + filepath.Base(file) + ":" + strconv.Itoa(line+3) + "): the host sent another frame"
	if got := fake.end(); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDialogueIsLoggedWhenTheTestFails(t *testing.T) {
	fake := &fakeTB{TB: t}
	s := new(clewtest.Scenario)
	for range 100 {
		s.Send(map[string]string{"type": "long", "text": strings.Repeat("é", 300)})
	}
	h := memoryHost(t, clewtest.NewAgent(fake, s))
	for range 100 {
		h.hear()
	}
	h.close()
	h.ends("")
	fake.Errorf("the host is wrong")
	if got := fake.end(); got != "the host is wrong" {
		t.Errorf("got %s", got)
	}
	log := strings.Join(fake.logs, "\n")
	if !strings.Contains(log, "\n# … 42 lines left out …\n") || !strings.HasSuffix(log, "# exit 0") ||
		!strings.Contains(log, "é… (627 bytes)\n") || len(log) > 20_000 {
		t.Errorf("log %s", log)
	}
}
