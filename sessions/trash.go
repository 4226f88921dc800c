package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A TrashedSession is a deleted session that can be restored.
type TrashedSession struct {
	// ID is the ID of the session, for [Restore].
	ID string
	// Project is the name of the project that the session was in.
	Project string
	// Title is the [Summary.Title] that the session had, or "".
	Title string
	// Deleted is the time of the call to [Delete].
	Deleted time.Time
	// Path is the path of the directory that has the files of the session.
	Path string
}

// Delete removes a session and its subagents. In a [Folder], which includes the agent's own files,
// it moves all files of the session to a trash directory, from which [Restore] brings them back.
// The trash is next to the directory of the projects, with "-trash" added to its name, such as
// ~/.claude/projects-trash, and only the user can read it. If the files can't be moved, as in a
// project that is a symbolic link, Delete returns an error and the session stays where it is.
//
// Other stores have no trash, and delete the session for good. To do that in a Folder, use [Erase].
//
// Don't delete a session that an agent has open: the agent would write the rest to a new file.
//
//	err := sessions.Delete(ctx, id, nil)
//	…
//	err = sessions.Restore(ctx, id, nil) // the user has changed their mind
func Delete(ctx context.Context, id string, opts *Options) error {
	s, key, err := opts.findToChange(ctx, id)
	if err != nil {
		return err
	}
	folder, ok := s.store.(*Folder)
	if !ok {
		return s.store.Delete(ctx, key)
	}
	return folder.trash(ctx, key)
}

// Erase deletes a session and its subagents for good, without moving them to the trash. Use it for
// sessions that contain secrets. Like [Delete], it returns an error that wraps [ErrNotFound] if
// there is no such session. A session that is already in the trash is erased by [EmptyTrash].
//
//	err := sessions.Erase(ctx, id, nil) // can't be undone
func Erase(ctx context.Context, id string, opts *Options) error {
	s, key, err := opts.findToChange(ctx, id)
	if err != nil {
		return err
	}
	return s.store.Delete(ctx, key)
}

// Trash returns the deleted sessions that can be restored, the last deleted first. Only a [Folder]
// has a trash; with another store, the list is empty.
//
//	trashed, err := sessions.Trash(ctx, nil)
//	if err != nil {
//		return err
//	}
//	for _, t := range trashed {
//		fmt.Println(t.Deleted, t.ID, t.Title)
//	}
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

// A foundTrash is a deleted session, and the store that has it in its trash.
type foundTrash struct {
	TrashedSession
	folder *Folder
}

// trashed returns the deleted sessions, the last deleted first.
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

// Restore moves the session with that ID back from the trash, to the project that it was in. If it
// was deleted more than once, the last one is restored. If the project has another session with that
// ID again, Restore returns an error that wraps [fs.ErrExist] and changes nothing, even if another
// process creates the session at the same time. A transcript that is empty, or has nothing but the
// start of the deleted one, does not count as another session. If there is no such session in the
// trash, the error wraps [ErrNotFound].
//
// If Restore fails half-way, the session stays in the trash as well, and the next Restore continues.
// On a file system without hard links, Restore copies the transcript. Don't resume the session until
// Restore returns.
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

// EmptyTrash erases the sessions that were deleted before a given time. The zero time means all
// deleted sessions. If some can't be erased, it erases the others and returns the errors.
//
//	err := sessions.EmptyTrash(ctx, time.Now().AddDate(0, 0, -30), nil) // older than 30 days
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

// key returns the key of the session's main transcript.
func (t TrashedSession) key() wire.SessionKey {
	return wire.SessionKey{Project: t.Project, SessionID: t.ID}
}

// trashRecordName is the name of the file that describes a deleted session, in the directory that
// has its files.
const trashRecordName = "deleted.json"

// A trashRecord is the content of that file.
type trashRecord struct {
	Project   string    `json:"project"`
	SessionID string    `json:"session_id"`
	Title     string    `json:"title,omitempty"`
	Deleted   time.Time `json:"deleted"`
}

