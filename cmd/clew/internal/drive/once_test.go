package drive

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Results are kept up to a size. A request whose result was dropped still counts once.
func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	agents := New(Options{})
	t.Cleanup(func() { agents.Close() })
	o := newOnceEach(1000, false)
	const size = 1 << 20
	fulfilled := 0
	send := func(id string) error {
		got, err := once(t.Context(), agents, o, id, id, func(context.Context) (string, error) {
			fulfilled++
			return strings.Repeat("x", size), nil
		})
		if err == nil && len(got) != size {
			t.Errorf("%s has the result %q", id, got)
		}
		return err
	}
	ids := make([]string, 40)
	for i := range ids {
		ids[i] = strings.Repeat("request", 2) + string(rune('A'+i%26)) + string(rune('a'+i/26))
		if err := send(ids[i]); err != nil {
			t.Fatal(err)
		}
	}
	if o.bytes > maxResultBytes || o.bytes < maxResultBytes/2 {
		t.Errorf("%d bytes are kept", o.bytes)
	}
	if err := send(ids[39]); err != nil {
		t.Errorf("the last request: %v", err)
	}
	if err := send(ids[0]); !errors.Is(err, errForgotten) {
		t.Errorf("the first request: %v", err)
	}
	if fulfilled != len(ids) {
		t.Errorf("%d requests were fulfilled %d times", len(ids), fulfilled)
	}
	o.shrink(0)
	if len(o.kept) != 1 || len(o.calls) != len(ids) {
		t.Errorf("%d results and %d requests are kept", len(o.kept), len(o.calls))
	}
}
