// Package sqlitestore keeps transcripts of sessions in a SQLite file. It is the [sessions.Store] to begin with: it
// needs no server and no cgo, and what it has taken survives a crash of the program and of the machine.
//
// Use it where the programs that share sessions run on one machine. For sessions that move between machines there is
// package natsstore; for tests, [sessions.Memory].
//
//	store, err := sqlitestore.Open(ctx, "sessions.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	result, err := clew.Run(ctx, "Explain this repo", &clew.Options{Store: store})
//
// # The file
//
// Only its owner may read the file: transcripts hold what tools have read. While it is open, two more files lie beside
// it, whose names end in "-wal" and "-shm"; they are part of it. It must be on a local disk, since the locks of network
// file systems can't be relied on.
//
// Any number of processes may use a file at once. One of them writes at a time; readers neither wait for it nor hold it
// up. Don't copy or open the file by other means within such a process: on Unix, closing it there releases the locks of
// the process. The command "VACUUM INTO" of SQLite makes a copy at any time.
//
// An append has reached the disk when it returns (synchronous=FULL, and F_FULLFSYNC on macOS). Deleting makes room for
// later appends; the file itself does not shrink until somebody runs VACUUM on it.
package sqlitestore
