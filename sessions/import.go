package sessions

import (
	"cmp"
	"context"
	"errors"

	"github.com/clewdev/clew/wire"
)

// The limits of what an import appends at once.
const (
	maxBatchEntries = 500
	maxBatchBytes   = 1 << 20
)

// ImportOptions say what to import. Nil and the zero value mean a session of the agent's own folder.
type ImportOptions struct {
	// Store, Project and ProjectName are those of [Options], of the session to copy.
	Store       Store
	Project     string
	ProjectName string
	// IntoProject is the name of the project in dst, such as clew.Options.StoreProject. Empty means that of the session.
	IntoProject string
	// Progress is called after each append, and for each line that is left out since it is not an entry.
	Progress func(ImportProgress)
}

// ImportProgress says how far an import has come.
type ImportProgress struct {
	// Key is the transcript that is copied at the moment.
	Key wire.SessionKey
	// Entries is how many entries of all transcripts were copied or were there already.
	Entries int
	// Skipped is the line that was left out, or nil.
	Skipped *SkippedLine
}

// Import copies a session with its subagents into dst, under the same ID. It appends up to 500 entries or 1 MiB at a
// time. It can be repeated, after an error or since the session has grown, and it adds what a store has lost of a
// session while that ran: what is there already is not copied again. Lines of a file that are not entries are left out,
// and reported.
func Import(ctx context.Context, dst Store, id string, opts *ImportOptions) error {
	if dst == nil {
		return errors.New("sessions: no store to import into")
	}
	if opts == nil {
		opts = new(ImportOptions)
	}
	s, key, err := (&Options{Store: opts.Store, Project: opts.Project, ProjectName: opts.ProjectName}).find(ctx, id)
	if err != nil {
		return err
	}
	subpaths, err := s.store.Subpaths(ctx, key)
	if err != nil {
		return err
	}
	i := &importer{from: s.store, to: dst, project: cmp.Or(opts.IntoProject, key.Project), report: opts.Progress}
	for _, key.Subpath = range append([]string{""}, subpaths...) {
		if err := i.transcript(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// An importing is an import on its way.
type importer struct {
	from, to Store
	project  string // in to
	report   func(ImportProgress)
	progress ImportProgress
	batch    []wire.JSON
	bytes    int
}

// target is where a transcript is copied to.
func (i *importer) target(key wire.SessionKey) wire.SessionKey {
	key.Project = i.project
	return key
}

func (i *importer) reportProgress() {
	if i.report != nil {
		i.report(i.progress)
	}
}

// skipped reports a line that is not an entry, to the folder if nobody else wants to know.
func (i *importer) skipped(l SkippedLine) {
	if folder, ok := i.from.(*Folder); ok && i.report == nil {
		folder.skip(l)
	}
	i.progress.Skipped = &l
	i.reportProgress()
	i.progress.Skipped = nil
}

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

// add puts an entry into the batch, and appends that first if it is full.
func (i *importer) add(ctx context.Context, key wire.SessionKey, entry wire.JSON) error {
	if len(i.batch) == maxBatchEntries || len(i.batch) > 0 && i.bytes+len(entry) > maxBatchBytes {
		if err := i.flush(ctx, key); err != nil {
			return err
		}
	}
	i.batch = append(i.batch, entry)
	i.bytes += len(entry)
	return nil
}

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

// there returns what the store has of a transcript already, and what stands there for the file beside it.
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
