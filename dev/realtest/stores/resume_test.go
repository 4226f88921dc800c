package stores_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A past is a session that has ended, and of which only the store is left.
type past struct {
	store *memory
	opts  clew.Options // that session's options, without a model
	key   wire.SessionKey
}

// newPast runs a session in a settings directory that is not used again.
func newPast(t *testing.T, opts clew.Options) *past {
	t.Helper()
	model := clewtest.NewModel(t)
	delegates(model)
	model.Reply("Yes.")
	p := &past{store: newMemory(), opts: opts}
	p.opts.Store.Store, p.opts.Dir, p.opts.AllowedTools = p.store, t.TempDir(), []string{"Agent"}
	s := connect(t, over(t, model, p.opts))
	ask(t, s, "First")
	ask(t, s, "Delegate")
	closeSession(t, s)
	p.key = p.store.keys()[0]
	if p.key.SessionID != s.ID() || p.key.Subpath != "" {
		t.Fatalf("the key is %v, the session %s", p.key, s.ID())
	}
	return p
}

// resumes returns options that resume by ID.
func (p *past) resumes() clew.Options {
	opts := p.opts
	opts.Session.Resume = p.key.SessionID
	return opts
}

// continues returns options that resume the newest session.
func (p *past) continues() clew.Options {
	opts := p.opts
	opts.Session.Continue = true
	return opts
}

// said returns the conversation that a model was asked to continue, without tool results.
func said(model *clewtest.Model, prompt string) []string {
	var texts []string
	for _, r := range model.Requests() {
		if !strings.HasSuffix(r.Prompt(), prompt) {
			continue
		}
		for _, msg := range r.Messages {
			if msg.Role == "system" {
				continue
			}
			for _, block := range msg.Content {
				text, ok := block.(*wire.TextBlock)
				if ok && !strings.HasPrefix(text.Text, "<system-reminder>") {
					texts = append(texts, strings.TrimSpace(text.Text))
				}
			}
		}
	}
	return texts
}

func TestRealResumeFromStore(t *testing.T) {
	t.Parallel()
	named := clew.Options{Env: []string{"CLAUDE_CODE_PROJECT_DIR_NAME=named"}}
	tests := []struct {
		name   string
		before clew.Options
		choose func(t *testing.T, p *past) clew.Options
	}{
		{"by ID", clew.Options{}, func(_ *testing.T, p *past) clew.Options { return p.resumes() }},
		{"the newest", clew.Options{}, func(_ *testing.T, p *past) clew.Options { return p.continues() }},
		{"a project with a name", named, func(_ *testing.T, p *past) clew.Options { return p.resumes() }},
		{"in another folder", clew.Options{Store: clew.StoreOptions{Project: "shared"}}, func(t *testing.T, p *past) clew.Options {
			opts := p.resumes()
			opts.Dir = t.TempDir()
			return opts
		}},
		{"the newest, in another folder", clew.Options{Store: clew.StoreOptions{Project: "shared"}}, func(t *testing.T, p *past) clew.Options {
			opts := p.continues()
			opts.Dir = t.TempDir()
			return opts
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPast(t, test.before)
			keys, old := p.store.keys(), p.store.entries(p.key)
			if id := p.goOn(t, test.choose(t, p)); id != p.key.SessionID {
				t.Errorf("the session is %s, want %s", id, p.key.SessionID)
			}
			if diff := cmp.Diff(keys, p.store.keys()); diff != "" {
				t.Errorf("transcripts (-before +after):\n%s", diff)
			}
			entries := p.store.entries(p.key)
			if len(entries) <= len(old) || !cmp.Equal(old, entries[:len(old)]) {
				t.Errorf("%d entries, and %d before", len(entries), len(old))
			}
		})
	}
}

// A fork is a separate session. It is complete in the store, and can be resumed from there.
func TestRealForkFromStore(t *testing.T) {
	t.Parallel()
	p := newPast(t, clew.Options{})
	old := p.store.entries(p.key)
	opts := p.resumes()
	opts.Session.Fork = true
	id := p.goOn(t, opts)
	if id == p.key.SessionID {
		t.Error("the fork has the same ID")
	}
	if !cmp.Equal(old, p.store.entries(p.key)) {
		t.Error("the old transcript has changed")
	}
	model := clewtest.NewModel(t).Reply("Certainly.")
	opts = p.opts
	opts.Session.Resume = id
	s := connect(t, over(t, model, opts))
	ask(t, s, "Finally")
	want := []string{"First", "Yes.", "Delegate", "It is three.", "Last", "Indeed.", "Finally"}
	if diff := cmp.Diff(want, said(model, "Finally")); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
}

// goOn runs one more turn of the session, in a new settings directory, and returns the ID.
func (p *past) goOn(t *testing.T, opts clew.Options) (id string) {
	t.Helper()
	model := clewtest.NewModel(t).Reply("Indeed.")
	s := connect(t, over(t, model, opts))
	ask(t, s, "Last")
	wantAnswer(t, p.store, s.ID(), "Indeed.")
	closeSession(t, s)
	want := []string{"First", "Yes.", "Delegate", "It is three.", "Last"}
	if diff := cmp.Diff(want, said(model, "Last")); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	return s.ID()
}

// If a session is not in the store, the agent looks for it.
func TestRealResumeWithoutStore(t *testing.T) {
	t.Parallel()
	p := newPast(t, clew.Options{})
	p.opts.Store.Store = newMemory()
	model := clewtest.NewModel(t).Reply("Yes.")
	_, err := clew.Connect(t.Context(), over(t, model, p.resumes()))
	if err == nil || !strings.Contains(err.Error(), "No conversation found") {
		t.Errorf("error %v", err)
	}
}
