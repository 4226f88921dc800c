package storetest

import (
	"context"
	"errors"
	"iter"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// onDelete calls a function with a key before it is deleted.
func onDelete(before func(f *fakeStore, key wire.SessionKey) error) func(*fakeStore) {
	return func(f *fakeStore) {
		f.delete = func(ctx context.Context, key wire.SessionKey) error {
			return errors.Join(before(f, key), f.Memory.Delete(ctx, key))
		}
	}
}

// onSessions changes the list of a project's sessions.
func onSessions(change func(f *fakeStore, project string, found map[string]time.Time)) func(*fakeStore) {
	return func(f *fakeStore) {
		f.sessions = func(ctx context.Context, project string) (map[string]time.Time, error) {
			found, err := f.Memory.Sessions(ctx, project)
			if err == nil {
				change(f, project, found)
			}
			return found, err
		}
	}
}

// appended records the time of each append, by session.
func appended(f *fakeStore) map[wire.SessionKey]time.Time {
	times := map[wire.SessionKey]time.Time{}
	f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
		times[wire.SessionKey{Project: key.Project, SessionID: key.SessionID}] = time.Now()
		return f.Memory.Append(ctx, key, entries)
	}
	return times
}

var keyFlaws = map[string]flaw{
	"subpaths are ignored": {"keys/transcripts are apart", func(f *fakeStore) {
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			key.Subpath = ""
			return f.Memory.Append(ctx, key, entries)
		}
		f.load = func(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
			key.Subpath = ""
			return f.Memory.Load(ctx, key)
		}
	}},
	"sessions of other projects are listed": {
		"keys/sessions are listed by project", onSessions(func(f *fakeStore, project string, found map[string]time.Time) {
			projects, _ := f.Memory.Projects(context.Background())
			for _, other := range projects {
				if strings.HasPrefix(other, project) {
					more, _ := f.Memory.Sessions(context.Background(), other)
					maps.Copy(found, more)
				}
			}
		}),
	},
	"a subagent makes a session": {"keys/a session needs a main transcript", func(f *fakeStore) {
		times := appended(f)
		onSessions(func(_ *fakeStore, project string, found map[string]time.Time) {
			for key, at := range times {
				if key.Project == project {
					found[key.SessionID] = at
				}
			}
		})(f)
	}},
	"the time is that of the first append": {"keys/times are of now, and move on", func(f *fakeStore) {
		first := map[string]time.Time{}
		onSessions(func(_ *fakeStore, _ string, found map[string]time.Time) {
			for id, at := range found {
				if first[id].IsZero() {
					first[id] = at.Add(-9800 * time.Millisecond) // so that the test does not take long
				}
				found[id] = first[id]
			}
		})(f)
	}},
	"a subagent moves the time": {"keys/an append below leaves the time of the session", func(f *fakeStore) {
		times := appended(f)
		onSessions(func(_ *fakeStore, project string, found map[string]time.Time) {
			for id := range found {
				found[id] = times[wire.SessionKey{Project: project, SessionID: id}]
			}
		})(f)
	}},
	"subpaths come in any order": {"keys/subpaths are those of one session, sorted", func(f *fakeStore) {
		f.subpaths = func(ctx context.Context, key wire.SessionKey) ([]string, error) {
			found, err := f.Memory.Subpaths(ctx, key)
			slices.Reverse(found)
			return found, err
		}
	}},
	"names are patterns": {"keys/patterns in names are just names", onDelete(func(f *fakeStore, key wire.SessionKey) error {
		pattern := strings.NewReplacer("%", "*", "_", "?").Replace(key.String())
		other := wire.SessionKey{Project: "-home-me-code", SessionID: "abc"}
		if ok, err := path.Match(pattern, other.String()); err != nil || !ok {
			return err
		}
		return f.Memory.Delete(context.Background(), other)
	})},
	"what is below stays": {"keys/a session is deleted with all below it", func(f *fakeStore) {
		f.delete = func(ctx context.Context, key wire.SessionKey) error {
			kept, err := load(ctx, f.Memory, wire.SessionKey{
				Project: key.Project, SessionID: key.SessionID, Subpath: deep.Subpath,
			})
			if err = errors.Join(err, f.Memory.Delete(ctx, key)); err != nil || key.Subpath != "" {
				return err
			}
			return f.Memory.Append(ctx, deep, kept)
		}
	}},
	"a subpath is deleted with all below it": {
		"keys/a subpath is deleted alone", onDelete(func(f *fakeStore, key wire.SessionKey) error {
			subpaths, err := f.Memory.Subpaths(context.Background(), key)
			for _, subpath := range subpaths {
				if strings.HasPrefix(subpath, key.Subpath) {
					below := wire.SessionKey{Project: key.Project, SessionID: key.SessionID, Subpath: subpath}
					err = errors.Join(err, f.Memory.Delete(context.Background(), below))
				}
			}
			return err
		}),
	},
	"what is not there can't be deleted": {
		"keys/deleting what is not there", onDelete(func(f *fakeStore, key wire.SessionKey) error {
			if entries, _ := load(context.Background(), f.Memory, key); len(entries) == 0 {
				return errFlaw
			}
			return nil
		}),
	},
	"a delete empties the project": {
		"concurrent/deletes beside appends", onDelete(func(f *fakeStore, key wire.SessionKey) error {
			found, err := f.Memory.Sessions(context.Background(), key.Project)
			for id := range found {
				other := wire.SessionKey{Project: key.Project, SessionID: id}
				err = errors.Join(err, f.Memory.Delete(context.Background(), other))
			}
			return err
		}),
	},
}

