package tui

import (
	"context"
	"iter"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A Source provides sessions to the viewer, and the actions on them. Its methods may block: only
// commands call them.
type Source interface {
	// List yields the sessions by their files alone, the newest first, and again when they change.
	List(ctx context.Context) iter.Seq2[[]sessions.SessionInfo, error]
	// Summarize returns the same sessions with their titles and prompts.
	Summarize(ctx context.Context, infos []sessions.SessionInfo) []sessions.SessionInfo
	// Measure returns what sessions did and cost.
	Measure(ctx context.Context, infos []sessions.SessionInfo) []sessions.Figures
	// Sizes returns the sizes of the transcripts that Measure reads, or 0.
	Sizes(ctx context.Context, infos []sessions.SessionInfo) []int64
	// Running returns the sessions that agents have open.
	Running(ctx context.Context) ([]sessions.RunningSession, error)
	// Here returns the names of the projects that the working directory belongs to.
	Here(ctx context.Context) map[string]bool
	// Glance reads the end of a session, for a preview.
	Glance(ctx context.Context, info sessions.SessionInfo) (view.Glance, error)
	// Trash returns the sessions that were deleted, the last one first.
	Trash(ctx context.Context) ([]sessions.TrashedSession, error)
	// Follow reads a session, and keeps reading as it grows. The caller closes the reader.
	Follow(info sessions.SessionInfo) view.Follower
	// Search finds words in the texts of all sessions, the best first. It calls progress, from any
	// goroutine, while it reads files for the first time.
	Search(ctx context.Context, words string, limit int, progress func(done, total int64)) (*view.Found, error)
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
	Command(p view.Program) (view.Runner, error)
}
