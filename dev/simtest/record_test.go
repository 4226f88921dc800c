package simtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A recording is a scenario that a second session can run over. That session records the same.
func TestRecordIsReplayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hook := `{"subtype":"hook_callback","callback_id":"hook_1","input":{"hook_event_name":"Stop"}}`
		scenario := connected().
			Expect(promptFrame("p1", "one")).Send(controlRequest("q", canUse("Allow"))).
			Expect(controlSuccess("q", `{"behavior":"allow"}`)).Send(assistantFrame("1")).
			Do(clewtest.Garbage("a line of text")).Do(clewtest.Garbage(`{"type":"assist`)).Do(clewtest.Flood(4)).
			Send(controlRequest("h", hook)).
			Expect(controlSuccess("h", `{"continue":false}`)).Send(resultFrame("one", "p1")).
			Expect(controlRequest("m", `{"subtype":"set_model","model":"opus"}`)).
			Send(controlSuccess("m", `{"model":"claude-opus"}`)).
			Expect(promptFrame("p2", "two")).Send(resultFrame("two", "p2"))
		first, texts := recordSession(t, scenario)
		again, err := clewtest.ReadDialogue(strings.NewReader(first))
		if err != nil {
			t.Fatalf("%v in\n%s", err, first)
		}
		second, repeated := recordSession(t, again)
		if diff := cmp.Diff(texts, repeated); diff != "" {
			t.Errorf("messages (-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(outlineOf(first), outlineOf(second)); diff != "" {
			t.Errorf("recordings (-first +second):\n%s", diff)
		}
	})
}

// A recording has no secrets of either direction, and is replayed to a host that still has them.
func TestRecordWithoutSecretsIsReplayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const prompt = "log in with DB_PASSWORD=hush1234 now"
		run := func(scenario *clewtest.Scenario) string {
			var record bytes.Buffer
			s, _ := simulate(t, scenario, &clew.Options{Debug: clew.DebugOptions{Record: &record}})
			if _, err := textsOf(s.Turn(t.Context(), clew.Text(prompt))); err != nil {
				t.Error(err)
			}
			if _, err := s.MCPStatus(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			return record.String()
		}
		status := `{"mcpServers":[{"name":"x","status":"connected","config":{"type":"http","url":"https://x.example","headers":{"X-Team":"hush"}}}]}`
		first := run(connected().Expect(promptFrame("p", prompt)).Send(assistantFrame("export API_TOKEN=hush5678"), resultFrame("done", "p")).
			Expect(controlRequest("m", `{"subtype":"mcp_status"}`)).Send(controlSuccess("m", status)))
		if strings.Contains(first, "hush") || strings.Count(first, "***") < 3 {
			t.Errorf("recorded:\n%s", first)
		}
		again, err := clewtest.ReadDialogue(strings.NewReader(first))
		if err != nil {
			t.Fatalf("%v in\n%s", err, first)
		}
		if diff := cmp.Diff(outlineOf(first), outlineOf(run(again))); diff != "" {
			t.Errorf("recordings (-first +second):\n%s", diff)
		}
	})
}

// recordSession runs a session, and returns the recording and the texts that were read.
func recordSession(t *testing.T, scenario *clewtest.Scenario) (record string, texts []string) {
	t.Helper()
	var recorded bytes.Buffer
	opts := withCallbacks()
	opts.Debug.Record, opts.Model = &recorded, "sonnet"
	s, _ := simulate(t, scenario, opts)
	one, err := textsOf(s.Turn(t.Context(), clew.Text("one")))
	if err != nil {
		t.Error(err)
	}
	model, err := s.SetModel(t.Context(), "opus")
	if err != nil {
		t.Error(err)
	}
	two, err := textsOf(s.Turn(t.Context(), clew.Text("two")))
	if err = errors.Join(err, s.Close()); err != nil {
		t.Error(err)
	}
	return recorded.String(), append(append(one, model), two...)
}

// outlineOf returns a recording without its ids: the first bytes of each line.
func outlineOf(record string) []string {
	var lines []string
	for line := range strings.Lines(record) {
		lines = append(lines, line[:min(len(line), 40)])
	}
	return lines
}

