// Package sqlitestore keeps transcripts of sessions in a SQLite file. If in doubt, start with this
// [sessions.Store]: it needs no server and no cgo, and appended entries survive a crash of the
// program and of the machine.
//
// Use it if the programs that share sessions run on one machine. For sessions that move between
// machines, use package natsstore; for tests, [sessions.Memory].
//
//	store, err := sqlitestore.Open(ctx, "sessions.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	result, err := clew.Run(ctx, "Explain this repo", &clew.Options{Store: clew.StoreOptions{Store: store}})
//
// # The file
//
// Only the owner can read the file, since transcripts contain what tools read. While it is open,
// there are two more files next to it, whose names end in "-wal" and "-shm"; they are part of the
// database. The file must be on a local disk: the locks of network file systems are not reliable.
//
// Any number of processes may use a file at the same time. One of them writes at a time; readers
// neither wait for it nor delay it. Don't copy the file or open it by other means in such a
// process: on Unix, closing it there releases the locks of the process. To copy it at any time, use
// the SQL command "VACUUM INTO".
//
// Each entry has a checksum, which also depends on the entries before it. Load returns an error
// that names the session and the entry if one was changed or is missing. Entries that an older
// version of this package stored have none, and are read unchecked.
//
// When Append returns, the entries are on disk (synchronous=FULL, and F_FULLFSYNC on macOS).
// Deleting makes room for later appends. The file itself does not shrink until you run VACUUM on
// it.
package sqlitestore
