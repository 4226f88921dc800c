package clikit

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/tty"

	"github.com/google/go-cmp/cmp"
)

// --watch draws over its own output, within the screen, waits longer if reading takes long, and
// redraws immediately if the terminal is resized.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	var waits []time.Duration
	texts := []string{"head\n1\n2\n3\n4\n", "head\n555555\n", "head\n6\n"}
	columns := 80
	var out strings.Builder
	s := NewWatch(&out)
	s.size = func() (int, int) { return columns, 5 }
	s.now = func() time.Time { return now }
	s.after = func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		c := make(chan time.Time, 1)
		switch len(waits) {
		case 1:
			c <- now
		case 2:
			columns = 4
			s.resized <- struct{}{}
		default:
			cancel()
		}
		return c
	}
	show := func() (string, error) {
		now = now.Add(time.Duration(len(waits)) * 500 * time.Millisecond)
		return texts[len(waits)], nil
	}
	err := s.Run(ctx, show)
	const c = tty.ClearLine
	want := c + "head\n" + c + "2\n" + c + "3\n" + c + "4\n" +
		tty.Up(4) + c + "head\n" + c + "555555\n" + c + "\n" + c + "\n" + tty.Up(2) +
		tty.Up(3) + c + "head\n" + c + "5555\n" + c + "\n" + tty.Up(1) +
		tty.Up(2) + c + "head\n" + c + "6\n"
	if diff := cmp.Diff(want, out.String()); diff != "" || ExitCode(err) != ExitInterrupted {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second}, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}
