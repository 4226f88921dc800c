package clewtest_test

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

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
		"a frame that is no JSON object: hello":       new(clewtest.Scenario).Send("hello"),
		"a frame that is no JSON object: [1]":         new(clewtest.Scenario).Expect([]int{1}).Send("later"),
		"a frame that is no JSON object: ":            new(clewtest.Scenario).Send(""),
		"a frame of type chan int: json: unsupported": new(clewtest.Scenario).Send(make(chan int)),
		"a frame of type *wire.InvalidFrame":          new(clewtest.Scenario).Send(wire.Decode([]byte("hello"))),
		"ExpectAny without frames":                    new(clewtest.Scenario).ExpectAny(),
		"not an exit code from 0 to 255: 256":         new(clewtest.Scenario).Exit(256),
		"not an exit code from 0 to 255: -1":          new(clewtest.Scenario).Do(clewtest.ExitAfter(-1, "{}")),
		"not a signal that ends a process: signal 0":  new(clewtest.Scenario).Do(clewtest.KilledBy(syscall.Signal(0))),
		"Do with the zero Fault":                      new(clewtest.Scenario).Do(clewtest.Fault{}),
		"KilledBy: not a signal of the system":        new(clewtest.Scenario).Do(clewtest.KilledBy(nil)),
		"flood: not a number of 0 or more: -1":        new(clewtest.Scenario).Do(clewtest.Flood(-1)),
		"no JSON object: half":                        new(clewtest.Scenario).Do(clewtest.HalfFrame("half")),
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

// Each fault survives the way through a dialogue file, which is also its way to a process.
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
