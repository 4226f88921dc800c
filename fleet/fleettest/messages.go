package fleettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// An inbox has the messages of a listener that runs in a goroutine.
type inbox struct {
	x        *tester
	messages chan []byte
	stop     context.CancelFunc
	ended    chan error
	early    [][]byte // messages before the first one that the test knows of
}

// listen starts to listen, and waits until messages come.
func (x *tester) listen(subject string) *inbox {
	x.Helper()
	ctx, cancel := context.WithCancel(x.ctx)
	in := &inbox{x, make(chan []byte, 100_000), cancel, make(chan error, 1), nil}
	go func() {
		var failed error
		for m, err := range x.e.Listen(ctx, subject) {
			if failed = err; err == nil {
				in.messages <- m
			}
		}
		in.ended <- failed
	}()
	x.Cleanup(in.end)
	in.early = in.deliver(subject, []byte("are you there?"))
	return in
}

func (in *inbox) end() {
	in.x.Helper()
	in.stop()
	select {
	case err := <-in.ended:
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			in.x.Errorf("the listener ended with %v", err)
		}
		in.ended <- nil
	case <-in.x.ctx.Done():
		in.x.Error("the listener does not end with its context")
	}
}

// deliver publishes a message until it comes, since it may be lost. It returns the messages that
// came before.
func (in *inbox) deliver(subject string, message []byte) (before [][]byte) {
	in.x.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		in.x.publish(subject, message)
		for waiting := true; waiting; {
			select {
			case m := <-in.messages:
				if bytes.Equal(m, message) {
					return before
				}
				before = append(before, m)
			case <-again.C:
				waiting = false
			case <-in.x.ctx.Done():
				in.x.Fatalf("no message %s comes; others that came: %d", short(message), len(before))
			}
		}
	}
}

func (x *tester) publish(subject string, message []byte) {
	x.Helper()
	if err := x.e.Publish(x.ctx, subject, message); err != nil {
		x.Fatalf("Publish to %s: %v", subject, err)
	}
}

// messageTests send messages.
var messageTests = map[string]func(*tester){
	"messages come": func(x *tester) {
		in := x.listen("live.job.1")
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		for _, m := range [][]byte{[]byte("text"), all, {}, []byte("\r\n"), bytes.Repeat([]byte("x"), 64<<10)} {
			in.deliver("live.job.1", m)
		}
	},
	"nobody listens": func(x *tester) {
		x.publish("live.job.1", []byte("message"))
	},
	"everybody who listens gets them": func(x *tester) {
		var all []*inbox
		for range 5 {
			all = append(all, x.listen("subject"))
		}
		all[2].end()
		for i, in := range all {
			if i != 2 {
				in.deliver("subject", []byte(fmt.Sprint("message ", i)))
			}
		}
		for _, in := range []*inbox{all[0], all[4]} { // without its own message
			in.deliver("subject", []byte("the last one"))
		}
	},
	"subjects are apart": func(x *tester) {
		subjects := []string{"live.a", "live.b", "live.a.b", "live.A", "live"}
		var all []*inbox
		for _, subject := range subjects {
			all = append(all, x.listen(subject))
		}
		for i, subject := range subjects {
			for range 10 {
				x.publish(subject, []byte(subject))
			}
			all[i].deliver(subject, []byte("end of "+subject))
		}
		for i, subject := range subjects {
			for _, m := range all[i].deliver(subject, []byte("end")) {
				if s := string(m); s != subject && s != "end of "+subject && s != "are you there?" {
					x.Errorf("the listener of %s got %q", subject, s)
				}
			}
		}
	},
	"what was sent before does not come": func(x *tester) {
		x.publish("subject", []byte("before"))
		x.listen("subject").end()
		x.publish("subject", []byte("before"))
		in := x.listen("subject")
		for _, m := range append(in.early, in.deliver("subject", []byte("after"))...) {
			if string(m) == "before" {
				x.Error("it came")
			}
		}
	},
	"a message comes once": func(x *tester) {
		in := x.listen("subject")
		for i := range 200 {
			x.publish("subject", []byte(text(i)))
		}
		seen := map[string]bool{"are you there?": false}
		for _, m := range in.deliver("subject", []byte("end")) {
			if seen[string(m)] {
				x.Errorf("%s came twice", m)
			}
			seen[string(m)] = string(m) != "are you there?"
		}
	},
	"a listener that is slow stops nobody": func(x *tester) {
		sent, done := make(chan struct{}), make(chan error, 1)
		ctx, cancel := context.WithCancel(x.ctx)
		defer cancel()
		waits := make(chan struct{})
		go func() {
			first := true
			for m, err := range x.e.Listen(ctx, "subject") {
				if err != nil {
					done <- err
					return
				}
				if first {
					first = false
					close(waits)
					<-sent
				}
				if string(m) == "end" {
					done <- nil
					return
				}
			}
			done <- errors.New("the loop has ended")
		}()
		x.publishUntil("first", waits)
		for range 5000 {
			x.publish("subject", bytes.Repeat([]byte("x"), 1<<10))
		}
		close(sent)
		ended := make(chan struct{})
		var failed error
		go func() {
			failed = <-done
			close(ended)
		}()
		x.publishUntil("end", ended)
		if failed != nil {
			x.Errorf("the listener ended with %v", failed)
		}
	},
	"a loop can be left": func(x *tester) {
		for range 10 {
			left := make(chan struct{})
			go func() {
				defer close(left)
				for range x.e.Listen(x.ctx, "subject") {
					return
				}
			}()
			x.publishUntil("message", left)
		}
		x.listen("subject")
	},
}

// publishUntil publishes a message again and again until a channel is closed.
func (x *tester) publishUntil(message string, done <-chan struct{}) {
	x.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		x.publish("subject", []byte(message))
		select {
		case <-done:
			return
		case <-again.C:
		case <-x.ctx.Done():
			x.Fatalf("no message %q comes", message)
		}
	}
}
