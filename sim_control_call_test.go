package clew_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// A settings is what the calls of these tests ask for.
type settings struct{ Model string }

var getSettings = controlRequest("s", `{"subtype":"get_settings"}`)

func TestControlAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer, want string
		err          error
	}{
		"an object": {controlSuccess("s", `{"model":"opus","other":1}`), "opus", nil},
		"null":      {controlSuccess("s", `null`), "as before", nil},
		"nothing": {`{"type":"control_response","response":{"subtype":"success","request_id":"s"}}`,
			"as before", nil},
		"a refusal": {controlRefusal("s", "not today"), "as before",
			&clew.ControlError{Subtype: "get_settings", Message: "not today"}},
		"a refusal with a code": {`{"type":"control_response","response":{"subtype":"error","request_id":"s",` +
			`"error":"what?","error_code":"unsupported_request"}}`, "as before",
			&clew.ControlError{Subtype: "get_settings", Message: "what?", Code: "unsupported_request"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s, _ := simulate(t, connected().Expect(getSettings).Send(test.answer), nil)
				got := settings{"as before"}
				err := s.Control(t.Context(), "get_settings", nil, &got)
				if diff := cmp.Diff(test.err, err); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				if got.Model != test.want {
					t.Errorf("got %q, want %q", got.Model, test.want)
				}
			})
		})
	}
}

func TestControlAnswerOfAnotherShape(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(getSettings).Send(controlSuccess("s", `{"model":7}`)), nil)
		err := s.Control(t.Context(), "get_settings", nil, new(settings))
		if err == nil || !strings.HasPrefix(err.Error(), "clew: the agent's answer to get_settings: ") {
			t.Errorf("error %v", err)
		}
	})
}

// Answers are matched by their ids: neither the order nor those for nobody matter.
func TestControlAnswersOutOfOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			ExpectAny(controlRequest("a", `{"subtype":"a"}`), controlRequest("b", `{"subtype":"b"}`),
				controlRequest("c", `{"subtype":"c"}`)).
			Do(clewtest.RespondUnknown("nobody")).
			Send(controlSuccess("c", `{"model":"of c"}`), controlSuccess("b", `{"model":"of b"}`)).
			Do(clewtest.RespondUnknown("nobody")).
			Send(controlSuccess("c", `{"model":"again"}`), controlSuccess("a", `{"model":"of a"}`)), nil)
		var all sync.WaitGroup
		for _, subtype := range []string{"a", "b", "c"} {
			all.Go(func() {
				var got settings
				if err := s.Control(t.Context(), subtype, nil, &got); err != nil || got.Model != "of "+subtype {
					t.Errorf("%s: %v, %v", subtype, got, err)
				}
			})
		}
		all.Wait()
	})
}

// A call that is given up is withdrawn, and an answer that comes all the same is for nobody.
func TestControlCallGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(getSettings).Expect(controlCancel("s")).
			Expect(controlRequest("s2", `{"subtype":"get_settings"}`)).
			Send(controlSuccess("s", `{"model":"late"}`), controlSuccess("s2", `{"model":"in time"}`)), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := s.Control(ctx, "get_settings", nil, nil)
		wantError(t, err, context.DeadlineExceeded)
		if err == nil || !strings.HasPrefix(err.Error(), "clew: get_settings: ") {
			t.Errorf("error %v", err)
		}
		var got settings
		if err := s.Control(t.Context(), "get_settings", nil, &got); err != nil || got.Model != "in time" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// The cause of the end is in the error, and nothing is sent for a call whose context has ended before it.
func TestControlCallCause(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(getSettings).Expect(controlCancel("s")), nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		bored := errors.New("bored")
		time.AfterFunc(time.Second, func() { cancel(bored) })
		wantError(t, s.Control(ctx, "get_settings", nil, nil), bored)
		wantError(t, s.Control(ctx, "get_settings", nil, nil), bored)
		synctest.Wait()
	})
}

// While a call waits for its answer, the session reads on, whatever there is unread. One that is over must not count,
// however it ended: the agent is slowed down again.
func TestControlCallsAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const messages = 30_000
		s, agent := simulate(t, connected().
			Expect(controlRequest("ok", `{"subtype":"ok"}`)).Send(controlSuccess("ok", `{}`)).
			Expect(controlRequest("no", `{"subtype":"no"}`)).Send(controlRefusal("no", "no")).
			Expect(controlRequest("late", `{"subtype":"late"}`)).Expect(controlCancel("late")).
			Do(clewtest.Flood(2*messages)).Send(resultFrame("done")), &clew.Options{MaxBacklogBytes: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, subtype := range []string{"ok", "no", "late"} {
			err := s.Control(ctx, subtype, nil, nil)
			if (err == nil) != (subtype == "ok") {
				t.Errorf("%s: %v", subtype, err)
			}
		}
		time.Sleep(time.Hour)
		if strings.Contains(agent.Dialogue(), "done") {
			t.Error("the agent was not slowed down")
		}
		wantFlood(t, s, messages)
	})
}
