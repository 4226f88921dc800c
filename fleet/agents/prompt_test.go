package agents

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/fleet"
)

// An agent that continues is told what became of its files, whatever ended the attempt before.
func TestPromptTellsFiles(t *testing.T) {
	t.Parallel()
	for _, cause := range []fleet.Cause{fleet.ByLoss, fleet.ByLimit, fleet.ByQuestion, fleet.ByPerson} {
		j := &fleet.Job{
			ID: "j", From: &fleet.From{Attempt: 1, Session: "s", Cause: cause},
			Attempts: []fleet.Attempt{{Number: 1}, {Number: 2, Start: fleet.Continued}},
		}
		n := &run{runner: &Runner{}, task: &fleet.Task{Job: j, Number: 2}, restored: "The files are gone."}
		if text := n.promptText(t.Context()); !strings.Contains(text, n.restored) {
			t.Errorf("%s: %s", cause, text)
		}
	}
}

func TestWithoutUser(t *testing.T) {
	t.Parallel()
	for repo, want := range map[string]string{
		"https://me:secret@git.example.com/app.git": "https://git.example.com/app.git", "ssh://git@git.example.com/app": "ssh://git.example.com/app",
		"git@git.example.com:app.git": "git@git.example.com:app.git", "/home/me/app": "/home/me/app", "https://git.example.com/app": "https://git.example.com/app",
	} {
		if got := withoutUser(repo); got != want {
			t.Errorf("%s: %s, want %s", repo, got, want)
		}
	}
}