// The recording has the start and the end of the agent.
func TestRecordHasBothEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		record, _ := recordSession(t, connected().
			Expect(promptFrame("p1", "one")).Send(resultFrame("one", "p1")).
			Expect(controlRequest("m", `{"subtype":"set_model"}`)).Send(controlSuccess("m", `{}`)).
			Expect(promptFrame("p2", "two")).Send(resultFrame("two", "p2")))
		begin, end := `# args "--output-format=stream-json" `, "\n# host closes stdin\n# exit 0\n"
		if !strings.HasPrefix(record, begin) || !strings.Contains(record, `"--model=sonnet"`) ||
			!strings.HasSuffix(record, end) {
			t.Errorf("recorded:\n%s", record)
		}
	})
}

// A recording that can't be written ends, and the session continues.
func TestRecordThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Send(resultFrame("done", "p")),
			&clew.Options{Debug: clew.DebugOptions{Record: fullDisk{}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		wantTurn(t, s, "Hi", "result: done")
		if got := strings.Count(log.String(), "recording stopped"); got != 1 {
			t.Errorf("%d warnings in %s", got, log.String())
		}
	})
}

// A recording that ends early, in the middle of a frame, has whole frames only.
func TestRecordThatIsLeftEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var record bytes.Buffer
		agent := clewtest.NewAgent(t, connected().Expect(promptFrame("p", "Hi")).Send(assistantFrame("one")).
			Do(clewtest.Trickle(assistantFrame("two"), time.Hour)))
		for range clew.Query(t.Context(), "Hi", inMemory(agent, &clew.Options{Debug: clew.DebugOptions{Record: &record}})) {
			time.Sleep(10 * time.Hour) // so that half of the next frame is there
			break
		}
		cut := false
		for line := range strings.Lines(record.String()) {
			frame, ok := strings.CutPrefix(line, "< ")
			if ok && !json.Valid([]byte(frame)) {
				t.Errorf("recorded %s", line)
			}
			cut = cut || line == "# a frame was cut off\n"
		}
		if !cut {
			t.Errorf("recorded:\n%s", record.String())
		}
	})
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// smallFrames is a limit that ordinary frames of these tests keep.
const smallFrames = 1000

// A frame that can't be read, or that nobody knows, costs that frame: it comes as a message, and so
// does the rest.
func TestOddFrames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault clewtest.Fault
		want  string
	}{
		"a line of text":         {clewtest.Garbage("[SandboxDebug] hm"), "*wire.TextLine"},
		"half of a frame":        {clewtest.Garbage(`{"type":"assist`), "*wire.InvalidFrame"},
		"a field that is off":    {clewtest.Garbage(`{"type":"assistant","message":7}`), ""},
		"no type":                {clewtest.Garbage(`{"a":1}`), "*wire.InvalidFrame"},
		"an unknown type":        {clewtest.Garbage(`{"type":"sing","song":"la"}`), "*wire.UnknownMessage"},
		"an unknown subtype":     {clewtest.Garbage(`{"type":"system","subtype":"sing"}`), "*wire.SystemMessage"},
		"bytes that are no text": {clewtest.InvalidUTF8(), "caf\ufffd \ufffd\ufffd \ufffd\ufffd"},
		"a frame too large":      {clewtest.BigFrame(smallFrames + 1), "*wire.InvalidFrame"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario := connected().Expect(promptFrame("p", "Hi")).Send(assistantFrame("before")).Do(test.fault).
				Send(assistantFrame("after"), resultFrame("done", "p"))
			t.Run("session", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, _ := simulate(t, scenario, &clew.Options{Limits: clew.Limits{MaxFrameBytes: smallFrames}})
					wantTurn(t, s, "Hi", "before", test.want, "after", "result: done")
				})
			})
			t.Run("query", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					agent := clewtest.NewAgent(t, scenario)
					opts := inMemory(agent, &clew.Options{Limits: clew.Limits{MaxFrameBytes: smallFrames}})
					got, err := textsOf(clew.Query(t.Context(), "Hi", opts))
					want := []string{"before", test.want, "after", "result: done"}
					if diff := cmp.Diff(want, got); diff != "" || err != nil {
						t.Errorf("error %v; messages (-want +got):\n%s", err, diff)
					}
				})
			})
		})
	}
}

// A frame that is too large is noted in the recording, without its text.
func TestFrameTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Do(clewtest.BigFrame(10<<20)), &clew.Options{Limits: clew.Limits{MaxFrameBytes: smallFrames}})
		for msg, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			invalid, ok := msg.(*clew.InvalidFrame)
			if !ok || len(invalid.Raw()) > smallFrames {
				t.Fatalf("%T of %d bytes", msg, len(msg.Raw()))
			}
			wantError(t, invalid, wire.ErrFrameTooLarge)
			break
		}
	})
}
