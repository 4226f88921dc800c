package fleet

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// An Engine keeps records and files, and carries messages. It knows nothing about jobs. It refuses what [CheckRecords]
// and the functions beside it refuse. Package fleettest tests an implementation. Its methods may be called from several
// goroutines. They return within the time of their context.
type Engine interface {
	// Set writes records of a table, at most 1,000, all or none. Each has the revision that it replaces: 0 means
	// that the key must not exist. If any of them changed, the error wraps [ErrConflict], and
	// nothing is written. With another error it is not known whether they were written. The records
	// are on disk when Set returns without an error. It returns the new revisions, which rise with
	// each change of a record.
	Set(ctx context.Context, t Table, records ...Record) ([]uint64, error)
	// Get returns a record as it was last written. If there is none, the error wraps [ErrNotFound].
	Get(ctx context.Context, t Table, key string) (Record, error)
	// List returns all records of a table, in no order, or the records of a group: their keys start
	// with the group, which has no dot itself, a dot and something more. If wants is not nil,
	// records whose label it does not want may come without their data. An error is the last pair.
	List(ctx context.Context, t Table, group string, wants func(label string) bool) iter.Seq2[Record, error]
	// Watch is like List, and continues with each change of all records, or of the record with a
	// key, until the context ends. A zero Record comes after the records that were there. Of
	// changes that follow each other quickly only the last one may come; none is left out
	// otherwise. A record that was removed comes with the key alone. An error is the last pair:
	// then the caller watches again.
	Watch(ctx context.Context, t Table, key string, wants func(label string) bool) iter.Seq2[Record, error]
	// History returns everything that was written under a key, the oldest first. An engine may keep
	// only the last record of a worker, since workers change every few seconds.
	History(ctx context.Context, t Table, key string) iter.Seq2[Record, error]
	// Remove removes a record with its history, unless it changed since a revision (ErrConflict).
	// Removing a missing record succeeds. Nobody removes decisions, and an engine may refuse to.
	Remove(ctx context.Context, t Table, key string, revision uint64) error

	// Publish sends a message to the current listeners of a subject. It may be lost.
	Publish(ctx context.Context, subject string, message []byte) error
	// Listen returns the messages of a subject from now on, until the context ends. A listener that is
	// too slow loses some.
	Listen(ctx context.Context, subject string) iter.Seq2[[]byte, error]

	// Put stores a file under a name, and replaces an earlier one. It is on disk, whole, when Put
	// returns.
	Put(ctx context.Context, name string, r io.Reader) error
	// Open returns a file. If there is none, the error wraps [ErrNotFound].
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Delete removes the files whose names start with a prefix.
	Delete(ctx context.Context, prefix string) error
}

// A Table is a set of records.
type Table string

// The tables.
const (
	Jobs      Table = "jobs"      // by the ID of the job
	Workers   Table = "workers"   // by the ID of the worker, which is new at each start
	Accounts  Table = "accounts"  // by name
	Questions Table = "questions" // by the ID of the job, a dot and the ID of the question
	Decisions Table = "decisions" // by the ID of the job, or "account-" and a name, a dot and an ID
)

// Tables are all tables.
var Tables = []Table{Jobs, Workers, Accounts, Questions, Decisions}

// A Record is the data of a key in an engine. Keys and the names of files consist of 1 to 512
// letters, digits and "-", "_" and "."; names of files, and subjects of messages, also have "/".
type Record struct {
	Key      string
	Revision uint64
	Time     time.Time // at which it was written, by the engine's clock
	Label    string    // at most 2 KB of ASCII without control characters
	Data     []byte    // at most 256 KB; not nil, unless the record was removed or is not wanted
}

// Errors of engines.
var (
	ErrConflict = errors.New("the record has changed meanwhile")
	ErrNotFound = errors.New("there is no such record")
)
