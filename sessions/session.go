package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Session is a recorded session in files, open for reading. Use it to read single entries and
// long tool results after [Session.Read]. Its methods may be called from several goroutines.
//
//	s, err := sessions.Open(ctx, id, nil)
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	t, err := s.Read(ctx, nil)
type Session struct {
	// SessionInfo describes the session at the time it was opened.
	SessionInfo

	files *sessionFiles
}

// Open opens a session for reading. The session must be in files: the agent's own or a [Folder]'s.
// The caller has to close it. If there is no such session, the error wraps [ErrNotFound].
func Open(ctx context.Context, id string, opts *Options) (*Session, error) {
	s, key, at, err := opts.findWithTime(ctx, id)
	if err != nil {
		return nil, err
	}
	folder, ok := s.store.(*Folder)
	if !ok {
		return nil, fmt.Errorf("sessions: opening session %s: the store, a %T, does not keep files", id, s.store)
	}
	info := SessionInfo{ID: id, Project: key.Project, Modified: at, Job: folder.job(key.Project)}
	if s.fill(ctx, &info); info.Err != nil {
		return nil, info.Err
	}
	project, err := os.OpenRoot(filepath.Join(folder.dir, key.Project))
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	return &Session{SessionInfo: info, files: &sessionFiles{root: project, name: id}}, nil
}

// Path returns the path of the session's main transcript. It is the same as [SessionInfo.Path].
func (s *Session) Path() string { return s.SessionInfo.Path }

// Close closes the directory of the session. Transcripts and entries that were read remain valid.
// Methods that read files return errors after it.
func (s *Session) Close() error { return s.files.root.Close() }

// Read reads the session as it is now, with its subagents under the items that started them. It
// uses only opts.Read, opts.OnlyMain and opts.Progress; opts may be nil. See the function [Read].
func (s *Session) Read(ctx context.Context, opts *ReadOptions) (*transcript.Transcript, error) {
	return s.files.read(ctx, opts)
}

// Entry reads one entry again, for example to get a structured tool result that is longer than
// [transcript.ReadOptions.MaxResultBytes]. at is a position that the transcript gave, such as
// [transcript.DisplayItem.ResultAt]. agent is the ID of the subagent that has the entry in its
// transcript, or "" for the session's main transcript.
//
// If the file changed since, the entry may be another one, or an error. If there is no such
// subagent, the error wraps [ErrNotFound].
//
//	_, err := item.Result()
//	if errors.Is(err, transcript.ErrNotKept) {
//		entry, err := s.Entry(ctx, "", item.ResultAt)
//		…
//	}
func (s *Session) Entry(ctx context.Context, agent string, at wire.Position) (transcript.Entry, error) {
	name := s.files.name + transcriptExtension
	if agent != "" {
		var err error
		if name, err = s.files.agentFile(ctx, agent); err != nil {
			return transcript.Entry{}, err
		}
	}
	line, err := s.files.line(name, at)
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("sessions: line %d of %s: %w", at.Line, name, err)
	}
	entry, err := transcript.DecodeEntry(line)
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("sessions: line %d of %s: %w", at.Line, name, err)
	}
	entry.Position = at
	return entry, nil
}

// line reads a line of a file by its position.
func (f *sessionFiles) line(name string, at wire.Position) ([]byte, error) {
	if at.Offset < 0 || at.Bytes <= 0 || at.Bytes > maxEntry {
		return nil, fmt.Errorf("invalid position: %d bytes at offset %d", at.Bytes, at.Offset)
	}
	file, _, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	line := make([]byte, at.Bytes)
	if _, err := file.ReadAt(line, at.Offset); err != nil {
		return nil, err
	}
	return bytes.Trim(line, "\x00\r\n"), nil
}

// maxSpill is the size of the largest result that [Session.Spill] reads.
const maxSpill = 16 << 20

// Spill reads a long tool result that the agent saved to a separate file. name is its path as the
// transcript has it, or just its name. Whatever the path, Spill only reads files in the session's
// directory of results, so it is safe to pass a path from a transcript that somebody else wrote. A
// file longer than 16 MiB is an error.
//
//	if path, ok := transcript.SpillPath(&item); ok {
//		output, err := s.Spill(path)
//		…
//	}
func (s *Session) Spill(name string) ([]byte, error) {
	content, err := s.files.spill(name)
	if err != nil {
		return nil, fmt.Errorf("sessions: reading tool result %q: %w", name, err)
	}
	return content, nil
}

// spillFolder is the directory of results, in the directory of the session.
const spillFolder = "tool-results"

// spill reads a file in the directory of results. It opens that directory as a root, so that no
// path or link leads out of it.
func (f *sessionFiles) spill(name string) ([]byte, error) {
	rel, err := f.spillName(name)
	if err != nil {
		return nil, err
	}
	results, err := f.root.OpenRoot(path.Join(f.name, spillFolder))
	if err != nil {
		return nil, err
	}
	defer results.Close()
	if err := checkRegular(results, rel); err != nil {
		return nil, err
	}
	file, err := results.Open(rel)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSpill+1))
	if err == nil && len(content) > maxSpill {
		err = errors.New("file is longer than 16 MiB")
	}
	return content, err
}

// spillName returns the name of a result in the directory of results. The path may come from
// another machine, from which the session was copied.
func (f *sessionFiles) spillName(name string) (string, error) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	folder := "/" + f.name + "/" + spillFolder + "/"
	if i := strings.LastIndex(slashed, folder); i >= 0 {
		return slashed[i+len(folder):], nil
	}
	if filepath.IsAbs(name) || path.IsAbs(slashed) || !fs.ValidPath(slashed) {
		return "", errors.New("not a file of this session")
	}
	return slashed, nil
}
