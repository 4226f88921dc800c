package clew_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// What a session has recorded is a scenario that a second session can be run over, and that records the same.
func TestRecordIsReplayed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
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

// recordSession runs a session, and returns what it has recorded and what was read.
func recordSession(t *testing.T, scenario *clewtest.Scenario) (record string, texts []string) {
	t.Helper()
	var recorded bytes.Buffer
	opts := obliging()
	opts.Record, opts.Model = &recorded, "sonnet"
	s, _ := simulate(t, scenario, opts)
	one, err := heard(s.Turn(t.Context(), "one"))
	if err != nil {
		t.Error(err)
	}
	model, err := s.SetModel(t.Context(), "opus")
	if err != nil {
		t.Error(err)
	}
	two, err := heard(s.Turn(t.Context(), "two"))
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

// The recording says how the agent was started and how it ended.
func TestRecordHasBothEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
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

// A recording that can't be written ends, and the session goes on.
func TestRecordThatFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var log strings.Builder
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Send(resultFrame("done", "p")),
			&clew.Options{Record: fullDisk{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		wantTurn(t, s, "Hi", "result: done")
		if got := strings.Count(log.String(), "recording stopped"); got != 1 {
			t.Errorf("%d warnings in %s", got, log.String())
		}
	})
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }
