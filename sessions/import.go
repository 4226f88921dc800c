package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/clewdev/clew/wire"
)

// Limits for one append of an import.
const (
	maxBatchEntries = 500
	maxBatchBytes   = 1 << 20
)

// ImportOptions configure an import. Nil and the zero value mean a session in the agent's own
// files.
type ImportOptions struct {
	// Store has the session to copy. Nil means the agent's own files.
	Store Store
	// Project is the path of the session's working directory, as in [Options]. Empty means any
	// project.
	Project string
	// ProjectName is the name of the project in Store, as in [Options]. If it is set, Project is
	// ignored.
	ProjectName string
	// IntoProject is the name of the project in dst, such as the value of
	// clew.Options.Store.Project. Empty means the name that it has in the source.
	IntoProject string
	// OnlyMain leaves out the subagents.
	OnlyMain bool
	// BatchEntries is the number of entries that are appended at once, at most. 0 means 500.
	BatchEntries int
	// Progress is called after each append, and for each line that is left out because it is not an
	// entry. Nil means that nothing is called.
	Progress func(ImportProgress)
}

// ImportProgress describes how far an import is.
type ImportProgress struct {
	// Key is the key of the transcript that is being copied.
	Key wire.SessionKey
	// Entries is the number of entries, of all transcripts, that were copied or were already there.
	Entries int
	// Skipped is the line that was left out, or nil after an append.
	Skipped *SkippedLine
}

// Import copies a session with its subagents to the store dst, under the same ID. From then on
// clew.Options.Session.Resume finds it there, on any machine that can reach dst.
//
//	store, err := sqlitestore.Open(ctx, "archive.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	err = sessions.Import(ctx, store, id, nil)
//
// Import does not copy entries that dst already has, so it can be repeated: after an error, when
// the session has grown, or to complete a session of which dst missed entries. It appends up to 500
// entries or 1 MiB at a time, see [ImportOptions.BatchEntries].
//
// Lines of a file that are not entries are left out and reported: to opts.Progress, or else to
// [Folder.Skipped].
func Import(ctx context.Context, dst Store, id string, opts *ImportOptions) error {
	if dst == nil {
		return errors.New("sessions: no store to import into")
	}
	if opts == nil {
		opts = new(ImportOptions)
	}
	if opts.BatchEntries < 0 {
		return fmt.Errorf("sessions: ImportOptions.BatchEntries is negative: %d", opts.BatchEntries)
	}
	s, key, err := (&Options{Store: opts.Store, Project: opts.Project, ProjectName: opts.ProjectName}).find(ctx, id)
	if err != nil {
		return err
	}
	var subpaths []string
	if !opts.OnlyMain {
		if subpaths, err = s.store.Subpaths(ctx, key); err != nil {
			return err
		}
	}
	i := &importer{from: s.store, to: dst, project: cmp.Or(opts.IntoProject, key.Project), report: opts.Progress,
		most: cmp.Or(opts.BatchEntries, maxBatchEntries)}
	for _, key.Subpath = range append([]string{""}, subpaths...) {
		if err := i.transcript(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// An importer is one call of Import. It copies the main transcript first, so that the session is
// found in the destination even if the import is interrupted.
type importer struct {
	from, to Store
	project  string // the name in the store to
	most     int    // entries in a batch
	// report is the caller's function, or nil.
	report func(ImportProgress)
	// progress is passed to report. It covers all transcripts of the session.
	progress ImportProgress
	// batch are the entries that are appended next.
	batch []wire.JSON
	// bytes is the length of the batch.
	bytes int
}

// target returns the key of a transcript in the destination.
func (i *importer) target(key wire.SessionKey) wire.SessionKey {
	key.Project = i.project
	return key
}

// reportProgress calls the caller's function, if there is one.
func (i *importer) reportProgress() {
	if i.report != nil {
		i.report(i.progress)
	}
}

// skipped reports a line that is not an entry, to the Folder if there is no Progress function.
func (i *importer) skipped(l SkippedLine) {
	if folder, ok := i.from.(*Folder); ok && i.report == nil {
		folder.skip(l)
	}
	i.progress.Skipped = &l
	i.reportProgress()
	i.progress.Skipped = nil
}

// transcript copies one transcript. The metadata comes last, and only if it changed.
func (i *importer) transcript(ctx context.Context, key wire.SessionKey) error {
	i.progress.Key = key
	there, oldSidecar, err := i.copied(ctx, key)
	if err != nil {
		return err
	}
	var sidecar wire.JSON
	for entry, err := range i.originals(ctx, key, &sidecar, i.skipped) {
		if err != nil {
			return err
		}
		if there.take(entry) {
			i.progress.Entries++
			continue
		}
		if err := i.add(ctx, key, entry); err != nil {
			return err
		}
	}
	if sidecar != "" && hashEntry(sidecar) != hashEntry(oldSidecar) {
		if err := i.add(ctx, key, sidecar); err != nil {
			return err
		}
	}
	return i.flush(ctx, key)
}

// add adds an entry to the batch. If the batch is full, it is appended first.
func (i *importer) add(ctx context.Context, key wire.SessionKey, entry wire.JSON) error {
	if len(i.batch) == i.most || len(i.batch) > 0 && i.bytes+len(entry) > maxBatchBytes {
		if err := i.flush(ctx, key); err != nil {
			return err
		}
	}
	i.batch = append(i.batch, entry)
	i.bytes += len(entry)
	return nil
}

// flush appends the batch to the destination.
func (i *importer) flush(ctx context.Context, key wire.SessionKey) error {
	if len(i.batch) == 0 {
		return nil
	}
	if err := i.to.Append(ctx, i.target(key), i.batch); err != nil {
		return err
	}
	i.progress.Entries += len(i.batch)
	i.batch, i.bytes = nil, 0
	i.reportProgress()
	return nil
}

// copied returns the entries of a transcript that the destination already has, and the entry for
// its metadata file.
func (i *importer) copied(ctx context.Context, key wire.SessionKey) (there copies, sidecar wire.JSON, err error) {
	there = copies{}
	for entry, err := range withoutSidecar(key, i.to.Load(ctx, i.target(key)), &sidecar) {
		if err != nil {
			return nil, "", err
		}
		there.add(entry)
	}
	return there, sidecar, nil
}
