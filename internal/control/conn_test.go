package control_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// ask calls in the background. The outcome is set when its channel is closed.
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
			<-release // ignores its context
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

// broken decodes a frame that exceeds a limit of so many bytes.
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
		"too long": `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"text":"` + long + `"}}}`,
		"cut":      `{"type":"control_response","response":{"subtype":"success","request_id":%q`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := new(sink)
				c := open(s, nil)
				concerned, other := ask(t.Context(), c, `{"subtype":"a"}`), ask(t.Context(), c, `{"subtype":"b"}`)
				bad := broken(t, fmt.Sprintf(body, s.requests(t)[0].RequestID), 1000)
				c.HandleInvalid(bad)
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

// An answer that lacks what it can't do without fails its call.
func TestAnswerWithMisfits(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"control_response","response":{"subtype":[],"request_id":%q}}`:                        "/response/subtype: expected string, found array",
		`{"type":"control_response","response":{"subtype":"success","request_id":[%q]}}`:               "/response/request_id: expected string, found array",
		`{"type":"control_response","response":{"subtype":"","request_id":%q}}`:                        "is empty",
		`{"type":"control_response","response":{"request_id":%q}}`:                                     "/response/subtype: required field is missing",
		`{"type":"control_response","response":[{"subtype":"success","request_id":%q,"response":{}}]}`: "/response: expected object, found array",
	} {
		t.Run(want, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := new(sink)
				c := open(s, nil)
				concerned, other := ask(t.Context(), c, `{"subtype":"a"}`), ask(t.Context(), c, `{"subtype":"b"}`)
				c.Handle(decode(t, fmt.Sprintf(body, s.requests(t)[0].RequestID)))
				<-concerned.done
				if !errors.Is(concerned.err, control.ErrBroken) || !strings.Contains(concerned.err.Error(), want) {
					t.Errorf("error %v, want %s", concerned.err, want)
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
		c.HandleInvalid(broken(t, `{"type":"control_request","request_id":"7","request":{"subtype":"x","input":"`+strings.Repeat("x", 2000)+`"}}`, 1000))
		c.HandleInvalid(broken(t, `{"type":"control_request","request":{"subtype":"x","input":"`+strings.Repeat("x", 2000)+`"}}`, 1000))
		synctest.Wait()
		if got := s.frames(); len(got) != 1 || !strings.Contains(got[0], `"request_id":"7","error":"the control request could not be read`) {
			t.Errorf("answered %q", got)
		}
	})
}

// A sink is the agent's input in a test.
type sink struct {
	mu     sync.Mutex
	wrote  strings.Builder
	writes int
	closed bool
	block  chan struct{} // writing waits for it, if it is set
	err    error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.block != nil {
		<-s.block
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.writes++
	return s.wrote.Write(p)
}

func (s *sink) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// frames returns what was written, line by line.
func (s *sink) frames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(strings.TrimSuffix(s.wrote.String(), "\n"), "\n")
}

// requests returns the control requests that were written, oldest first.
func (s *sink) requests(t *testing.T) []*wire.ControlRequestMessage {
	t.Helper()
	var all []*wire.ControlRequestMessage
	for _, frame := range s.frames() {
		if req, ok := decode(t, frame).(*wire.ControlRequestMessage); ok {
			all = append(all, req)
		}
	}
	return all
}

func decode(t *testing.T, frame string) wire.Message {
	t.Helper()
	msg := wire.NewDecoder(nil).Decode([]byte(frame))
	if bad, ok := msg.(*wire.InvalidFrame); ok {
		t.Fatalf("frame %s: %v", frame, bad.Err)
	}
	return msg
}

// open returns a connection over s with that server, which may be nil.
func open(s *sink, serve control.Server) *control.Conn {
	if serve == nil {
		serve = func(context.Context, *wire.ControlRequestMessage) (any, error) {
			return nil, errors.New("nobody serves")
		}
	}
	out := control.NewOutbox(s, func(error) {})
	return control.New(out, control.Config{Serve: serve, Urgent: func() {}, Log: slog.New(slog.DiscardHandler)})
}

// bubble runs a test in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}
