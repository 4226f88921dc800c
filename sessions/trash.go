package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A Trashed session is one that was deleted, and can be restored.
type TrashedSession struct {
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
	s, key, err := opts.find(ctx, id)
	if err != nil {
		return err
	}
	folder, ok := s.store.(*Folder)
	if !ok {
		return s.store.Delete(ctx, key)
	}
	return folder.trash(ctx, key)
}

// Erase deletes a session with its subagents so that nothing is left of it.
func Erase(ctx context.Context, id string, opts *Options) error {
	s, key, err := opts.find(ctx, id)
	if err != nil {
		return err
	}
	return s.store.Delete(ctx, key)
}

// Trash returns the sessions that were deleted and can be restored, the last one first. Only a [Folder] has any.
func Trash(ctx context.Context, opts *Options) ([]TrashedSession, error) {
	found, err := opts.trashed(ctx)
	if err != nil {
		return nil, err
	}
	var all []TrashedSession
	for _, f := range found {
		all = append(all, f.TrashedSession)
	}
	return all, nil
}

// A foundTrash is a deleted session, and the folder in whose trash it is.
type foundTrash struct {
	TrashedSession
	folder *Folder
}

// trashed returns the deleted sessions, the last one first.
func (o *Options) trashed(ctx context.Context) ([]foundTrash, error) {
	all, err := o.scopes(true)
	if err != nil {
		return nil, err
	}
	var found []foundTrash
	for _, s := range all {
		folder, ok := s.store.(*Folder)
		if !ok {
			continue
		}
		trashed, err := folder.trashed(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range trashed {
			if len(s.names) == 0 || s.wants(t.Project) {
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
	if err := checkID(id); err != nil {
		return err
	}
	trashed, err := opts.trashed(ctx)
	if err != nil {
		return err
	}
	for _, t := range trashed {
		if t.ID == id {
			return t.folder.restore(ctx, t.TrashedSession)
		}
	}
	return &notFoundError{"session " + id, "the trash"}
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
			failed = append(failed, t.folder.erase(ctx, t.TrashedSession))
		}
	}
	return errors.Join(failed...)
}

// key is that of the session's own transcript.
func (t TrashedSession) key() wire.SessionKey {
	return wire.SessionKey{Project: t.Project, SessionID: t.ID}
}

// trashNote is the file in the folder of a deleted session that says where it was.
const trashRecordName = "deleted.json"

// A deletion is what trashNote has.
type trashRecord struct {
	Project   string    `json:"project"`
	SessionID string    `json:"session_id"`
	Title     string    `json:"title,omitempty"`
	Deleted   time.Time `json:"deleted"`
}

// A bin is a folder's trash. Both lie in the same parent folder, so that a session is moved without being copied.
type trashDir struct {
	*os.Root        // of the parent
	projects string // the names in there
	trash    string
}

// bin opens the trash. It returns nil if there is no folder.
func (f *Folder) openTrash() (*trashDir, error) {
	dir, err := filepath.EvalSymlinks(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = f.dir, nil // there may be a trash still
	}
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	root, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	name := filepath.Base(dir)
	return &trashDir{Root: root, projects: name, trash: name + "-trash"}, nil
}

// trash moves a session into the trash.
func (f *Folder) trash(ctx context.Context, key wire.SessionKey) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
	summary, _, _ := f.summary(ctx, key) // without a title, it goes as well
	f.deletes.Lock()
	defer f.deletes.Unlock()
	b, err := f.openTrash()
	if b == nil {
		return err
	}
	defer b.Close()
	f.indexes.forgetSession(key)
	if err := b.moveIn(key, trashRecord{key.Project, key.SessionID, summary.Title(), time.Now().UTC()}); err != nil {
		return fmt.Errorf("sessions: delete %s: %w", key, err)
	}
	return nil
}

// take moves a session into a folder of its own, with a note. The transcript of the session itself goes last: without it,
// nobody would find the rest.
func (b *trashDir) moveIn(key wire.SessionKey, d trashRecord) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	dir := path.Join(b.trash, d.Deleted.Format("20060102T150405.000000000Z")+"-"+key.SessionID)
	if err := b.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err = b.WriteFile(path.Join(dir, trashRecordName), text, 0o600)
	if err == nil {
		err = b.move(b.livePaths(key), b.trashPaths(dir, key))
	}
	if err != nil {
		b.removeIfEmpty(dir)
	}
	return err
}

// clear removes a folder of the trash in which there is nothing but the note. What is left of a session stays.
func (b *trashDir) removeIfEmpty(dir string) {
	if entries, err := fs.ReadDir(b.FS(), dir); err == nil && len(entries) == 1 && entries[0].Name() == trashRecordName {
		_ = b.Remove(path.Join(dir, trashRecordName))
		_ = b.Remove(dir)
	}
}

