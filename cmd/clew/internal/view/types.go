package view

import (
	"context"
	"fmt"
	"runtime"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
)

// A Runner is a program that can have the terminal. exec.Cmd is one.
type Runner interface{ Run() error }

// A Glance is the end of a session.
type Glance struct {
	Prompt string // the last one
	Answer string // the last text of the model
	// Call is the pending tool call, such as "Bash psql -c ...", or "".
	Call string
}

// Found is a search result.
type Found struct {
	Sessions []FoundSession
	More     int    // further results
	Note     string // a note for the user, such as that files could not be read
	// Indexing is set while the index is being built: these are the results so far. A later search has
	// more.
	Indexing *Indexing
}

// An Indexing is the progress of the index, in bytes of transcripts.
type Indexing struct{ Done, Total int64 }

// Percent returns the share that was read.
func (i *Indexing) Percent() int64 { return 100 * i.Done / max(i.Total, 1) }

// A FoundSession is a session with results.
type FoundSession struct {
	Info sessions.SessionInfo
	Hits []search.Hit
	More int // further results in the session
}

// A Follower reads a session that may grow.
type Follower interface {
	// Next waits for a state of the session that is newer than the last one returned.
	Next(ctx context.Context) (*follow.Snapshot, error)
	Close() error
}

// A Program is another program that takes over the terminal.
type Program struct {
	Kind ProgramKind
	Info sessions.SessionInfo
	Text string // to show, of ShowText
	Name string // of that text, such as "result.txt"
}

// A ProgramKind is a kind of program.
type ProgramKind string

// The kinds of programs.
const (
	ResumeAgent  ProgramKind = "resume"   // claude --resume
	ContinueChat ProgramKind = "continue" // clew chat --resume
	ForkChat     ProgramKind = "fork"     // clew chat --resume --fork-session
	ShowText     ProgramKind = "show"     // a text in $EDITOR or $PAGER
)

// ExcerptOf returns the section of a result's text, of about size bytes, that has the most matches.
func ExcerptOf(h *search.Hit, size int) *render.Excerpt {
	e := h.Excerpt(size)
	x := &render.Excerpt{Text: e.Text, Begins: e.Begins, Ends: e.Ends, Markdown: h.Role != search.Tool}
	for _, m := range e.Matches {
		x.Matches = append(x.Matches, [2]int{m.Start, m.End})
	}
	return x
}

// HitPlace describes the place of a result in its session, and the author of its text.
func HitPlace(h *search.Hit) string {
	who := h.Role.String()
	if h.Tool != "" {
		who = h.Tool
	}
	switch {
	case h.AgentID != "":
		who = "agent " + who
	case h.Turn > 0:
		who = fmt.Sprintf("%d %s", h.Turn, who)
	}
	return tty.Line(who)
}

// ResumeCommand returns the command that resumes a session in its directory, if that is known, as one types it in a
// shell. path is its transcript.
func ResumeCommand(id, dir, path string) string {
	command := "claude --resume " + id
	if config := sessions.OtherConfigDir(path); config != "" {
		set := "CLAUDE_CONFIG_DIR=" + tty.ShellWord(config) + " "
		if runtime.GOOS == "windows" {
			set = `set "CLAUDE_CONFIG_DIR=` + config + `" && `
		}
		command = set + command
	}
	if dir == "" {
		return command
	}
	return "cd " + tty.ShellWord(dir) + " && " + command
}
