package sessions

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// UsageOptions say of which sessions [Usage] is to tell. Nil and the zero value mean all of them in the agent's own
// folder.
type UsageOptions struct {
	// Store has the sessions. Nil means files below Roots.
	Store Store
	// Roots are the folders of the agents' settings. None means those of [Roots]. They are not used if Store is set.
	Roots []string
	// Project is the path of a working folder; other working trees of its repository don't count. Empty means all
	// projects, if the store is a [ProjectLister].
	Project string
	// ProjectName is the name that the agent gave to that folder. It is used instead of Project where it is set.
	ProjectName string
	// Since and Until limit the answers to those that were given from Since on and before Until. The zero time means no
	// limit. All transcripts are read nevertheless: a copy of an answer may tell more than the answer.
	Since, Until time.Time
	// Progress is called now and then with how many bytes were read, and how many there are in all, or 0 for a store that
	// is no [Folder]. It is called by one goroutine at a time, and what waits for it does not read.
	Progress func(done, total int64)
}

// A UsageReport is what the model was used for, as far as transcripts tell.
type UsageScan struct {
	// Tally has each answer of the model once, with Project, SessionID and AgentID from the place of its transcript.
	Tally transcript.Tally
	// CostStates are the agent's own accounts, for [transcript.Reconcile]. They are of whole sessions: Since and Until
	// don't limit them.
	CostStates []transcript.CostState
	// Files and Bytes are what was read.
	Files int
	Bytes int64
	// BadLines counts the lines that are not entries. Bad are these, by path and offset, but at most a thousand of them.
	BadLines int
	Bad      []BadLine
	// Unread are the errors of files and folders that could not be read, or not to their ends.
	Unread []error
}

// A BadLine is a line of a transcript that is not an entry.
type BadLine struct {
	Path string
	// Line is the number of the line, from 1, and Offset is where it begins.
	Line   int
	Offset int64
	// Torn says that it is the last line and has no end: somebody writes it at this moment, or was stopped.
	Torn bool
	Err  error
}

// maxBad is how many bad lines a report has.
const maxBad = 1000

// Usage reads all transcripts of all sessions, those of subagents included, and tells what the model was used for. Each
// answer is there once, however many lines and files have it. Transcripts of compactions are left out, since they
// repeat a conversation.
//
// It reads with as many goroutines as there are processors, in little memory, and blocks until all is read. A bad line,
// or a file that can't be read, is in the report; the error is that of the context, or of a store that can't be listed.
// opts may be nil.
func ScanUsage(ctx context.Context, opts *UsageOptions) (*UsageScan, error) {
	if opts == nil {
		opts = new(UsageOptions)
	}
	where, err := opts.scopes()
	if err != nil {
		return nil, err
	}
	report := new(UsageScan)
	if _, ok := where[0].store.(*Folder); ok {
		err = report.readFolders(ctx, opts, where)
	} else {
		err = report.readStore(ctx, opts, where[0])
	}
	if err != nil {
		return nil, err
	}
	report.sort()
	report.limit(opts.Since, opts.Until)
	return report, nil
}

// places returns where to read: one store, or any number of folders.
func (o *UsageOptions) scopes() (scopes, error) {
	where := Options{Store: o.Store, Project: o.Project, ProjectName: o.ProjectName}
	if o.Store != nil || len(o.Roots) == 0 {
		return where.scopes(false)
	}
	var all scopes
	for _, root := range o.Roots {
		where.Store = NewFolder(filepath.Join(root, sessionfile.Folder))
		in, err := where.scopes(false)
		if err != nil {
			return nil, err
		}
		all = append(all, in...)
	}
	return all, nil
}

// limit leaves the answers of a span of time.
func (r *UsageScan) limit(since, until time.Time) {
	if since.IsZero() && until.IsZero() {
		return
	}
	calls := r.Tally.Calls()
	r.Tally = transcript.Tally{}
	for _, c := range calls {
		if !c.Time.Before(since) && (until.IsZero() || c.Time.Before(until)) {
			r.Tally.Add(c)
		}
	}
}

// bad counts a bad line, and reports whether it keeps it.
func (r *UsageScan) bad(l BadLine) bool {
	r.BadLines++
	if len(r.Bad) == maxBad {
		return false
	}
	r.Bad = append(r.Bad, l)
	return true
}

// costStateOf returns the agent's account that a line has, if it has one. The decoder has just read the line.
func costStateOf(line []byte, decoder *transcript.CallDecoder) (transcript.CostState, bool) {
	if decoder.EntryType() != "cost-state" {
		return transcript.CostState{}, false
	}
	entry, err := transcript.DecodeEntry(line)
	if err != nil {
		return transcript.CostState{}, false
	}
	return transcript.CostStateOf(&entry)
}

// sort puts accounts, and what went wrong, in order.
func (r *UsageScan) sort() {
	slices.SortFunc(r.Unread, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	// Each part of a file that can't be read says so.
	r.Unread = slices.CompactFunc(r.Unread, func(a, b error) bool { return a.Error() == b.Error() })
	slices.SortStableFunc(r.CostStates, func(a, b transcript.CostState) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.Duration, b.Duration))
	})
	slices.SortFunc(r.Bad, func(a, b BadLine) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Line, b.Line))
	})
}

// readStore reads a store of another kind, one transcript after the other.
func (r *UsageScan) readStore(ctx context.Context, opts *UsageOptions, s scope) error {
	projects, err := s.projects(ctx)
	if err != nil {
		return err
	}
	for _, project := range projects {
		ids, err := s.store.Sessions(ctx, project)
		if err != nil {
			return err
		}
		for id := range ids {
			if err := r.readSession(ctx, opts, wire.SessionKey{Project: project, SessionID: id}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *UsageScan) readSession(ctx context.Context, opts *UsageOptions, key wire.SessionKey) error {
	subpaths, err := opts.Store.Subpaths(ctx, key)
	if err != nil {
		return err
	}
	for _, subpath := range append([]string{""}, subpaths...) {
		key.Subpath = subpath
		part, ok := newUsageSegment(sessionfile.Path(key))
		if !ok {
			continue
		}
		if err := r.readTranscript(ctx, opts, key, part); err != nil {
			return err
		}
	}
	return nil
}

func (r *UsageScan) readTranscript(ctx context.Context, opts *UsageOptions, key wire.SessionKey,
	part usageSegment) error {
	var decoder transcript.CallDecoder
	r.Files++
	number := 0
	for entry, err := range opts.Store.Load(ctx, key) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.Unread = append(r.Unread, err)
			break
		}
		number++
		r.Bytes += int64(len(entry))
		part.noteStart([]byte(entry))
		c, ok, err := decoder.Decode([]byte(entry))
		if ok {
			r.Tally.Add(part.locate(c))
		} else if state, ok := costStateOf([]byte(entry), &decoder); ok {
			r.CostStates = append(r.CostStates, state)
		}
		if err != nil {
			r.bad(BadLine{Path: part.name, Line: number, Err: err})
		}
	}
	if opts.Progress != nil {
		opts.Progress(r.Bytes, 0)
	}
	return nil
}
