// Package archive keeps copies of sessions after the agent deletes them. Claude Code deletes
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
// An archive has the files of sessions, byte for byte: the transcript, subagent transcripts with
// their metadata, long tool results, the title and the archived mark, tasks, and the copies of
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
// name of a blob is the SHA-256 of its bytes. The manifest of a session, JSON of [Session], locates
// its segments. Without this package, "zstd -dc" unpacks a blob.
//
// # Crashes and other writers
//
// Blobs are on disk before the manifest that names them, and a manifest is replaced as a whole. So
// a crash at any point leaves each session as it was before or after a call. The output of such a
// call is used by the next one, or remains unused.
//
// Any number of processes and machines may use an archive at once. If two of them save the same
// session, the second one starts again with the manifest of the first.
//
// An archive keeps files and not entries, so that "claude --resume" works with a restored session,
// and a newer format of transcripts needs no newer archive. Resuming needs the transcript; the
// other files are for subagents, rewinding and tasks.
//
// # Saving
//
// A file whose size and time equal the manifest's is not read. Of another file all segments are
// compared first: if one differs, the file keeps the segments before it and gets new ones. A
// transcript that changed in the last five minutes is saved up to its last line end. An older one
// is saved whole, since nobody will complete its last line.
//
// Segments are not merged. Since nothing is deleted, the archive would have both the merged segment
// and the small ones. Their number depends on how often Save runs. docs/benchmarks.md has the cost
// of small segments.
//
// A manifest ends with its own SHA-256. One that can't be read is not replaced, since somebody may
// be able to repair it. Manifests are not trusted: a manifest that names a file outside its session
// is refused, and all writing goes through [os.Root], in the directory of the project, which may be
// a link.
//
// # Reading
//
// [Archive.Unpack] writes the sessions of which the agent's files have less to a cache directory
// for each machine, with the layout and times of the agent's files. sessions.SetArchiveRoots adds
// these directories to sessions.Roots, so that no command knows archives. They are read-only there:
// the new name of a cached copy would be lost. If the agent's files have a session and the archive
// has more of it, the copy gets a time after theirs, since package sessions takes the newest copy.
package archive
