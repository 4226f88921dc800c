package clew_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
)

// TestPromptsAtOnce sends prompts from several goroutines while another one reads. Each is sent
// once, and answered under the id that Send returned.
func TestPromptsAtOnce(t *testing.T) {
	t.Parallel()
	const prompts = 20
	s, err := clew.Connect(t.Context(), &clew.Options{Transport: simulated(slices.Repeat([]string{"Yes."}, prompts)...)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	sent := make([]string, prompts)
	for i := range prompts {
		wg.Go(func() {
			id, err := s.Send(t.Context(), clew.Text("Is it?"))
			if err != nil {
				t.Error(err)
			}
			sent[i] = id
		})
	}
	answered := answeredPrompts(t, s, prompts)
	wg.Wait()
	slices.Sort(sent)
	slices.Sort(answered)
	if diff := cmp.Diff(sent, answered); diff != "" {
		t.Errorf("(-sent +answered):\n%s", diff)
	}
}

// answeredPrompts reads n results, and returns which prompts they answer.
func answeredPrompts(t *testing.T, s *clew.Session, n int) []string {
	t.Helper()
	var answered []string
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if result, ok := msg.(*clew.ResultMessage); ok {
			answered = append(answered, result.UserMessageUUID)
		}
		if len(answered) == n {
			break
		}
	}
	return answered
}

// TestSessionsAtOnce opens sessions with the same options at the same time: each has its own agent.
func TestSessionsAtOnce(t *testing.T) {
	t.Parallel()
	opts := &clew.Options{Transport: simulated("Yes.")}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			s, err := clew.Connect(t.Context(), opts)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for _, err := range s.Turn(t.Context(), clew.Text("Is it?")) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
