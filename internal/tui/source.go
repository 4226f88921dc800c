package tui

import (
	"context"
	"iter"

	"github.com/clewdev/clew/search"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Source is where the viewer gets sessions from, and what it can do with them. Its methods may
// block: only commands call them.
type Source interface {
	// List yields the sessions by their files alone, the newest first, and again when they change.
	List(ctx context.Context) iter.Seq2[[]sessions.SessionInfo, error]
	// Summarize returns the same sessions with their titles and prompts.
	Summarize(ctx context.Context, infos []sessions.SessionInfo) []sessions.SessionInfo
	// Measure returns what sessions did and cost.
	Measure(ctx context.Context, infos []sessions.SessionInfo) []sessions.Figures
	// Running returns the sessions that agents have open.
	Running(ctx context.Context) ([]sessions.RunningSession, error)
	// Here returns the names of the projects that the working directory belongs to.
	Here(ctx context.Context) map[string]bool
	// Glance reads the end of a session, for a preview.
	Glance(ctx context.Context, info sessions.SessionInfo) (Glance, error)
	// Trash returns the sessions that were deleted, the last one first.
	Trash(ctx context.Context) ([]sessions.TrashedSession, error)
	// Follow reads a session, and goes on as it grows. The caller closes the reader.
	Follow(info sessions.SessionInfo) Follower
	// Search finds words in the texts of all sessions, the best first. It calls progress, from any
	// goroutine, while it reads files for the first time.
	Search(ctx context.Context, words string, limit int, progress func(done, total int64)) (*Found, error)
	// Entry returns an entry of a session, or of a subagent, as it was written.
	Entry(ctx context.Context, info sessions.SessionInfo, agent string, at wire.Position) (wire.JSON, error)
	// Spill returns a long result that is in a separate file.
	Spill(ctx context.Context, info sessions.SessionInfo, path string) ([]byte, error)

	Rename(ctx context.Context, info sessions.SessionInfo, title string) error
	Tag(ctx context.Context, info sessions.SessionInfo, tag string) error
	Delete(ctx context.Context, info sessions.SessionInfo) error
	Restore(ctx context.Context, deleted sessions.TrashedSession) error
	// Export writes a page with the session, and returns its path. If show is set, it also opens the page in a
	// browser.
	Export(ctx context.Context, info sessions.SessionInfo, show bool) (path string, err error)
	// Markdown returns a session, or the part of it that the entries of some lines make, as Markdown.
	Markdown(ctx context.Context, info sessions.SessionInfo, lines []int) (string, error)
	// Command returns a program that takes over the terminal.
	Command(job Job) (Runner, error)
}

// A Glance is the end of a session.
type Glance struct {
	Prompt string // the last one
	Answer string // the last text of the model
	// Call is a call of a tool that has no result yet, such as "Bash psql -c ...", or "".
	Call string
}

// Found is the result of a search.
type Found struct {
	Sessions []FoundSession
	More     int    // further results
	Note     string // what the user should know, such as that files could not be read
}

// A FoundSession is a session with results.
type FoundSession struct {
	Info sessions.SessionInfo
	Hits []search.Hit
	More int // further results in the session
}

// A Follower reads a session that may grow.
type Follower interface {
	// Next waits for a state of the session that is newer than the last one it has returned.
	Next(ctx context.Context) (*Snapshot, error)
	Close()
}

// A Snapshot is the state of a session at a time. Nothing changes it.
type Snapshot struct {
	Revision    int
	First       int // the first chunk that has changed since the reader's last snapshot
	Transcript  *transcript.Transcript
	Loading     bool // there is more to read
	Done, Total int64
	Gone        bool  // the session was deleted: this is what was read last
	Err         error // why something of it, such as a subagent, can't be read
}

// A Job is something that another program does in the terminal.
type Job struct {
	Kind JobKind
	Info sessions.SessionInfo
	Text string // of a job that shows a text
	Name string // of that text, such as "result.txt"
}

// A JobKind is a kind of Job.
type JobKind string

// The kinds of jobs.
const (
	ResumeJob   JobKind = "resume"   // claude --resume
	ContinueJob JobKind = "continue" // clew chat --resume
	ForkJob     JobKind = "fork"     // clew chat --resume --fork-session
	ShowJob     JobKind = "show"     // a text in $EDITOR or $PAGER
)
