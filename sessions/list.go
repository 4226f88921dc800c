package sessions

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/wire"
)

// An Info is what is known of a session without reading its conversation.
type Info struct {
	ID string
	// Project is the name that the agent gave to the working folder. It can't be turned back into the path: see CWD.
	Project string
	// Modified is the time of the last entry.
	Modified time.Time
	// Size is that of the session's own transcript in bytes, or 0 if the store does not know it.
	Size int64
	Summary
	// Err says why the session could not be read. The summary is empty then.
	Err error
}

// Key returns the key of the session's own transcript.
func (i Info) Key() wire.SessionKey { return wire.SessionKey{Project: i.Project, SessionID: i.ID} }

// ListOptions say which sessions to list. Nil and the zero value mean all of the agent's own folder.
type ListOptions struct {
	// Store, Project and ProjectName are those of [Options].
	Store       Store
	Project     string
	ProjectName string
	// Limit is the length of the list, and Offset how many sessions are passed over before it. A Limit of 0 or less
	// means no limit.
	Limit  int
	Offset int
}

// maxLoads is how many sessions are read at the same time.
const maxLoads = 16

// List returns sessions, the newest first. What has an ID that is no UUID, the transcripts of subagents that older
// agents kept as sessions, and sessions in which nobody has said anything, or nothing but /clear, are left out. One that
// can't be read is in the list with its error. If the user may not read a project, the sessions of the others come back
// with that error.
//
// Sessions in files are read at their beginning and end, 64 KiB each or up to a title, so that a list of large ones is
// fast. A store that is a [Summarizer] is asked for summaries; sessions of others, and those that it has none of, are
// loaded, 16 at a time, as many as the limit needs.
func List(ctx context.Context, opts *ListOptions) ([]Info, error) {
	if opts == nil {
		opts = new(ListOptions)
	}
	p, err := (&Options{Store: opts.Store, Project: opts.Project, ProjectName: opts.ProjectName}).place()
	if err != nil {
		return nil, err
	}
	infos, failed := p.all(ctx)
	l := lister{place: p, summaries: map[string]map[string]Summary{}}
	skip, limit := max(opts.Offset, 0), opts.Limit
	var listed []Info
	for some := range slices.Chunk(infos, maxLoads) {
		if err := l.summarize(ctx, some); err != nil {
			return nil, err
		}
		listed = append(listed, slices.DeleteFunc(some, func(i Info) bool { return !i.worthListing() })...)
		if limit > 0 && len(listed)-skip >= limit {
			listed = listed[:skip+limit]
			break
		}
	}
	return listed[min(skip, len(listed)):], failed
}

func (i Info) worthListing() bool {
	return i.Err != nil || !i.Sidechain && i.Title() != "" && !i.onlyCleared()
}

// onlyCleared reports whether the session was begun by /clear, and ended without a prompt.
func (s *Summary) onlyCleared() bool {
	return s.FirstPrompt == "" && s.FirstCommand == "/clear" && s.Title() == s.FirstCommand
}

// all returns the sessions of the place without summaries, the newest first. With the error that some projects may not
// be read, it returns those of the others.
func (p place) all(ctx context.Context) ([]Info, error) {
	projects, err := p.projects(ctx)
	if err != nil {
		return nil, err
	}
	var infos []Info
	var forbidden []error
	for _, project := range projects {
		times, err := p.store.Sessions(ctx, project)
		if errors.Is(err, fs.ErrPermission) {
			forbidden = append(forbidden, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		for id, at := range times {
			if isUUID(id) {
				infos = append(infos, Info{ID: id, Project: project, Modified: at})
			}
		}
	}
	slices.SortFunc(infos, func(a, b Info) int {
		if c := b.Modified.Compare(a.Modified); c != 0 {
			return c
		}
		return strings.Compare(a.Key().String(), b.Key().String())
	})
	return infos, errors.Join(forbidden...)
}

// A lister knows the summaries that a store keeps, by project and ID.
type lister struct {
	place
	summaries map[string]map[string]Summary
}

// summarize fills in the summaries of sessions, at the same time. It fails only when the context ends.
func (l *lister) summarize(ctx context.Context, infos []Info) error {
	var wg sync.WaitGroup
	for i := range infos {
		info := &infos[i]
		if l.kept(ctx, info) {
			continue
		}
		wg.Go(func() { l.fill(ctx, info) })
	}
	wg.Wait()
	return ctx.Err()
}

// kept fills in the summary of a session if the store keeps one.
func (l *lister) kept(ctx context.Context, info *Info) bool {
	summarizer, ok := l.store.(Summarizer)
	if !ok {
		return false
	}
	if l.summaries[info.Project] == nil {
		found, err := summarizer.Summaries(ctx, info.Project)
		if err != nil || found == nil { // then the sessions are loaded
			found = map[string]Summary{}
		}
		l.summaries[info.Project] = found
	}
	info.Summary, ok = l.summaries[info.Project][info.ID]
	return ok
}

// fill reads the summary of a session.
func (p place) fill(ctx context.Context, info *Info) {
	if folder, ok := p.store.(*Folder); ok {
		info.Summary, info.Size, info.Err = folder.summary(ctx, info.Key())
		return
	}
	var summary Summary
	for entry, err := range p.store.Load(ctx, info.Key()) {
		if err != nil {
			info.Err = err
			return
		}
		summary.Add(entry)
	}
	info.Summary = summary
}

// Get returns what is known of one session. It returns an error that wraps [ErrNotFound] if there is none.
func Get(ctx context.Context, id string, opts *Options) (Info, error) {
	p, err := opts.place()
	if err != nil {
		return Info{}, err
	}
	key, at, err := p.find(ctx, id)
	if err != nil {
		return Info{}, err
	}
	info := Info{ID: id, Project: key.Project, Modified: at}
	p.fill(ctx, &info)
	return info, info.Err
}
