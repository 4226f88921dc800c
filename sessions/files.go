package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A File is one of the files that a session is made of: its transcript, the transcript of a subagent, or a spill, which
// is a long result of a tool that the agent has put into a file of its own.
type File struct {
	Path    string
	Project string
	// SessionID is empty for the transcript of a subagent that lies beside those of sessions, as older agents have put it:
	// its entries name the session.
	SessionID string
	// AgentID is that of the subagent, or empty.
	AgentID string
	Spill   bool
	// Info is what the file system said of the file when it was found.
	Info fs.FileInfo
}

// Files returns all files of all sessions that opts mean, in no order that can be relied on. Transcripts of compactions
// are left out, since they repeat a conversation, and so is what is not a regular file. Nothing is opened but folders. An
// error is the last pair; what could not be read did not keep the rest from being found. The store must be a [*Folder] or
// nil, and opts may be nil.
func Files(ctx context.Context, opts *Options) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		w := fileWalk{ctx: ctx, yield: yield}
		where, err := opts.places(true)
		for _, p := range where {
			if err == nil {
				err = w.place(p)
			}
		}
		if err = errors.Join(append(w.faults, err)...); err != nil && !w.left {
			yield(File{}, err)
		}
	}
}

// A fileWalk goes through folders.
type fileWalk struct {
	ctx    context.Context
	yield  func(File, error) bool
	left   bool // the loop was left
	faults []error
}

func (w *fileWalk) place(p place) error {
	folder, ok := p.store.(*Folder)
	if !ok {
		return errors.New("sessions: the store has no files")
	}
	for _, project := range w.read(folder.dir) {
		if !project.IsDir() || len(p.names) > 0 && !p.wants(project.Name()) {
			continue
		}
		if err := w.project(filepath.Join(folder.dir, project.Name()), project.Name()); err != nil {
			return err
		}
	}
	return nil
}

// project goes through the folder of a project.
func (w *fileWalk) project(dir, project string) error {
	for _, entry := range w.read(dir) {
		name := entry.Name()
		f := File{Project: project, SessionID: strings.TrimSuffix(name, transcriptExtension)}
		switch agent, isAgent := strings.CutPrefix(f.SessionID, agentPrefix); {
		case entry.IsDir() && isUUID(name):
			if err := w.session(filepath.Join(dir, name), f); err != nil {
				return err
			}
			continue
		case isAgent:
			f.SessionID, f.AgentID = "", agent
		}
		if err := w.transcript(dir, entry, f); err != nil {
			return err
		}
	}
	return nil
}

// session goes through the folder of a session, whose files are like the one given.
func (w *fileWalk) session(dir string, like File) error {
	if err := w.below(filepath.Join(dir, agentFolder), func(dir string, entry fs.DirEntry) error {
		f := like
		f.AgentID = strings.TrimPrefix(strings.TrimSuffix(entry.Name(), transcriptExtension), agentPrefix)
		if !strings.HasPrefix(entry.Name(), agentPrefix) {
			return nil
		}
		return w.transcript(dir, entry, f)
	}); err != nil {
		return err
	}
	like.Spill = true
	return w.below(filepath.Join(dir, spillFolder), func(dir string, entry fs.DirEntry) error {
		return w.found(dir, entry, like)
	})
}

// below visits the files of a folder, at any depth.
func (w *fileWalk) below(dir string, visit func(dir string, entry fs.DirEntry) error) error {
	for _, entry := range w.read(dir) {
		var err error
		if entry.IsDir() {
			err = w.below(filepath.Join(dir, entry.Name()), visit)
		} else {
			err = visit(dir, entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *fileWalk) transcript(dir string, entry fs.DirEntry, f File) error {
	if path.Ext(entry.Name()) != transcriptExtension || strings.HasPrefix(entry.Name(), compactionPrefix) {
		return nil
	}
	return w.found(dir, entry, f)
}

// found hands out a file, unless it is gone or no regular one.
func (w *fileWalk) found(dir string, entry fs.DirEntry, f File) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if !entry.Type().IsRegular() {
		return nil
	}
	f.Path = filepath.Join(dir, entry.Name())
	var err error
	if f.Info, err = entry.Info(); err != nil {
		w.fault(err)
		return nil
	}
	if !w.yield(f, nil) {
		w.left = true
		return errLeft
	}
	return nil
}

// read returns what is in a folder, as far as it can be read.
func (w *fileWalk) read(dir string) []fs.DirEntry {
	entries, err := os.ReadDir(dir)
	w.fault(err)
	return entries
}

// fault notes an error. What is gone is none.
func (w *fileWalk) fault(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.faults = append(w.faults, fmt.Errorf("sessions: %w", err))
	}
}