// A trashDir is the trash of a Folder. It has the same parent directory as the Folder, so that
// files are moved without being copied:
//
//	projects/-home-me-code/SESSION.jsonl
//	projects/-home-me-code/SESSION/subagents/...
//	projects-trash/20260102T150405.000000000Z-SESSION/deleted.json
//	projects-trash/20260102T150405.000000000Z-SESSION/SESSION.jsonl
//	projects-trash/20260102T150405.000000000Z-SESSION/SESSION/subagents/...
//
// Several processes may delete and restore a session, and append to it, at the same time. No lock
// covers all of that: the agent would not ask for it. Instead, each step keeps every file:
//
//   - Delete moves the transcript to a new directory, and then the session's directory. Of two
//     processes that delete, only one can move the transcript.
//   - Restore first puts the transcript back, then the session's directory, and then removes the
//     transcript from the trash. It puts the transcript back with a hard link, which never replaces
//     a file. If there is a file already, or the file system has no hard links, it appends the
//     transcript to that file or to a new one, provided that the file is empty or starts like the
//     transcript. See [trashDir.copyBack].
//
// So nothing below projects is ever replaced, cut or removed, and the trash loses a transcript only
// when a file below projects has all of it. After a crash at any step, the trash still lists the
// session, and Restore completes: a transcript or directory that is back already stays.
//
// Concurrent writes have these effects:
//
//   - [Folder.Append] loses nothing. It looks whether its file still has its name, and otherwise
//     appends once more. So an entry can be both in the trash and in the session.
//   - A process that does not look, such as the agent, loses a line only if it opens the file before
//     a Delete and writes to it after [EmptyTrash], or during or after a Restore without hard links.
//     A line that it writes before is in the trash, and comes back with the session.
//   - Without hard links, lines that are appended during a Restore can stand before the restored
//     ones. Readers then see a part of the session for as long as one write takes.
//   - If a Delete and a Restore of an older deletion of the same session run at the same time, the
//     directories of the two may be exchanged.
type trashDir struct {
	*os.Root        // of the parent directory
	projects string // the name of the Folder in the parent
	trash    string // the name of the trash in the parent
	link     func(from, to string) error
	step     func(name string)
}

