package sessions

import (
	"cmp"
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
type SessionInfo struct {
	ID string
	// Project is the name that the agent gave to the working folder. It can't be turned back into the path: see CWD.
	Project string
	// Path is that of the session's own transcript, or "" if the store is not a [Folder].
	Path string
	// Modified is when the session's own transcript was last written to. A new title, or a copy of the file, counts: when
	// something was last said is LastTime.
	Modified time.Time
	// Size is that of the session's own transcript in bytes, or 0 if the store does not know it.
	Size int64
	// Ongoing says that an agent seems to work in the session: its last turn has not come to its end, and neither the last
	// entry nor the file is older than two minutes.
	Ongoing bool
	Summary
	// Err says why the session could not be read. The summary is empty then.
	Err error
}

// Key returns the key of the session's own transcript.
func (i SessionInfo) Key() wire.SessionKey {
	return wire.SessionKey{Project: i.Project, SessionID: i.ID}
}

// maxQuiet is how long an agent that works may write nothing.
const maxQuiet = 2 * time.Minute

// maxLoads is how many sessions are read at the same time.
const maxLoads = 16

// List returns sessions, the newest first or as the options say. Of those with the same ID, as copies of a session have,
// the newest counts. What has an ID that is no UUID, the transcripts of subagents that older agents kept as sessions, and
// sessions in which nobody has said anything, or nothing but /clear, are left out. One that can't be read is in the list
// with its error, unless it has to pass a filter. If the user may not read a project, the sessions of the others come
// back with that error.
//
// Sessions in files are read at their beginning and end, 64 KiB each or up to a title in the first 16 MiB, so that a list
// of large ones is fast. What stands in the middle of a larger file alone, such as a title that was given there, is not
// found; [Open] and read it to be sure. A store that is a [Summarizer] is asked for summaries; sessions of others, and
// those that it has none of, are loaded, 16 at a time, and as many as the limit needs if the newest are wanted.
func List(ctx context.Context, opts *ListOptions) ([]SessionInfo, error) {
	if opts == nil {
		opts = new(ListOptions)
	}
	where := &Options{Store: opts.Store, Project: opts.Project, ProjectName: opts.ProjectName}
	all, err := where.scopes(!opts.OnlyProject)
	if err != nil {
		return nil, err
	}
	found, failed := all.sessions(ctx)
	listed, err := opts.list(ctx, opts.candidates(found))
	if err != nil {
		return nil, err
	}
	return listed, failed
}

// A listed session is one that was found, and the place where.
type foundSession struct {
	SessionInfo
	in *summarySource
}

// worthListing reports whether somebody would look for the session. One that was deleted meanwhile is gone.
func (i SessionInfo) worthListing() bool {
	if i.Err != nil {
		return !errors.Is(i.Err, fs.ErrNotExist)
	}
	return !i.Sidechain && i.Title() != "" && !i.onlyCleared()
}

// onlyCleared reports whether the session was begun by /clear, and ended without a prompt.
func (s *Summary) onlyCleared() bool {
	return s.FirstPrompt == "" && s.FirstCommand == "/clear" && s.Title() == s.FirstCommand
}

// sessions returns the sessions of the places without summaries. With the error that some projects may not be read, it
// returns those of the others.
func (ss scopes) sessions(ctx context.Context) ([]foundSession, error) {
	var all []foundSession
	var forbidden []error
	for _, s := range ss {
		l := &summarySource{scope: s, summaries: map[string]map[string]Summary{}}
		projects, err := s.projects(ctx)
		if err != nil {
			return nil, err
		}
		for _, project := range projects {
			times, err := s.store.Sessions(ctx, project)
			if errors.Is(err, fs.ErrPermission) {
				forbidden = append(forbidden, err)
				continue
			}
			if err != nil {
				return nil, err
			}
			for id, at := range times {
				if isUUID(id) {
					all = append(all, foundSession{SessionInfo{ID: id, Project: project, Modified: at}, l})
				}
			}
		}
	}
	return all, errors.Join(forbidden...)
}

// A lister knows the summaries that a store keeps, by project and ID.
type summarySource struct {
	scope
	summaries map[string]map[string]Summary
}

// summarize fills in the summaries of sessions, some at the same time. It fails only when the context ends.
func summarize(ctx context.Context, sessions []foundSession) error {
	var wg sync.WaitGroup
	free := make(chan struct{}, maxLoads)
	for i := range sessions {
		s := &sessions[i]
		if s.in.stored(ctx, &s.SessionInfo) {
			continue
		}
		free <- struct{}{}
		wg.Go(func() {
			s.in.fill(ctx, &s.SessionInfo)
			<-free
		})
	}
	wg.Wait()
	return ctx.Err()
}

// kept fills in the summary of a session if the store keeps one.
func (l *summarySource) stored(ctx context.Context, info *SessionInfo) bool {
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
	info.setOngoing()
	return ok
}

// fill reads the summary of a session.
func (s scope) fill(ctx context.Context, info *SessionInfo) {
	if folder, ok := s.store.(*Folder); ok {
		info.Path = folder.path(info.Key())
		info.Summary, info.Size, info.Err = folder.summary(ctx, info.Key())
		info.setOngoing()
		return
	}
	var summary Summary
	for entry, err := range s.store.Load(ctx, info.Key()) {
		if err != nil {
			info.Err = err
			return
		}
		summary.Add(entry)
	}
	info.Summary = summary
	info.setOngoing()
}

func (i *SessionInfo) setOngoing() {
	last := i.Modified
	if !i.LastTime.IsZero() && i.LastTime.Before(last) { // a new title makes a file newer
		last = i.LastTime
	}
	i.Ongoing = i.Working() && time.Since(last) <= maxQuiet
}

// Get returns what is known of one session. It returns an error that wraps [ErrNotFound] if there is none.
func Get(ctx context.Context, id string, opts *Options) (SessionInfo, error) {
	s, key, at, err := opts.findWithTime(ctx, id)
	if err != nil {
		return SessionInfo{}, err
	}
	info := SessionInfo{ID: id, Project: key.Project, Modified: at}
	s.fill(ctx, &info)
	return info, info.Err
}

// ListOptions say which sessions to list, and in which order. Nil and the zero value mean all of the agent's own files,
// the newest first. A session has to pass all filters that are set.
type ListOptions struct {
	// Store, Project and ProjectName are those of [Options].
	Store       Store
	Project     string
	ProjectName string
	// OnlyFolder leaves out the sessions of other working trees of the git repository in which Project lies.
	OnlyProject bool

	// Since and Until are times between which [Info.Modified] lies: not before Since, and before Until. Zero means any.
	Since, Until time.Time
	// Branch and Tag are what the session has. Empty means any.
	Branch, Tag string
	// Model is a part of the model's name, and Text a part of the title or of the first or last prompt, in capital or small
	// letters.
	Model, Text string
	// Ongoing says whether an agent works in the session. Nil means either.
	Ongoing *bool

	// Sort is what the list is sorted by. Reverse turns the order round.
	Sort    SortBy
	Reverse bool
	// Limit is the length of the list, and Offset how many sessions are passed over before it. A Limit of 0 or less
	// means no limit.
	Limit  int
	Offset int
}

// SortBy is what a list is sorted by.
type SortBy int

// The orders of a list.
const (
	ByModified SortBy = iota // the last one first
	ByCreated                // the last one first
	BySize                   // the largest first
	ByTitle                  // by letters, capital or small
)

// candidates returns those of the sessions whose time is wanted, each ID once and the newest first.
func (o *ListOptions) candidates(found []foundSession) []foundSession {
	slices.SortFunc(found, newestFirst)
	seen := map[string]bool{}
	return slices.DeleteFunc(found, func(l foundSession) bool {
		repeated := seen[l.ID]
		seen[l.ID] = true
		return repeated || l.Modified.Before(o.Since) || !o.Until.IsZero() && !l.Modified.Before(o.Until)
	})
}

func newestFirst(a, b foundSession) int {
	if c := b.Modified.Compare(a.Modified); c != 0 {
		return c
	}
	return strings.Compare(a.Key().String(), b.Key().String())
}

// list returns the part of the sessions that is wanted. It reads no more of them than it has to.
func (o *ListOptions) list(ctx context.Context, found []foundSession) ([]SessionInfo, error) {
	atOnce, most := len(found), len(found)
	if o.Sort == ByModified {
		if o.Reverse {
			slices.Reverse(found)
		}
		if o.Limit > 0 && o.Limit < most-o.skip() {
			atOnce, most = maxLoads, o.skip()+o.Limit
		}
	}
	var infos []SessionInfo
	for some := range slices.Chunk(found, max(atOnce, 1)) {
		if err := summarize(ctx, some); err != nil {
			return nil, err
		}
		for _, l := range some {
			if l.worthListing() && o.wants(&l.SessionInfo) {
				infos = append(infos, l.SessionInfo)
			}
		}
		if len(infos) >= most {
			break
		}
	}
	o.sort(infos)
	return o.page(infos), ctx.Err()
}

func (o *ListOptions) skip() int { return max(o.Offset, 0) }

func (o *ListOptions) page(infos []SessionInfo) []SessionInfo {
	infos = infos[min(o.skip(), len(infos)):]
	if o.Limit > 0 {
		infos = infos[:min(o.Limit, len(infos))]
	}
	return infos
}

// wants reports whether a session passes the filters that need its summary.
func (o *ListOptions) wants(i *SessionInfo) bool {
	if o.Branch == "" && o.Tag == "" && o.Model == "" && o.Text == "" && o.Ongoing == nil {
		return true
	}
	return i.Err == nil &&
		(o.Branch == "" || o.Branch == i.GitBranch) &&
		(o.Tag == "" || o.Tag == i.Tag) &&
		hasText(o.Model, i.Model) &&
		hasText(o.Text, i.Title(), i.FirstPrompt, i.LastPrompt) &&
		(o.Ongoing == nil || *o.Ongoing == i.Ongoing)
}

// hasText reports whether one of the texts has a part, in capital or small letters.
func hasText(part string, texts ...string) bool {
	part = strings.ToLower(part)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), part) })
}

// sort sorts a list that has the order of ByModified, unless that is what is wanted.
func (o *ListOptions) sort(infos []SessionInfo) {
	if o.Sort == ByModified {
		return
	}
	slices.SortStableFunc(infos, func(a, b SessionInfo) int {
		switch o.Sort {
		case ByCreated:
			return b.Created.Compare(a.Created)
		case BySize:
			return cmp.Compare(b.Size, a.Size)
		case ByTitle:
			return strings.Compare(strings.ToLower(a.Title()), strings.ToLower(b.Title()))
		}
		return 0
	})
	if o.Reverse {
		slices.Reverse(infos)
	}
}
