// Package statusline makes the line that Claude Code shows below its prompt.
//
// A line is made of a [View], by a [Format]. Most of a view is what the agent says on stdin. What
// all sessions together cost is in no input, and takes too long to compute for each line: it comes
// from a small file (see [Cache]), which a process in the background replaces. That process reads
// only what was appended to transcripts since, and there is at most one at a time.
package statusline
