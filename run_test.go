package clew_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// Without a prompt there is no result.
func TestRunWithoutPrompts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		opts := overMemory(clewtest.NewAgent(t, greeted().CloseStdin().Exit(0)))
		result, err := clew.Run(t.Context(), slices.Values([]*clew.UserMessage{}), opts)
		if exit := wantExit(t, err); result != nil || exit.Reason != "ended without a result" {
			t.Errorf("result %v, error %v", result, err)
		}
		wantNoGoroutine(t)
	})
}

// A type that has no schema is refused before anything starts.
func TestRunAsWithoutSchema(t *testing.T) {
	t.Parallel()
	opts := &clew.Options{Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
		t.Error("an agent was started")
		return nil, errors.ErrUnsupported
	})}
	_, result, err := clew.RunAs[chan int](t.Context(), "Hi", opts)
	if result != nil || err == nil || !strings.HasPrefix(err.Error(), "clew: chan int has no JSON schema: ") {
		t.Errorf("result %v, error %v", result, err)
	}
}

// An answer that is missing or does not fit its type is an error beside the result.
func TestRunAsWithoutFit(t *testing.T) {
	t.Parallel()
	for output, reason := range map[string]string{
		``:                               "the result has no structured output",
		`{"name":"Tea"}`:                 "required",
		`{"name":"Tea","minutes":"ten"}`: "minutes",
		`["Tea"]`:                        "type",
	} {
		t.Run(output, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				frame := `{"type":"result","subtype":"success","result":"Tea, then."}`
				if output != "" {
					frame = strings.Replace(frame, "}", `,"structured_output":`+output+"}", 1)
				}
				type drink struct {
					Name    string `json:"name"`
					Minutes int    `json:"minutes"`
				}
				opts := overMemory(clewtest.NewAgent(t, asked().Send(frame)))
				got, result, err := clew.RunAs[drink](t.Context(), "Hi", opts)
				misfit, ok := errors.AsType[*clew.OutputError](err)
				if !ok || result == nil || got != (drink{}) {
					t.Fatalf("answer %+v, result %v, error %v", got, result, err)
				}
				if string(misfit.Raw) != output || misfit.Text != "Tea, then." || !strings.Contains(misfit.Error(), reason) {
					t.Errorf("raw %q, text %q, error %q", misfit.Raw, misfit.Text, misfit)
				}
			})
		})
	}
}