// onSummary keeps summaries outside of the store, as the function says.
func onSummary(add func(s *sessions.Summary, key wire.SessionKey, entry wire.JSON)) func(*fakeStore) {
	return func(f *fakeStore) {
		kept := map[string]*sessions.Summary{}
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			if kept[key.SessionID] == nil {
				kept[key.SessionID] = new(sessions.Summary)
			}
			for _, entry := range entries {
				add(kept[key.SessionID], key, entry)
			}
			return f.Memory.Append(ctx, key, entries)
		}
		f.summaries = func(ctx context.Context, project string) (map[string]sessions.Summary, error) {
			found, err := f.Memory.Summaries(ctx, project)
			for id := range found {
				found[id] = *kept[id]
			}
			return found, err
		}
	}
}

var offerFlaws = map[string]flaw{
	"projects are never forgotten": {"offers/projects", func(f *fakeStore) {
		var known []string
		f.projects = func(ctx context.Context) ([]string, error) {
			found, err := f.Memory.Projects(ctx)
			known = append(known, found...)
			slices.Sort(known)
			known = slices.Compact(known)
			return known, err
		}
	}},
	"summaries are of the first entry": {
		"offers/summaries follow a session", onSummary(func(s *sessions.Summary, _ wire.SessionKey, entry wire.JSON) {
			if *s == (sessions.Summary{}) {
				s.Add(entry)
			}
		}),
	},
	"a repeated entry is summed up": {
		"offers/a repeated entry does not change the summary",
		onSummary(func(s *sessions.Summary, key wire.SessionKey, entry wire.JSON) {
			if key.Subpath == "" {
				s.Add(entry)
			}
		}),
	},
	"subagents are summed up": {
		"offers/summaries leave out what is below",
		onSummary(func(s *sessions.Summary, _ wire.SessionKey, entry wire.JSON) { s.Add(entry) }),
	},
	"summaries outlive a session": {
		"offers/summaries vanish with a session",
		onSummary(func(s *sessions.Summary, _ wire.SessionKey, entry wire.JSON) { s.Add(entry) }),
	},
	"a late time is refused": {"offers/any time can be summed up", refusing(func(entries []wire.JSON) bool {
		return slices.ContainsFunc(entries, func(entry wire.JSON) bool { return strings.Contains(string(entry), `"9999-`) })
	})},
}

// A store may lose a field unnoticed if the conversation does not set it.
func TestConversationFillsSummary(t *testing.T) {
	t.Parallel()
	var s sessions.Summary
	for _, entry := range conversation {
		s.Add(entry)
	}
	for field, value := range reflect.ValueOf(s).Fields() {
		if value.IsZero() {
			t.Errorf("%s is empty", field.Name)
		}
	}
}
