package sessions

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// ListOptions say which sessions to list, and in which order. Nil and the zero value mean all of the agent's own files,
// the newest first. A session has to pass all filters that are set.
type ListOptions struct {
	// Store, Project and ProjectName are those of [Options].
	Store       Store
	Project     string
	ProjectName string
	// OnlyFolder leaves out the sessions of other working trees of the git repository in which Project lies.
	OnlyFolder bool

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
func (o *ListOptions) candidates(found []listed) []listed {
	slices.SortFunc(found, newestFirst)
	seen := map[string]bool{}
	return slices.DeleteFunc(found, func(l listed) bool {
		repeated := seen[l.ID]
		seen[l.ID] = true
		return repeated || l.Modified.Before(o.Since) || !o.Until.IsZero() && !l.Modified.Before(o.Until)
	})
}

func newestFirst(a, b listed) int {
	if c := b.Modified.Compare(a.Modified); c != 0 {
		return c
	}
	return strings.Compare(a.Key().String(), b.Key().String())
}

// list returns the part of the sessions that is wanted. It reads no more of them than it has to.
func (o *ListOptions) list(ctx context.Context, found []listed) ([]Info, error) {
	atOnce, most := len(found), len(found)
	if o.Sort == ByModified {
		if o.Reverse {
			slices.Reverse(found)
		}
		if o.Limit > 0 && o.Limit < most-o.skip() {
			atOnce, most = maxLoads, o.skip()+o.Limit
		}
	}
	var infos []Info
	for some := range slices.Chunk(found, max(atOnce, 1)) {
		if err := summarize(ctx, some); err != nil {
			return nil, err
		}
		for _, l := range some {
			if l.worthListing() && o.wants(&l.Info) {
				infos = append(infos, l.Info)
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

func (o *ListOptions) page(infos []Info) []Info {
	infos = infos[min(o.skip(), len(infos)):]
	if o.Limit > 0 {
		infos = infos[:min(o.Limit, len(infos))]
	}
	return infos
}

// wants reports whether a session passes the filters that need its summary.
func (o *ListOptions) wants(i *Info) bool {
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
func (o *ListOptions) sort(infos []Info) {
	if o.Sort == ByModified {
		return
	}
	slices.SortStableFunc(infos, func(a, b Info) int {
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
