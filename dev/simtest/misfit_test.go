package simtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// otherTypes are values, one of each type of JSON, and a number that no field can hold.
var otherTypes = []string{"null", `"x"`, "7", "1e400", "true", `{"x":7}`, `[{"x":7}]`, "[7]"}

// recordedResult returns the fields of a recorded result.
func recordedResult(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("../../testdata/recorded/" + clewtest.AgentVersion + "/tool_bash.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		frame, ok := bytes.CutPrefix(line, []byte("< "))
		if ok && wire.Decode(frame).Kind().Type == "result" {
			return decoded[map[string]json.RawMessage](t, string(frame))
		}
	}
	t.Fatal("no result")
	return nil
}

// A result with a field that does not fit ends its turn, whichever field it is, and so does a
// result without the field. The turn fails only if the field reports a failure, or can't rule it
// out.
func TestResultWithMisfitEndsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		result := recordedResult(t)
		delete(result, "user_message_uuid")
		result["origin"] = json.RawMessage(`{"kind":"human"}`)
		scenario := connected()
		var changes [][2]string // a field, and its value
		for _, key := range slices.Sorted(maps.Keys(result)) {
			if key == "type" {
				continue
			}
			for _, other := range append([]string{""}, otherTypes...) {
				changes = append(changes, [2]string{key, other})
				id := fmt.Sprintf("p%d", len(changes))
				scenario.Expect(promptFrame(id, "Hi")).Send(changedResult(t, result, id, key, other))
			}
		}
		scenario.Expect(promptFrame("last", "Bye")).Send(resultFrame("bye", "last"))
		s, _ := simulate(t, scenario, nil)
		for _, change := range changes {
			msgs, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
			if len(msgs) != 1 || msgs[0].Kind().Type != "result" {
				t.Errorf("%q: messages %v", change, msgs)
			}
			_, failed := errors.AsType[*clew.ResultError](err)
			if failed != fails(change[0], change[1]) || err != nil && !failed {
				t.Errorf("%q: error %v", change, err)
			}
		}
		wantTurn(t, s, "Bye", "result: bye")
	})
}

// fails reports whether a turn fails whose result has that value of a field.
func fails(key, value string) bool {
	switch {
	case value == "" || value == "null":
		return false
	case key == "is_error":
		return true
	case key == "subtype":
		return value != `"x"`
	}
	return false
}

// changedResult is a result that answers the prompt of that id, with another value of one field, or
// without it.
func changedResult(t *testing.T, result map[string]json.RawMessage, id, key, other string) string {
	t.Helper()
	changed := maps.Clone(result)
	changed["user_message_uuids"] = json.RawMessage(fmt.Sprintf("[%q]", id))
	if changed[key] = json.RawMessage(other); other == "" {
		delete(changed, key)
	}
	text, err := json.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A result that can't be read ends its turn with an error, and the session continues.
func TestResultThatCannotBeReadEndsTurn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", smallFrames)
	for name, frame := range map[string]string{
		"cut":                  `{"type":"result","subtype":"success","result":"do`,
		"cut before its type":  `{"duration_api_ms":243,"stop_reason":"end_tu`,
		"no JSON":              `{"type":"result","subtype":success}`,
		"too large":            `{"type":"result","subtype":"success","result":"` + long + `"}`,
		"too large, late type": `{"duration_api_ms":243,"result":"` + long + `","type":"result"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("session", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Do(clewtest.Garbage(frame)).
						Send(`{"type":"keep_alive"}`).
						Expect(promptFrame("q", "Again")).Send(resultFrame("done", "q")), &clew.Options{Limits: clew.Limits{MaxFrameBytes: smallFrames}})
					_, err := textsOf(s.Turn(t.Context(), clew.Text("Hi")))
					wantUnread(t, err)
					wantTurn(t, s, "Again", "result: done")
				})
			})
			t.Run("query", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					agent := clewtest.NewAgent(t, connected().Expect(promptFrame("p", "Hi")).Do(clewtest.Garbage(frame)))
					_, err := clew.Run(t.Context(), "Hi", inMemory(agent, &clew.Options{Limits: clew.Limits{MaxFrameBytes: smallFrames}}))
					wantUnread(t, err)
				})
			})
		})
	}
}

func wantUnread(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*clew.InvalidFrame](err); !ok || !strings.Contains(err.Error(), "the result of the turn could not be read") {
		t.Errorf("error %v", err)
	}
}
