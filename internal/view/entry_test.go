package view

import (
	"testing"

	"github.com/clewdev/clew/sessions"
)

// A fork is marked in lists, once.
func TestTitleOfFork(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{"a\tb": "fork: a b", "a (fork)": "a (fork)", "": ""} {
		if got := TitleOf(&sessions.Summary{CustomTitle: title, ForkedFrom: "x"}); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
	if got := TitleOf(&sessions.Summary{CustomTitle: "a"}); got != "a" {
		t.Errorf("no fork: %q", got)
	}
}
