package control_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/internal/control"
)

// ask calls in the background and returns what will hold the outcome.
func ask(ctx context.Context, c *control.Conn, body string) *outcome {
	o := &outcome{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		answer, err := c.Call(ctx, []byte(body))
		if o.err = err; err == nil {
			o.answer = string(answer.Response)
		}
	}()
	synctest.Wait()
	return o
}

type outcome struct {
	answer string
	err    error
	done   chan struct{}
}

func TestCallsAreMatchedByID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := new(sink)
		c := open(s, nil)
		first := ask(t.Context(), c, `{"subtype":"a"}`)
		second := ask(t.Context(), c, `{"subtype":"b"}`)
		reqs := s.requests(t)
		if len(reqs) != 2 || reqs[0].Request.Subtype != "a" || reqs[1].Request.Subtype != "b" {
			t.Fatalf("written: %q", s.frames())
		}
		success := `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"is":%q}}}`
		c.Handle(decode(t, fmt.Sprintf(success, "req_of_nobody", "nobody")))
		c.Handle(decode(t, fmt.Sprintf(success, reqs[1].RequestID, "b")))
		c.Handle(decode(t, fmt.Sprintf(success, reqs[1].RequestID, "b again")))
		c.Handle(decode(t, fmt.Sprintf(success, reqs[0].RequestID, "a")))
		<-first.done
		<-second.done
		if first.answer != `{"is":"a"}` || second.answer != `{"is":"b"}` {
			t.Errorf("answers %q and %q", first.answer, second.answer)
		}
		if c.Waiting() {
			t.Error("calls are left")
		}
	})
}

func TestCallRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := new(sink)
		c := open(s, nil)
		o := ask(t.Context(), c, `{"subtype":"set_color"}`)
		c.Handle(decode(t, fmt.Sprintf(
			`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"no","error_code":"unsupported_request"}}`,
			s.requests(t)[0].RequestID)))
		<-o.done
		refusal, ok := errors.AsType[*control.Refusal](o.err)
		if !ok || refusal.Message != "no" || refusal.Code != "unsupported_request" {
			t.Errorf("error %v", o.err)
		}
	})
}

func TestCallWithdrawnWhenItsContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := new(sink)
		c := open(s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o := ask(ctx, c, `{"subtype":"a"}`)
		<-o.done
		synctest.Wait()
		if !errors.Is(o.err, context.DeadlineExceeded) || c.Waiting() {
			t.Errorf("error %v, calls left: %v", o.err, c.Waiting())
		}
		id := s.requests(t)[0].RequestID
		want := fmt.Sprintf(`{"type":"control_cancel_request","request_id":%q}`, id)
		if frames := s.frames(); frames[len(frames)-1] != want {
			t.Errorf("last frame %s, want %s", frames[len(frames)-1], want)
		}
		c.Handle(decode(t, fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q}}`, id)))
	})
}

func TestFailEndsEverything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gone := errors.New("gone")
		served := make(chan error, 1)
		c := open(new(sink), func(ctx context.Context, _ *wireRequest) (any, error) {
			<-ctx.Done()
			served <- ctx.Err()
			return nil, ctx.Err()
		})
		first, second := ask(t.Context(), c, `{"subtype":"a"}`), ask(t.Context(), c, `{"subtype":"b"}`)
		c.Handle(decode(t, `{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool"}}`))
		synctest.Wait()
		c.Fail(gone)
		c.Fail(errors.New("only the first counts"))
		<-first.done
		<-second.done
		if !errors.Is(first.err, gone) || !errors.Is(second.err, gone) {
			t.Errorf("errors %v and %v", first.err, second.err)
		}
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("the served request's context: %v", err)
		}
		if _, err := c.Call(t.Context(), []byte(`{}`)); !errors.Is(err, gone) {
			t.Errorf("a later call: %v", err)
		}
		if !c.Wait(time.Second) {
			t.Error("something still serves")
		}
	})
}

func TestWaitIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c := open(new(sink), func(context.Context, *wireRequest) (any, error) {
			<-release // deaf to its context
			return nil, nil
		})
		c.Handle(decode(t, `{"type":"control_request","request_id":"1","request":{"subtype":"x"}}`))
		c.Fail(errors.New("gone"))
		if c.Wait(time.Second) {
			t.Error("Wait says that nothing runs")
		}
		close(release)
		if !c.Wait(time.Second) {
			t.Error("Wait says that something runs")
		}
	})
}
