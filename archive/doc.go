// Package archive keeps copies of sessions after the agent has deleted them. Claude Code deletes
// transcripts 30 days after their last change.
//
//	dir, err := archive.OpenDir("/home/me/archive")
//	if err != nil {
//		return err
//	}
//	a := archive.New(dir)
//	saved, err := a.Save(ctx, nil) // again and again: only what is new is written
//	…
//	session, err := a.Find(ctx, "0b7d2c7e", nil)
//	report, err := a.Restore(ctx, session, nil) // claude --resume continues it
//
// # Contents
//
// An archive has the files of sessions, byte for byte: the transcript, those of subagents with
// their metadata, long results of tools, the title and the archived mark, tasks, and the copies of
// files for rewinding. These may contain secrets, as the agent's own files do. Only the user can
// read the files of [Dir] and of package sqlitearchive; a NATS server needs its own protection.
//
// Sessions are kept by machine, project and ID ([Key]), so that several machines can share an
// archive. Nothing is ever deleted or overwritten: a file that was rewritten keeps its earlier
// content as a [Generation].
//
// # Format
//
// The content of a file is a list of [Segment] values, each of which is a zstd frame with the
// SHA-256 of its plain bytes. Transcripts only grow, so that most changes add a segment. The frames
// that one call of Save writes for a session are in one blob, or in several if they are large; the
// name of a blob is the SHA-256 of its bytes. The manifest of a session, JSON of [Session], says
// where its segments are. Without this package, "zstd -dc" unpacks a blob.
//
// # Crashes and other writers
//
// Blobs are on disk before the manifest that names them, and a manifest is replaced as a whole.
// So a crash at any point leaves each session as it was before or after a call. What such a call
// has written is used by the next one, or remains without use.
//
// Any number of processes and machines may use an archive at once. If two of them save the same
// session, the second one begins again with the manifest of the first.
package archive
