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

func TestOutboxKeepsOrderAndClosesLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &sink{block: make(chan struct{})}
		o := control.NewOutbox(s, func(error) {})
		for _, frame := range []string{"1\n", "2\n", "3\n"} {
			if _, err := o.Put([]byte(frame)); err != nil {
				t.Fatal(err)
			}
		}
		o.End()
		if _, err := o.Put([]byte("4\n")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("put behind the end: %v", err)
		}
		synctest.Wait()
		if s.closed {
			t.Error("closed before all was written")
		}
		close(s.block)
		o.Flush(time.Minute)
		if diff := cmp.Diff([]string{"1", "2", "3"}, s.frames()); diff != "" || !s.closed {
			t.Errorf("closed %v, written (-want +got):\n%s", s.closed, diff)
		}
		if s.writes > 2 {
			t.Errorf("%d writes for frames that waited together", s.writes)
		}
	})
}

func TestOutboxTakesBackWhatWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &sink{block: make(chan struct{})}
		o := control.NewOutbox(s, func(error) {})
		stuck, err := o.Put([]byte("stuck\n"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		behind, err := o.Put([]byte("behind\n"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, letter := range []*control.QueuedFrame{stuck, behind} {
			if err := letter.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("waiting: %v", err)
			}
		}
		if stuck.Withdrawn() || !behind.Withdrawn() {
			t.Errorf("withdrawn: %t and %t", stuck.Withdrawn(), behind.Withdrawn())
		}
		close(s.block)
		o.Flush(time.Minute)
		if diff := cmp.Diff([]string{"stuck"}, s.frames()); diff != "" || s.writes != 1 {
			t.Errorf("%d writes (-want +got):\n%s", s.writes, diff)
		}
	})
}

func TestOutboxFailsForGood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		broken := errors.New("broken pipe")
		s := &sink{err: broken}
		var told error
		var o *control.Outbox
		o = control.NewOutbox(s, func(err error) {
			told = err
			o.Fail(err)
		})
		letter, err := o.Put([]byte("1\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := letter.Wait(t.Context()); !errors.Is(err, broken) {
			t.Errorf("waiting: %v", err)
		}
		synctest.Wait()
		if _, err := o.Put([]byte("2\n")); !errors.Is(err, broken) || !errors.Is(told, broken) {
			t.Errorf("the next one: %v, told %v", err, told)
		}
	})
}

func TestOutboxFlushIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &sink{block: make(chan struct{})}
		o := control.NewOutbox(s, func(error) {})
		if _, err := o.Put([]byte("stuck\n")); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		o.Flush(time.Second)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("flush took %v", took)
		}
		close(s.block)
	})
}

var errGone = errors.New("gone")

// putPrompts puts prompts and returns them.
func putPrompts(t *testing.T, o *control.Outbox, ids ...string) []*control.QueuedFrame {
	t.Helper()
	var all []*control.QueuedFrame
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

// Unwritten prompts go to the next agent in order, once it is ready. All other frames for the old
// agent are dropped.
func TestBreakKeepsPromptsThatWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old := &sink{block: make(chan struct{}), err: io.ErrClosedPipe}
		c, out := pair(old)
		begun := putPrompts(t, out, "begun")
		waiting := putPrompts(t, out, "first")
		lost := ask(t.Context(), c, `{"subtype":"old"}`)
		waiting = append(waiting, putPrompts(t, out, "second")...)
		if diff := cmp.Diff([]string{"first", "second"}, c.Break(errGone)); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		<-lost.done
		close(old.block)
		for _, err := range []error{lost.err, begun[0].Wait(t.Context()), c.Notify([]byte(`{}`))} {
			if !errors.Is(err, errGone) {
				t.Errorf("error %v", err)
			}
		}
		waiting = append(waiting, putPrompts(t, out, "third")...)
		later := ask(t.Context(), c, `{"subtype":"later"}`)

		early := c.Attach(new(sink))
		c.Break(errGone)
		s := new(sink)
		open := c.Attach(s)
		greeting := make(chan error, 1)
		go func() { greeting <- second(c.CallEarly(t.Context(), []byte(`{"subtype":"hello"}`))) }()
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

// A write fails with Break's error, whether Break comes before or after it.
func TestBreakExplainsAFailedWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, out := pair(&sink{err: io.ErrClosedPipe})
		l := putPrompts(t, out, "a")[0]
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

// A call that waits for the next agent ends with its context, or with the connection.
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
				l := putPrompts(t, out, "a")[0]
				end(c, out)
				want := io.ErrClosedPipe
				if name == "nothing" {
					want = context.DeadlineExceeded
				}
				<-call.done
				if err := l.Wait(ctx); !errors.Is(err, want) || !errors.Is(call.err, want) {
					t.Errorf("errors %v and %v, want %v", err, call.err, want)
				}
				if l.Withdrawn() != (name == "nothing") {
					t.Errorf("withdrawn: %v", l.Withdrawn())
				}
			})
		})
	}
}
