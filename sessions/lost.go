package sessions

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
)

// A LostSession is one whose transcript is gone. What the user typed there is left.
type LostSession struct {
	ID string
	// Project is the path of the working folder.
	Project string
	// Prompts are in the order in which they were typed.
	Prompts []HistoryEntry
	// Trashed says that the session is in the trash: see [Restore].
	Trashed bool
}

// Lost returns the sessions of which there are prompts in the history, but no transcript in any of the roots, the last
// one first. Prompts that don't name their session are left out.
func Lost(ctx context.Context, opts *HistoryOptions) ([]LostSession, error) {
	if opts == nil {
		opts = new(HistoryOptions)
	}
	there, trashed, err := opts.kept(ctx)
	if err != nil {
		return nil, err
	}
	lost := map[string]*LostSession{}
	var all []*LostSession
	for entry, err := range History(ctx, opts) {
		if err != nil {
			return nil, err
		}
		if entry.SessionID == "" || there[entry.SessionID] {
			continue
		}
		s := lost[entry.SessionID]
		if s == nil {
			s = &LostSession{ID: entry.SessionID, Project: entry.Project, Trashed: trashed[entry.SessionID]}
			lost[entry.SessionID] = s
			all = append(all, s)
		}
		s.Prompts = append(s.Prompts, entry)
	}
	var sorted []LostSession
	for _, s := range all {
		slices.SortStableFunc(s.Prompts, func(a, b HistoryEntry) int { return a.Time.Compare(b.Time) })
		sorted = append(sorted, *s)
	}
	slices.SortStableFunc(sorted, func(a, b LostSession) int { return b.last().Compare(a.last()) })
	return sorted, nil
}

func (s *LostSession) last() time.Time { return s.Prompts[len(s.Prompts)-1].Time }

// kept returns the IDs of the sessions that there are, and of those in the trash.
func (o *HistoryOptions) kept(ctx context.Context) (there, trashed map[string]bool, err error) {
	there, trashed = map[string]bool{}, map[string]bool{}
	roots, err := o.roots()
	if err != nil {
		return nil, nil, err
	}
	for _, root := range roots {
		folder := NewFolder(filepath.Join(root, sessionfile.Folder))
		found, err := places{{store: folder}}.sessions(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range found {
			there[s.ID] = true
		}
		deleted, err := folder.trashed(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, t := range deleted {
			trashed[t.ID] = true
		}
	}
	return there, trashed, nil
}
