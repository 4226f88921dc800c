package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew/wire"
)

// broken decodes a frame with a limit of so many bytes, which it must not pass.
func broken(t *testing.T, frame string, limit int) *wire.InvalidFrame {
	t.Helper()
	opts := &wire.ReaderOptions{MaxFrameBytes: limit}
	for msg, err := range wire.NewReader(strings.NewReader(frame+"\n"), opts).Messages() {
		if bad, ok := msg.(*wire.InvalidFrame); ok && err == nil {
			return bad
		}
	}
	t.Fatalf("not invalid: %s", frame)
	return nil
}

func TestAnswerThatCannotBeRead(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for name, body := range map[string]string{
		"too long":        `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"text":"` + long + `"}}}`,
		"of another type": `{"type":"control_response","response":{"subtype":[],"request_id":%q}}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := new(sink)
				c := open(s, nil)
				concerned, other := ask(t.Context(), c, `{"subtype":"a"}`), ask(t.Context(), c, `{"subtype":"b"}`)
				bad := broken(t, fmt.Sprintf(body, s.requests(t)[0].RequestID), 1000)
				c.Broken(bad)
				<-concerned.done
				if !errors.Is(concerned.err, bad.Err) {
					t.Errorf("error %v, want %v", concerned.err, bad.Err)
				}
				if !c.Waiting() {
					t.Error("the other call has ended, too")
				}
				c.Fail(errors.New("over"))
				<-other.done
			})
		})
	}
}

func TestRequestThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := new(sink)
		c := open(s, func(context.Context, *wireRequest) (any, error) {
			t.Error("it was served")
			return nil, nil
		})
		c.Broken(broken(t, `{"type":"control_request","request_id":"7","request":{"subtype":"x","input":"`+strings.Repeat("x", 2000)+`"}}`, 1000))
		c.Broken(broken(t, `{"type":"control_request","request":{"subtype":"x","input":"`+strings.Repeat("x", 2000)+`"}}`, 1000))
		synctest.Wait()
		if got := s.frames(); len(got) != 1 || !strings.Contains(got[0], `"request_id":"7","error":"the control request could not be read`) {
			t.Errorf("answered %q", got)
		}
	})
}
