package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/transcript"
)

// partSize is how much of a transcript one goroutine reads at once. A large transcript is cut, so that it does not keep
// one goroutine at work when all others are done.
const partSize = 4 << 20

// A usagePart is a part of a transcript: the lines that begin from start on and before end.
type usagePart struct {
	root       *os.Root
	dir        string // the path of root
	name       string // of the file in root, with slashes
	start, end int64

	project, session, agent string

	begun time.Time // the time of the transcript's first line that has one
	lines int       // how many were read
}

// compactionPrefix is that of the files of compactions, which repeat a conversation.
const compactionPrefix = "agent-acompact-"

// newUsagePart tells whose transcript lies at a path below a folder of projects. It returns false if there is none that
// counts.
func newUsagePart(name string) (usagePart, bool) {
	elements := strings.Split(name, "/")
	base, ok := strings.CutSuffix(elements[len(elements)-1], ".jsonl")
	if !ok || strings.HasPrefix(base, compactionPrefix) {
		return usagePart{}, false
	}
	p := usagePart{name: name, project: elements[0]}
	switch agent, isAgent := strings.CutPrefix(base, "agent-"); {
	case len(elements) == 2 && isAgent: // older agents put those of subagents beside that of the session
		p.agent = agent
	case len(elements) == 2:
		p.session = base
	case len(elements) > 3 && elements[2] == "subagents":
		p.session, p.agent = elements[1], agent
	default:
		return usagePart{}, false
	}
	return p, true
}

// place says in a call where it was found.
func (p *usagePart) place(c transcript.Call) transcript.Call {
	c.Project = p.project
	c.SessionID = cmp.Or(p.session, c.SessionID)
	if p.agent != "" {
		c.AgentID, c.Sidechain = p.agent, true
	}
	c.Forked = c.Forked || c.Time.Before(p.begun)
	return c
}

// begin notes when the transcript begins. The agent starts a fork with lines of its own, and copies older ones behind
// them.
func (p *usagePart) begin(line []byte) {
	if !p.begun.IsZero() {
		return
	}
	text, _ := jsonlex.Unquote(jsonlex.Lookup(line, 0, "timestamp"))
	p.begun, _ = time.Parse(time.RFC3339, string(text))
}

// findBegin is begin for a part that does not have the first lines.
func (p *usagePart) findBegin(file io.ReaderAt) {
	for l, err := range readLines(io.NewSectionReader(file, 0, window)) {
		if err != nil || !p.begun.IsZero() {
			return
		}
		p.begin(l.text)
	}
}

func (p *usagePart) path() string { return filepath.Join(p.dir, filepath.FromSlash(p.name)) }

// open opens the file if it is one: to open a pipe would block.
func (p *usagePart) open() (*os.File, error) {
	if err := regular(p.root, p.name); err != nil {
		return nil, p.fault(err)
	}
	file, err := p.root.Open(p.name)
	return file, p.fault(err)
}

// fault says whose error that is.
func (p *usagePart) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sessions: %s: %w", p.path(), err)
}

// list adds the transcripts of a folder to the run.
func (run *usageRun) list(ctx context.Context, in place) error {
	folder := in.store.(*Folder) //nolint:forcetypeassert // it was asked before
	root, err := folder.root()
	if root == nil {
		return err
	}
	run.roots = append(run.roots, root)
	projects := []string{"."}
	if len(in.names) > 0 {
		if projects, err = in.projects(ctx); err != nil {
			return err
		}
	}
	for _, project := range projects {
		if err := run.walk(ctx, usagePart{root: root, dir: folder.dir}, project); err != nil {
			return err
		}
	}
	return nil
}

// walk adds the transcripts below a folder, each as a part that is like the one given.
func (run *usageRun) walk(ctx context.Context, like usagePart, dir string) error {
	return fs.WalkDir(like.root.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				like.name = name
				run.report.Unread = append(run.report.Unread, like.fault(err))
			}
			return nil
		}
		if entry.IsDir() {
			if path.Base(name) == "tool-results" {
				return fs.SkipDir
			}
			return nil
		}
		if part, ok := newUsagePart(name); ok {
			part.root, part.dir = like.root, like.dir
			run.add(part)
		}
		return nil
	})
}

// add cuts a transcript into parts.
func (run *usageRun) add(p usagePart) {
	info, err := p.root.Stat(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		run.report.Unread = append(run.report.Unread, p.fault(err))
		return
	}
	size := info.Size()
	if !info.Mode().IsRegular() || size == 0 {
		return
	}
	run.report.Files++
	run.report.Bytes += size
	run.total += size
	for ; p.start < size; p.start = p.end {
		p.end = min(p.start+partSize, size)
		run.parts = append(run.parts, p)
	}
}

// numberLines makes the numbers of bad lines those inside of the file. The parts of a file follow each other.
func (run *usageRun) numberLines() {
	for i, at := range run.badParts {
		for k := at; run.parts[k].start > 0; k-- {
			run.report.Bad[i].Line += run.parts[k-1].lines
		}
	}
}