// A pair are the names of a session's transcript and of the folder with the rest, which may not be there.
type sessionPaths struct{ file, rest string }

// at is where a session lies.
func (b *trashDir) livePaths(key wire.SessionKey) sessionPaths {
	return sessionPaths{path.Join(b.projects, sessionfile.Path(key)), path.Join(b.projects, key.String())}
}

// in is where a deleted session lies.
func (b *trashDir) trashPaths(dir string, key wire.SessionKey) sessionPaths {
	return sessionPaths{path.Join(dir, key.SessionID+".jsonl"), path.Join(dir, key.SessionID)}
}

// move moves both or none.
func (b *trashDir) move(from, to sessionPaths) error {
	rest := b.Rename(from.rest, to.rest)
	if ignoreNotExist(rest) != nil {
		return rest
	}
	err := b.Rename(from.file, to.file)
	if err != nil && rest == nil {
		err = errors.Join(err, b.Rename(to.rest, from.rest))
	}
	return err
}

// trashed returns the sessions in the trash.
func (f *Folder) trashed(ctx context.Context) ([]TrashedSession, error) {
	b, err := f.openTrash()
	if b == nil {
		return nil, err
	}
	defer b.Close()
	entries, err := fs.ReadDir(b.FS(), b.trash)
	if ignoreNotExist(err) != nil {
		return nil, fmt.Errorf("sessions: the trash: %w", err)
	}
	var found []TrashedSession
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if t, ok := b.trashedIn(entry.Name()); ok {
			found = append(found, t)
		}
	}
	return found, nil
}

// trashedIn returns the session in a folder of the trash. What has no note of this package is none.
func (b *trashDir) trashedIn(name string) (TrashedSession, bool) {
	dir := path.Join(b.trash, name)
	text, err := b.ReadFile(path.Join(dir, trashRecordName))
	var d trashRecord
	if err != nil || json.Unmarshal(text, &d) != nil {
		return TrashedSession{}, false
	}
	t := TrashedSession{
		ID: d.SessionID, Project: d.Project, Title: d.Title, Deleted: d.Deleted,
		Path: filepath.Join(b.Name(), filepath.FromSlash(dir)),
	}
	if !isUUID(t.ID) || t.key().Check() != nil || checkRegular(b.Root, b.trashPaths(dir, t.key()).file) != nil {
		return TrashedSession{}, false
	}
	return t, true
}

// restore moves a session out of the trash.
func (f *Folder) restore(ctx context.Context, t TrashedSession) error {
	f.deletes.Lock()
	defer f.deletes.Unlock()
	b, err := f.openTrash()
	if err == nil && b == nil {
		err = fs.ErrNotExist
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("sessions: restore %s: %w", t.key(), err)
	}
	defer b.Close()
	f.indexes.forgetSession(t.key())
	dir := path.Join(b.trash, filepath.Base(t.Path))
	if err := b.moveOut(dir, t.key()); err != nil {
		return fmt.Errorf("sessions: restore %s: %w", t.key(), err)
	}
	return nil
}

func (b *trashDir) moveOut(dir string, key wire.SessionKey) error {
	to := b.livePaths(key)
	if err := b.MkdirAll(path.Dir(to.file), 0o700); err != nil {
		return err
	}
	if err := b.reserve(to.file); err != nil {
		return err
	}
	err := b.moveBack(b.trashPaths(dir, key), to)
	if err != nil {
		b.unreserve(to.file)
		return err
	}
	b.removeIfEmpty(dir)
	return nil
}

func (b *trashDir) moveBack(from, to sessionPaths) error {
	if _, err := b.Lstat(to.rest); err == nil {
		return fmt.Errorf("%s: %w", to.rest, fs.ErrExist)
	}
	return b.move(from, to)
}

// reserve makes an empty file, which counts as no session, so that nobody else can make one of that name, or takes one
// that is there.
func (b *trashDir) reserve(name string) error {
	file, err := b.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return file.Close()
	}
	if b.empty(name) {
		return nil
	}
	return err
}

// release removes a file that was reserved, unless somebody has written to it.
func (b *trashDir) unreserve(name string) {
	if b.empty(name) {
		_ = b.Remove(name)
	}
}

func (b *trashDir) empty(name string) bool {
	info, err := b.Lstat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// erase removes a session from the trash.
func (f *Folder) erase(ctx context.Context, t TrashedSession) error {
	b, err := f.openTrash()
	if err = errors.Join(err, ctx.Err()); err != nil || b == nil {
		return err
	}
	defer b.Close()
	if err := b.RemoveAll(path.Join(b.trash, filepath.Base(t.Path))); err != nil {
		return fmt.Errorf("sessions: the trash: %w", err)
	}
	return nil
}
