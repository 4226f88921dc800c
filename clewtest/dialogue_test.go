package clewtest_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

func recordedDialogues(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../testdata/recorded/*/*.txt")
	if err != nil || len(paths) < 14 {
		t.Fatalf("%d recorded dialogues, %v", len(paths), err)
	}
	return paths
}

// A host with other ids, more members and another order of keys gets the recorded answers with its
// own ids.
func TestReplayRecorded(t *testing.T) {
	for _, path := range recordedDialogues(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		s := clewtest.LoadDialogue(t, path)
		if len(s.Args()) < 7 || s.Args()[0] != "--output-format" {
			t.Errorf("%s: arguments %q", name, s.Args())
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for form, start := range forms {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				a := clewtest.NewAgent(t, s)
				playHost(t, start(t, a), string(text))
				replayed, err := clewtest.ReadDialogue(strings.NewReader(a.Dialogue()))
				if err != nil {
					t.Fatal(err)
				}
				if form == "memory" {
					playHost(t, memoryHost(t, clewtest.NewAgent(t, replayed)), a.Dialogue())
				}
			})
		}
	}
}

// playHost plays the host's side of a dialogue.
func playHost(t *testing.T, h *host, dialogue string) {
	t.Helper()
	ids := map[string]string{}
	for line := range strings.Lines(dialogue) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "> "):
			h.say(otherFrame(t, line[2:], ids))
		case strings.HasPrefix(line, "< "):
			h.expect(ownIDs(line[2:], ids))
		case line == "# host closes stdin":
			h.close()
		case strings.HasPrefix(line, "# exit "):
			if rest := h.rest(); rest != "" {
				t.Errorf("the output goes on with %.200q", rest)
			}
			if got := strconv.Itoa(exitCode(h.wait())); got != line[7:] {
				t.Errorf("exit %s, want %s", got, line[7:])
			}
		}
	}
}

// otherFrame returns a host frame as another host would write it.
func otherFrame(t *testing.T, frame string, ids map[string]string) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(frame), &v); err != nil {
		t.Fatal(err)
	}
	if id, ok := v["request_id"].(string); ok && v["type"] == "control_request" {
		ids[id] = "mine-" + strconv.Itoa(len(ids))
		v["request_id"] = ids[id]
	}
	if v["type"] == "user" {
		delete(v, "session_id")
		delete(v, "parent_tool_use_id")
		v["uuid"] = "6f1c"
	}
	v["a_member_of_a_newer_host"] = true
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ownIDs returns the expected answer of the agent.
func ownIDs(frame string, ids map[string]string) string {
	for id, mine := range ids {
		if strings.HasPrefix(frame, `{"type":"control_response"`) {
			frame = strings.Replace(frame, `"request_id":"`+id+`"`, `"request_id":"`+mine+`"`, 1)
		}
	}
	return frame
}

func TestScenarioStringIsTheDialogue(t *testing.T) {
	for _, path := range recordedDialogues(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "# CLI") && !strings.HasPrefix(line, "# args") {
				want = append(want, line)
			}
		}
		_, got, _ := strings.Cut(clewtest.LoadDialogue(t, path).String(), "\n")
		if diff := cmp.Diff(strings.Join(want, ""), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

const everyDirective = `# args "a b" "\"" "é\xff"
> {"type":"user"}
# in any order
> {"type":"a"}
> {"type":"b"}
# in order
# in any order
> {"type":"c"}
> {"type":"d"}
# in order
< {"type":"keep_alive"}
< not JSON
# stderr "one\ntwo"
# fault garbage "\xff\x00"
# fault flood 10
# fault trickle "{\"type\":\"keep_alive\"}" 1ms
# fault respond-out-of-order a b
# host closes stdin
# exit 3
`

func TestReadDialogueDirectives(t *testing.T) {
	s, err := clewtest.ReadDialogue(strings.NewReader("# prose\n\n#more prose\n" + everyDirective))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(everyDirective, s.String()); diff != "" {
		t.Errorf("dialogue (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a b", `"`, "é\xff"}, s.Args()); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestReadDialogueLenient(t *testing.T) {
	text := "#args \"plain\" \"\\ud83d\\ude00\\/\"\r\n>{\"type\":\"user\"}\r\n<x\r\n#  exit 1"
	s, err := clewtest.ReadDialogue(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := "# args \"plain\" \"😀/\"\n> {\"type\":\"user\"}\n< x\n# exit 1\n"
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Errorf("dialogue (-want +got):\n%s", diff)
	}
}

func TestProseIsNoStep(t *testing.T) {
	const prose = `# stderr stays empty here
# stderr
# exit codes are below
# exit
# exit 1 is what comes next
# args are those of the host
# fault tolerance is what this is about
# host closes stdin, and then
# in order to see it
`
	if got := dialogue(t, prose).String(); got != "" {
		t.Errorf("steps:\n%s", got)
	}
}

func TestReadDialogueErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no mark", "# a\nhello\n", "clewtest: dialogue, line 2: neither >, < nor #: hello"},
		{"host frame not JSON", "> hello\n", "line 1: the expected frame is not a JSON object (invalid character"},
		{"host frame not an object", "> [1]\n", "line 1: the expected frame is not a JSON object"},
		{"two frames on a line", "> {} {}\n", "more than one value): {} {}"},
		{"exit code", "# exit 256\n", "line 1: # exit: not an exit code from 0 to 255: 256"},
		{"exit code below 0", "# exit -1\n", "line 1: # exit: not an exit code from 0 to 255: -1"},
		{"quotes", `# stderr "open`, `line 1: # stderr: not a quoted string: "open`},
		{"two texts", `# stderr "a" "b"`, "line 1: # stderr: more than one quoted string"},
		{"an argument without quotes", `# args "a" b`, "line 1: # args: not a quoted string: b"},
		{"misspelt fault", "# fault flod 10\n", `line 1: # fault: no fault is named "flod"`},
		{"signal", "# fault killed-by 0\n", "the fault killed-by: not a signal that ends a process: signal 0"},
		{"unknown fault", "# fault nonsense\n", `line 1: # fault: no fault is named "nonsense"`},
		{"too few arguments", "# fault flood\n", "the fault flood has 1 arguments, not 0"},
		{"bad number", "# fault flood -1\n", "the fault flood: not a number of 0 or more: -1"},
		{"bad duration", "# fault trickle {} soon\n", "the fault trickle: not a duration of 0 or more: soon"},
		{"bad frame", "# fault half-frame x\n", "the fault half-frame: the frame is not a JSON object: x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := clewtest.ReadDialogue(strings.NewReader(tt.text))
			if err == nil || s != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want an error with %s", s, err, tt.want)
			}
		})
	}
}

func TestReadDialogueIOError(t *testing.T) {
	broken := errors.New("broken")
	if _, err := clewtest.ReadDialogue(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestLoadDialogueErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.txt")
	if err := os.WriteFile(bad, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{bad, bad + ".none"} {
		fake := &fakeTB{TB: t}
		fake.run(func() {
			clewtest.LoadDialogue(fake, path)
			t.Error("LoadDialogue returned")
		})
		if got := fake.end(); !strings.Contains(got, path) || strings.Count(got, "clewtest: ") != 1 {
			t.Errorf("got %s", got)
		}
	}
}

func TestScenarioFrames(t *testing.T) {
	type frame struct {
		Type string `json:"type"`
	}
	got := new(clewtest.Scenario).
		Expect("{\n  \"type\": \"a b\"\n}").
		Send(`{"type": "c"}`, []byte(`{"type":"d"}`), json.RawMessage(`{"type":"e"}`), frame{"f"}).
		Send(&wire.KeepAliveMessage{}, wire.Decode([]byte(`{"type":"keep_alive","x":1}`)), map[string]any{"type": "g"}).
		String()
	want := `> {"type":"a b"}
< {"type": "c"}
< {"type":"d"}
< {"type":"e"}
< {"type":"f"}
< {"type":"keep_alive"}
< {"type":"keep_alive","x":1}
< {"type":"g"}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scenario (-want +got):\n%s", diff)
	}
}

func TestScenarioErrors(t *testing.T) {
	tests := map[string]*clewtest.Scenario{
		"a frame of type <nil>: nil":                  new(clewtest.Scenario).Send(nil),
		"the frame is not a JSON object: hello":       new(clewtest.Scenario).Send("hello"),
		"the frame is not a JSON object: [1]":         new(clewtest.Scenario).Expect([]int{1}).Send("later"),
		"the frame is not a JSON object: ":            new(clewtest.Scenario).Send(""),
		"a frame of type chan int: json: unsupported": new(clewtest.Scenario).Send(make(chan int)),
		"a frame of type *wire.InvalidFrame":          new(clewtest.Scenario).Send(wire.Decode([]byte("hello"))),
		"ExpectAny got no frames":                     new(clewtest.Scenario).ExpectAny(),
		"not an exit code from 0 to 255: 256":         new(clewtest.Scenario).Exit(256),
		"not an exit code from 0 to 255: -1":          new(clewtest.Scenario).Do(clewtest.ExitAfter(-1, "{}")),
		"not a signal that ends a process: signal 0":  new(clewtest.Scenario).Do(clewtest.KilledBy(syscall.Signal(0))),
		"Do got the zero Fault":                       new(clewtest.Scenario).Do(clewtest.Fault{}),
		"KilledBy: not a signal of the system":        new(clewtest.Scenario).Do(clewtest.KilledBy(nil)),
		"flood: not a number of 0 or more: -1":        new(clewtest.Scenario).Do(clewtest.Flood(-1)),
		"not a JSON object: half":                     new(clewtest.Scenario).Do(clewtest.HalfFrame("half")),
		"respond-out-of-order has 1 arguments, not 0": new(clewtest.Scenario).Do(clewtest.RespondOutOfOrder()),
		"not a duration of 0 or more: -1s":            new(clewtest.Scenario).Do(clewtest.Trickle("{}", -time.Second)),
	}
	for want, s := range tests {
		fake := &fakeTB{TB: t}
		fake.run(func() {
			clewtest.NewAgent(fake, s)
			t.Errorf("NewAgent took a scenario with an error: want %s", want)
		})
		if got := fake.end(); !strings.HasPrefix(got, "clewtest: ") || strings.Count(got, "clewtest: ") != 1 || !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Each fault stays the same when it is written to a dialogue file and read again. Processes get
// their faults that way.
func TestFaultsAsText(t *testing.T) {
	const frame = `{"type":"result","result":"a \"b\""}`
	s := new(clewtest.Scenario)
	for _, f := range []clewtest.Fault{
		clewtest.ExitBefore(1), clewtest.ExitDuring(2, frame), clewtest.ExitAfter(3, frame), clewtest.KilledBy(os.Kill),
		clewtest.Hang(), clewtest.IgnoreEndOfInput(), clewtest.IgnoreSIGTERM(), clewtest.CloseStdout(),
		clewtest.LeaveGrandchild(), clewtest.NoisyStderr(10), clewtest.Garbage("\x1b[31m \xff\n"), clewtest.HalfFrame(frame),
		clewtest.BigFrame(1000), clewtest.InvalidUTF8(), clewtest.Flood(5), clewtest.Trickle(frame, time.Millisecond),
		clewtest.RespondOutOfOrder("a", "b c"), clewtest.RespondTwice(""), clewtest.RespondNever("a"),
		clewtest.RespondUnknown("x"), clewtest.RequestWithoutID(), clewtest.RequestWithoutBody("y"),
		clewtest.RequestUnknown("z", "sing"),
	} {
		s.Do(f)
	}
	again, err := clewtest.ReadDialogue(strings.NewReader(s.String()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.String(), again.String()); diff != "" {
		t.Errorf("scenario (-want +got):\n%s", diff)
	}
	if n := strings.Count(s.String(), "\n"); n != 23 {
		t.Errorf("%d lines:\n%s", n, s)
	}
}
