package control_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

type wireRequest = wire.ControlRequestMessage

func TestRequestsRunAtTheSameTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		both := make(chan struct{}, 2)
		release := make(chan struct{})
		s := new(sink)
		c := open(s, func(_ context.Context, req *wireRequest) (any, error) {
			both <- struct{}{}
			<-release
			return map[string]string{"for": req.RequestID}, nil
		})
		c.Handle(decode(t, `{"type":"control_request","request_id":"1","request":{"subtype":"x"}}`))
		c.Handle(decode(t, `{"type":"control_request","request_id":"2","request":{"subtype":"x"}}`))
		c.Handle(decode(t, `{"type":"control_request","request_id":"2","request":{"subtype":"x"}}`)) // the same again
		<-both
		<-both
		if !c.Serving() {
			t.Error("nothing is being served")
		}
		close(release)
		synctest.Wait()
		want := map[string]bool{
			`{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"for":"1"}}}`: true,
			`{"type":"control_response","response":{"subtype":"success","request_id":"2","response":{"for":"2"}}}`: true,
		}
		got := make(map[string]bool)
		for _, frame := range s.frames() {
			got[frame] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

// A codedError is an error with a code for the agent.
type codedError struct{}

func (codedError) Error() string { return "unknown" }
func (codedError) Code() string  { return "unsupported_request" }

func TestAnswers(t *testing.T) {
	tests := []struct {
		name  string
		frame string
		value any
		err   error
		want  string
	}{
		{"a value", `{"subtype":"x"}`, "<a>", nil, `"subtype":"success","request_id":"7","response":"<a>"`},
		{"an error", `{"subtype":"x"}`, nil, errors.New(`bad "thing"`), `"subtype":"error","request_id":"7","error":"bad \"thing\""`},
		{"an error with a code", `{"subtype":"x"}`, nil, fmt.Errorf("so: %w", codedError{}), `"error":"so: unknown","error_code":"unsupported_request"`},
		{"a value without JSON form", `{"subtype":"x"}`, func() {}, nil, `"subtype":"error","request_id":"7","error":"json:`},
		{"no answer", `{"subtype":"x"}`, nil, control.ErrNoAnswer, ``},
		{"no subtype", `{}`, nil, nil, `"error":"the control request has no subtype"`},
		{"no body", `null`, nil, nil, `"error":"the control request has no subtype"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := new(sink)
				c := open(s, func(context.Context, *wireRequest) (any, error) { return test.value, test.err })
				c.Handle(decode(t, `{"type":"control_request","request_id":"7","request":`+test.frame+`}`))
				synctest.Wait()
				if got := strings.Join(s.frames(), ""); !strings.Contains(got, test.want) || test.want == "" && got != "" {
					t.Errorf("answer %s, want %s", got, test.want)
				}
			})
		})
	}
}

func TestServerThatDoesNotReturn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := new(sink)
		c := open(s, func(context.Context, *wireRequest) (any, error) {
			runtime.Goexit()
			return nil, nil
		})
		c.Handle(decode(t, `{"type":"control_request","request_id":"1","request":{"subtype":"x"}}`))
		synctest.Wait()
		if got := s.frames()[0]; !strings.Contains(got, `"error":"the callback did not return"`) || !c.Wait(0) {
			t.Errorf("answered %s", got)
		}
	})
}

func TestRequestWithoutIDIsIgnored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := new(sink)
		c := open(s, func(context.Context, *wireRequest) (any, error) {
			t.Error("it was served")
			return nil, nil
		})
		c.Handle(decode(t, `{"type":"control_request","request":{"subtype":"x"}}`))
		synctest.Wait()
		if got := s.frames(); got[0] != "" {
			t.Errorf("answered with %s", got)
		}
	})
}

func TestCancelEndsTheContextAndTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := new(sink)
		ended := false
		c := open(s, func(ctx context.Context, _ *wireRequest) (any, error) {
			<-ctx.Done()
			ended = true
			return "too late", nil
		})
		c.Handle(decode(t, `{"type":"control_request","request_id":"1","request":{"subtype":"x"}}`))
		c.Handle(decode(t, `{"type":"control_cancel_request","request_id":"of nobody"}`))
		synctest.Wait()
		if ended {
			t.Fatal("ended by the cancellation of another")
		}
		c.Handle(decode(t, `{"type":"control_cancel_request","request_id":"1"}`))
		synctest.Wait()
		if got := s.frames(); !ended || got[0] != "" || c.Serving() {
			t.Errorf("ended %v, answered %q, serving %v", ended, got, c.Serving())
		}
	})
}

// An id may be used again once its request was withdrawn, even if its server is still running.
func TestIDUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := new(sink)
		release := make(chan struct{})
		served := 0
		c := open(s, func(ctx context.Context, _ *wireRequest) (any, error) {
			if served++; served == 1 {
				<-release // ignores its context
				return "old", nil
			}
			<-ctx.Done()
			return "new", nil
		})
		request := `{"type":"control_request","request_id":"1","request":{"subtype":"x"}}`
		c.Handle(decode(t, request))
		synctest.Wait()
		c.Handle(decode(t, `{"type":"control_cancel_request","request_id":"1"}`))
		c.Handle(decode(t, request))
		synctest.Wait()
		close(release)
		synctest.Wait()
		if got := s.frames(); got[0] != "" || !c.Serving() {
			t.Errorf("answered %q, serving %v", got, c.Serving())
		}
		c.Fail(errors.New("over"))
	})
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := new(sink)
		c := open(s, func(ctx context.Context, _ *wireRequest) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		for i := range 1001 {
			c.Handle(decode(t, fmt.Sprintf(`{"type":"control_request","request_id":"%d","request":{"subtype":"x"}}`, i)))
		}
		synctest.Wait()
		if got := strings.Join(s.frames(), "\n"); !strings.Contains(got, `"request_id":"1000","error":"more than 1000`) {
			t.Errorf("answered %s", got)
		}
		c.Fail(errors.New("over"))
	})
}
