// Package statusline makes the line that Claude Code shows below its prompt.
//
// A [Format] makes a line from a [View]. Most of a view is the agent's input on stdin. The total
// cost of all sessions is not in the input, and takes too long to compute for each line: it comes
// from a small file (see [Cache]), which a background process replaces. That process reads only the
// parts that were appended to transcripts since, and there is at most one at a time.
//
// Claude Code runs the command of its setting statusLine 300 ms after a change, with the state of
// the session on stdin ([settings.StatusLineInput]), and shows its output. A new run ends the one
// before, and a command that fails blanks the line. So "clew statusline" prints something whatever
// it gets, and it takes as long as the start of the program. Claude Code leaves four columns of
// COLUMNS free.
//
// # Costs
//
// The input has no costs of the day, of the project and of the block. They are in a file in the
// user's cache directory, one for each set of agents' directories. A cost of another day, or of a
// block that is over, is not shown.
//
// If the file is older than 30 seconds, a line takes a lock, notes that it starts a process, and
// starts it: in a separate session, without a stream of the agent's, so that neither waits for the
// other and the end of the agent does not end it. That process holds the same lock while it works.
// The system releases the lock with the process, so that nothing stale is left.
//
// A second file has how far each transcript was read, and the answers since the start of the day,
// or of the block in which the day starts: later blocks follow from it. An answer counts once, even
// if its copy in a fork is read later. The first time, transcripts of the last seven days are read.
// A damaged file, a clock that was set back, or a time zone in which the day started earlier makes
// it start again.
//
// # Formats
//
// A format is words between spaces. A word whose value is missing is left out, and so is a word
// without a value that would be left at an end or beside another. If the line is too wide, the
// least important value is dropped first.
//
// The setting that --install writes has a refreshInterval of 60 seconds, so that the time to the
// reset of a limit is right in a session that waits. The setting before it is kept in the state
// directory.
package statusline
