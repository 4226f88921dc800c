package control_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/control"
)

var errGone = errors.New("gone")

// letters puts prompts and returns them.
func letters(t *testing.T, o *control.Outbox, ids ...string) []*control.Letter {
	t.Helper()
	var all []*control.Letter
	for _, id := range ids {
		l, err := o.PutPrompt(id, []byte(promptFrame(id)+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
		synctest.Wait()
	}
	return all
}

func promptFrame(id string) string { return `{"type":"` + id + `"}` }

// pair returns a connection and its outbox.
func pair(dst control.WriteCloser) (*control.Conn, *control.Outbox) {
	out := control.NewOutbox(dst, func(error) {})
	return control.New(out, control.Config{Urgent: func() {}, Log: slog.New(slog.DiscardHandler)}), out
}

// Prompts that were not begun go to the next agent, once it is ready, and in their order. All else that was for the old
// agent is dropped.
func TestBreakKeepsPromptsThatWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old := &sink{block: make(chan struct{}), err: io.ErrClosedPipe}
		c, out := pair(old)
		begun := letters(t, out, "begun")
		waiting := letters(t, out, "first")
		lost := ask(t.Context(), c, `{"subtype":"old"}`)
		waiting = append(waiting, letters(t, out, "second")...)
		if diff := cmp.Diff([]string{"first", "second"}, c.Break(errGone)); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		<-lost.done
		close(old.block)
		for _, err := range []error{lost.err, begun[0].Wait(t.Context()), c.Tell([]byte(`{}`))} {
			if !errors.Is(err, errGone) {
				t.Errorf("error %v", err)
			}
		}
		waiting = append(waiting, letters(t, out, "third")...)
		later := ask(t.Context(), c, `{"subtype":"later"}`)

		early := c.Attach(new(sink))
		c.Break(errGone)
		s := new(sink)
		open := c.Attach(s)
		greeting := make(chan error, 1)
		go func() { greeting <- second(c.Greet(t.Context(), []byte(`{"subtype":"hello"}`))) }()
		synctest.Wait()
		if reqs := s.requests(t); len(reqs) != 1 || reqs[0].Request.Subtype != "hello" {
			t.Fatalf("before it is ready, the agent gets %q", s.frames())
		}
		answerAll(t, c, s)
		if early() || c.Ready() || !open() || !c.Ready() {
			t.Error("it is not known which agent is ready")
		}
		synctest.Wait()
		answerAll(t, c, s)
		<-later.done
		if err := errors.Join(<-greeting, later.err); err != nil {
			t.Error(err)
		}
		for _, l := range waiting {
			if err := l.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		want := []string{promptFrame("first"), promptFrame("second"), promptFrame("third")}
		if diff := cmp.Diff(want, s.frames()[1:4]); diff != "" {
			t.Errorf("prompts (-want +got):\n%s", diff)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// answerAll grants all requests so far.
func answerAll(t *testing.T, c *control.Conn, s *sink) {
	t.Helper()
	for _, req := range s.requests(t) {
		c.Handle(decode(t, `{"type":"control_response","response":{"subtype":"success","request_id":"`+req.RequestID+`"}}`))
	}
}

// A write that fails is explained by the end of the agent, whichever comes first.
func TestBreakExplainsAFailedWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, out := pair(&sink{err: io.ErrClosedPipe})
		l := letters(t, out, "a")[0]
		if !out.Stuck() {
			t.Error("the outbox is not stuck")
		}
		if kept := c.Break(errGone); len(kept) > 0 || out.Stuck() {
			t.Errorf("kept %q", kept)
		}
		if err := l.Wait(t.Context()); !errors.Is(err, errGone) {
			t.Errorf("error %v", err)
		}
	})
}

// Whoever waits for an agent that is to come goes with its context, or with the end.
func TestBreakAndThen(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *control.Conn, out *control.Outbox){
		"nothing": func(*control.Conn, *control.Outbox) {},
		"the end": func(c *control.Conn, out *control.Outbox) {
			out.End()
			c.Fail(io.ErrClosedPipe)
		},
		"the end of one that is not ready": func(c *control.Conn, out *control.Outbox) {
			c.Attach(new(sink))
			out.End()
			c.Fail(io.ErrClosedPipe)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, out := pair(new(sink))
				c.Break(errGone)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				call := ask(ctx, c, `{}`)
				l := letters(t, out, "a")[0]
				end(c, out)
				want := io.ErrClosedPipe
				if name == "nothing" {
					want = context.DeadlineExceeded
				}
				<-call.done
				if err := l.Wait(ctx); !errors.Is(err, want) || !errors.Is(call.err, want) {
					t.Errorf("errors %v and %v, want %v", err, call.err, want)
				}
				if l.TakenBack() != (name == "nothing") {
					t.Errorf("taken back: %v", l.TakenBack())
				}
			})
		})
	}
}