// openTrash opens the trash. It returns nil if the parent directory does not exist.
func (f *Folder) openTrash() (*trashDir, error) {
	dir, err := filepath.EvalSymlinks(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = f.dir, nil // there may still be a trash
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
	b := &trashDir{Root: root, projects: name, trash: name + "-trash", link: root.Link, step: f.at}
	if f.link != nil {
		b.link = f.link
	}
	return b, nil
}

// trash moves a session into the trash.
func (f *Folder) trash(ctx context.Context, key wire.SessionKey) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
	summary, _, _ := f.summary(ctx, key) // the title is optional
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

// moveIn moves a session to a new directory in the trash, together with its record. If the session's
// directory can't be moved, it puts the transcript back.
func (b *trashDir) moveIn(key wire.SessionKey, d trashRecord) error {
	if info, err := b.Lstat(path.Join(b.projects, key.Project)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("the project is a symbolic link, so its sessions can't be moved to the trash; use Erase to delete them")
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	dir := path.Join(b.trash, d.Deleted.Format("20060102T150405.000000000Z")+"-"+key.SessionID)
	if err := b.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	defer b.removeIfEmpty(dir)
	if err := b.WriteFile(path.Join(dir, trashRecordName), text, 0o600); err != nil {
		return err
	}
	from, to := b.livePaths(key), b.trashPaths(dir, key)
	b.step("delete: move transcript")
	if err := b.Rename(from.file, to.file); err != nil {
		return err
	}
	b.step("delete: move directory")
	if err := b.moveDir(from.dir, to.dir); err != nil {
		return errors.Join(err, b.putBack(to.file, from.file), b.Remove(to.file))
	}
	return nil
}

// moveDir moves a directory, if it exists.
func (b *trashDir) moveDir(from, to string) error {
	err := b.Rename(from, to)
	if err != nil && !b.exists(from) {
		return nil
	}
	return err
}

// removeIfEmpty removes a directory of the trash that has nothing but a record. It never removes
// files of a session.
func (b *trashDir) removeIfEmpty(dir string) {
	if entries, err := fs.ReadDir(b.FS(), dir); err == nil && len(entries) == 1 && entries[0].Name() == trashRecordName {
		_ = b.Remove(path.Join(dir, trashRecordName))
		_ = b.Remove(dir)
	}
}

// A sessionPaths has the names of a session's main transcript and of the directory with its other
// files, which need not exist.
type sessionPaths struct{ file, dir string }

// livePaths returns the paths of a session that is not deleted.
func (b *trashDir) livePaths(key wire.SessionKey) sessionPaths {
	return sessionPaths{path.Join(b.projects, sessionfile.Path(key)), path.Join(b.projects, key.String())}
}

// trashPaths returns the paths of a deleted session in a directory of the trash.
func (b *trashDir) trashPaths(dir string, key wire.SessionKey) sessionPaths {
	return sessionPaths{path.Join(dir, key.SessionID+".jsonl"), path.Join(dir, key.SessionID)}
}

// trashed returns the sessions in the trash of this Folder.
func (f *Folder) trashed(ctx context.Context) ([]TrashedSession, error) {
	b, err := f.openTrash()
	if b == nil {
		return nil, err
	}
	defer b.Close()
	entries, err := fs.ReadDir(b.FS(), b.trash)
	if ignoreNotExist(err) != nil {
		return nil, fmt.Errorf("sessions: reading trash: %w", err)
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

// trashedIn returns the session in a directory of the trash. It returns false if this package did
// not put it there.
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
	if !newid.IsUUID(t.ID) || t.key().Check() != nil || checkRegular(b.Root, b.trashPaths(dir, t.key()).file) != nil {
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

// moveOut moves the files of a session back to where they were.
func (b *trashDir) moveOut(dir string, key wire.SessionKey) error {
	from, to := b.trashPaths(dir, key), b.livePaths(key)
	if err := b.MkdirAll(path.Dir(to.file), 0o700); err != nil {
		return err
	}
	if b.exists(from.dir) && b.exists(to.dir) {
		return existsError(to.dir)
	}
	if err := b.putBack(from.file, to.file); err != nil {
		return err
	}
	b.step("restore: move directory")
	if err := b.moveDir(from.dir, to.dir); err != nil {
		return err
	}
	b.step("restore: remove transcript")
	err := ignoreNotExist(b.Remove(from.file))
	b.removeIfEmpty(dir)
	return err
}

// existsError returns an error for a restore whose destination exists.
func existsError(name string) error {
	return fmt.Errorf("there is another session with this ID, in %s: %w", name, fs.ErrExist)
}

// same reports whether two names refer to one file.
func (b *trashDir) same(one, other string) bool {
	info, err := b.Lstat(one)
	otherInfo, otherErr := b.Lstat(other)
	return err == nil && otherErr == nil && os.SameFile(info, otherInfo)
}

// exists reports whether there is a file or directory of that name.
func (b *trashDir) exists(name string) bool {
	_, err := b.Lstat(name)
	return err == nil
}

// putBack gives a transcript of the trash its old name as well. If another file has that name, or
// the file system has no hard links, it copies the content.
func (b *trashDir) putBack(from, to string) error {
	b.step("restore: link")
	if err := b.link(from, to); err == nil || b.same(from, to) {
		return nil
	}
	return b.copyBack(from, to)
}

// copyBack appends the rest of a transcript to a file that has the start of it, or nothing. It creates
// the file if it is missing. A lock keeps two processes from doing the same at once. It writes with a
// single call, so that lines of others come before or after, and leaves the file as it is if
// that fails: the next restore continues.
func (b *trashDir) copyBack(from, to string) (err error) {
	if info, err := b.Lstat(to); err == nil && !info.Mode().IsRegular() {
		return existsError(to)
	}
	b.step("copy: open")
	file, err := b.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	b.step("copy: lock")
	if err := files.TryLockFile(file); err != nil {
		return fmt.Errorf("%s can't be locked, perhaps because another process restores it: %w", to, err)
	}
	b.step("copy: compare")
	info, err := b.Stat(from)
	if err != nil {
		return err
	}
	text, err := b.ReadFile(from)
	if err != nil {
		return err
	}
	present, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(text, present) {
		return existsError(to)
	}
	b.step("copy: write")
	if _, err := file.Write(text[len(present):]); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	b.step("copy: compare names")
	if !hasName(b.Root, file, to) {
		return errMoved
	}
	_ = b.Chtimes(to, info.ModTime(), info.ModTime()) // lists are sorted by it
	return nil
}

// erase removes a session from the trash.
func (f *Folder) erase(ctx context.Context, t TrashedSession) error {
	b, err := f.openTrash()
	if err = errors.Join(err, ctx.Err()); err != nil || b == nil {
		return err
	}
	defer b.Close()
	if err := b.RemoveAll(path.Join(b.trash, filepath.Base(t.Path))); err != nil {
		return fmt.Errorf("sessions: reading trash: %w", err)
	}
	return nil
}
