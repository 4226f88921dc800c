package control_test

import (
	"context"
	"errors"
	"io"
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
		for _, letter := range []*control.Letter{stuck, behind} {
			if err := letter.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("waiting: %v", err)
			}
		}
		if stuck.TakenBack() || !behind.TakenBack() {
			t.Errorf("taken back: %t and %t", stuck.TakenBack(), behind.TakenBack())
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
