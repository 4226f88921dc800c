package storetest

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// onSummary has summaries that are kept beside the store, as it says.
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

// A field that the conversation leaves empty is one that a store may lose unnoticed.
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
