package render

import (
	"cmp"
	"path"
	"strings"
	"time"

	"github.com/clewdev/clew/transcript"
)

// Day returns the name of the day of a time, in the time zone of now: Today, Yesterday, a weekday, or
// a date.
func Day(at, now time.Time) string {
	at = at.In(now.Location())
	switch n := DayNumber(now) - DayNumber(at); {
	case n == 0:
		return "Today"
	case n == 1:
		return "Yesterday"
	case n > 1 && n < 7:
		return at.Weekday().String()
	case at.Year() == now.Year():
		return at.Format("2 January")
	}
	return at.Format("2 January 2006")
}

// DayNumber returns the number of the day of a time, in the time zone of the time.
func DayNumber(t time.Time) int {
	return int(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
}

// GivenTitle returns the title that a transcript was given, by the user or else by the agent, or "".
// It is not clean.
func GivenTitle(t *transcript.Transcript) string { return cmp.Or(t.Title, t.AITitle, t.Recap) }

// FirstPrompt returns the first prompt that has text: the title of a conversation without one. It is
// not clean.
func FirstPrompt(chunks []transcript.Chunk) string {
	for i := range chunks {
		if c := &chunks[i]; c.Type == transcript.UserChunk && strings.TrimSpace(c.Text) != "" {
			return c.Text
		}
	}
	return ""
}

// ProjectName is the name of a project in lists: the name of its directory or, if that is not
// known, the agent's name for it. It is not clean.
func ProjectName(cwd, project string) string {
	if cwd == "" {
		return project
	}
	return path.Base(strings.ReplaceAll(cwd, `\`, "/"))
}

// BranchName returns a branch, or "" for HEAD, which the agent writes if there is no branch. It is not
// clean.
func BranchName(branch string) string {
	if branch == "HEAD" {
		return ""
	}
	return branch
}
