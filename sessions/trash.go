package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clewdev/clew/wire"
)

// A Trashed session is one that was deleted, and can be restored.
type Trashed struct {
	ID string
	// Project is the name of the project that had it.
	Project string
	// Title is what its [Summary.Title] was.
	Title   string
	Deleted time.Time
	// Path is that of the folder in which all that there was of it lies.
	Path string
}

// Delete takes a session away with its subagents. From files, that is all that the agent has kept of it there, and it goes
// into a trash folder, from which [Restore] brings it back: beside the folder of the projects, with -trash behind its
// name, and for the user alone. If it can't be moved there, that is an error, and the session stays where it is. Another
// store has no trash, and deletes it. See [Erase] for one that should be gone.
//
// A session that an agent has open should not be deleted: the agent would begin a new file with the rest.
func Delete(ctx context.Context, id string, opts *Options) error {
	p, key, err := opts.find(ctx, id)
	if err != nil {
		return err
	}
	folder, ok := p.store.(*Folder)
	if !ok {
		return p.store.Delete(ctx, key)
	}
	return folder.trash(ctx, key)
}

// Erase deletes a session with its subagents so that nothing is left of it.
func Erase(ctx context.Context, id string, opts *Options) error {
	p, key, err := opts.find(ctx, id)
	if err != nil {
		return err
	}
	return p.store.Delete(ctx, key)
}

// Trash returns the sessions that were deleted and can be restored, the last one first. Only a [Folder] has any.
func Trash(ctx context.Context, opts *Options) ([]Trashed, error) {
	found, err := opts.trashed(ctx)
	if err != nil {
		return nil, err
	}
	var all []Trashed
	for _, f := range found {
		all = append(all, f.Trashed)
	}
	return all, nil
}

// A foundTrash is a deleted session, and the folder in whose trash it is.
type foundTrash struct {
	Trashed
	folder *Folder
}

// trashed returns the deleted sessions, the last one first.
func (o *Options) trashed(ctx context.Context) ([]foundTrash, error) {
	all, err := o.places(true)
	if err != nil {
		return nil, err
	}
	var found []foundTrash
	for _, p := range all {
		folder, ok := p.store.(*Folder)
		if !ok {
			continue
		}
		trashed, err := folder.trashed(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range trashed {
			if len(p.names) == 0 || p.wants(t.Project) {
				found = append(found, foundTrash{t, folder})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b foundTrash) int { return b.Deleted.Compare(a.Deleted) })
	return found, nil
}

// Restore brings back the session of that ID that was deleted last. If there is one of that ID again, it is left alone,
// and that is an error.
func Restore(ctx context.Context, id string, opts *Options) error {
	if !isUUID(id) {
		return fmt.Errorf("sessions: %q is not the ID of a session", id)
	}
	trashed, err := opts.trashed(ctx)
	if err != nil {
		return err
	}
	for _, t := range trashed {
		if t.ID == id {
			return t.folder.restore(ctx, t.Trashed)
		}
	}
	return fmt.Errorf("sessions: session %s: %w in the trash", id, ErrNotFound)
}

// EmptyTrash erases the sessions that were deleted before a time, and all that were deleted if it is zero.
func EmptyTrash(ctx context.Context, before time.Time, opts *Options) error {
	trashed, err := opts.trashed(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, t := range trashed {
		if before.IsZero() || t.Deleted.Before(before) {
			failed = append(failed, t.folder.erase(ctx, t.Trashed))
		}
	}
	return errors.Join(failed...)
}

// key is that of the session's own transcript.
func (t Trashed) key() wire.SessionKey { return wire.SessionKey{Project: t.Project, SessionID: t.ID} }
