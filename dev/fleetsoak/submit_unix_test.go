//go:build unix

package fleetsoak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/fleet"
)

// acks is the file with a line for each job whose submit has returned.
func (s *setup) acks() string { return filepath.Join(s.Dir, "acknowledged") }

// acknowledged returns the IDs of these jobs. Those that were submitted twice are there twice.
func (s *setup) acknowledged() []string {
	text, _ := os.ReadFile(s.acks()) // it is not there before the first one
	return strings.Fields(string(text))
}

// submit submits jobs until all are there, some of them twice, and then waits for the end of the input.
func (s *setup) submit() error {
	ended := ready()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-ended
		cancel()
	}()
	e, err := s.open(ctx)
	if err != nil {
		return nil // it was ended before it could begin
	}
	defer e.Close() //nolint:errcheck // the process ends
	f := fleet.Open(e, "submitter")
	var before string
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for n := s.From; n < s.Jobs && ctx.Err() == nil; {
		j, err := f.Submit(ctx, specOf(n, before))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			select {
			case <-ctx.Done():
			case <-again.C:
			}
			continue
		}
		if err := appendTo(s.acks(), j.ID+"\n"); err != nil {
			return err
		}
		if before == j.ID || n%7 != 0 { // each seventh is submitted twice
			n++
		}
		before = j.ID
	}
	if ctx.Err() == nil {
		if err := appendTo(filepath.Join(s.Dir, "submitted"), "all\n"); err != nil {
			return err
		}
	}
	<-ended
	return nil
}

// specOf returns the job with a number. Some of them come after the one before.
func specOf(n int, before string) *fleet.Spec {
	spec := &fleet.Spec{
		Prompt: fmt.Sprintf("Do number %d.", n), Key: fmt.Sprintf("number %d", n), Priority: n % 3, Attempts: 20,
		OnLost: []fleet.Policy{fleet.Hold, fleet.Resume, fleet.Restart}[n%3],
	}
	if n%4 == 3 {
		spec.Queue = claudeQueue
	}
	if n%10 == 9 && before != "" {
		spec.After = []string{before}
	}
	return spec
}
