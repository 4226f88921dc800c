package view

import (
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
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

// An open session is named as in lists, with the titles that its transcript has by now.
func TestTitleOfOpen(t *testing.T) {
	t.Parallel()
	prompted := sessions.Summary{AITitle: "old", LastPrompt: "prompt"}
	read := &transcript.Transcript{}
	read.AITitle = "new"
	recapped := &transcript.Transcript{}
	recapped.Recap = "recap"
	for _, tt := range []struct {
		summary sessions.Summary
		read    *transcript.Transcript
		want    string
	}{
		{prompted, nil, "old"},
		{prompted, recapped, "old"},
		{prompted, read, "new"},
		{sessions.Summary{CustomTitle: "own"}, read, "own"},
		{sessions.Summary{ForkedFrom: "x"}, read, "fork: new"},
		{sessions.Summary{LastPrompt: "prompt"}, recapped, "prompt"},
		{sessions.Summary{}, recapped, "recap"},
	} {
		got := TitleOfOpen(&tt.summary, tt.read)
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.summary, got, tt.want)
		}
	}
}
