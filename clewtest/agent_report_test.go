package clewtest_test

import (
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
)

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

// What the host says, line by line, and what the test reports. An empty line closes stdin.
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
		`clewtest: step 1 (line 2): the host sent a line that is no JSON object: invalid character 'h' looking for beginning of value
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

// checkMismatchEnd looks at how the agent ends after the report: with the code, and the first line, that say so.
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

// The report names the line of Go that the step was written on.
func TestReportNamesTheStep(t *testing.T) {
	fake := &fakeTB{TB: t}
	_, _, line, _ := runtime.Caller(0)
	s := new(clewtest.Scenario).
		Send(alive, alive).
		Expect(prompt)
	h := memoryHost(t, clewtest.NewAgent(fake, s))
	h.say(answer)
	_ = h.rest()
	want := "step 3 (agent_report_test.go:" + strconv.Itoa(line+3) + "): the host sent another frame"
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
