package clew

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// What is at the end of a file and was not mirrored is found, and nothing that is older or not meant for the mirror.
func TestMissedEntries(t *testing.T) {
	t.Parallel()
	long := `{"long":"` + strings.Repeat("a", missedBytes) + `"}`
	tests := []struct {
		name     string
		lines    []string
		mirrored []wire.JSON
		want     []wire.JSON
	}{
		{"all mirrored", []string{`{"a":1}`, `{"a":2}`}, []wire.JSON{`{"a":1}`, `{"a":2}`}, nil},
		{"the last", []string{`{"a":1}`, `{"a":2}`}, []wire.JSON{`{"a":1}`}, []wire.JSON{`{"a":2}`}},
		{"one in between", []string{`{"a":1}`, `{"a":2}`, `{"a":3}`}, []wire.JSON{`{"a":1}`, `{"a":3}`},
			[]wire.JSON{`{"a":2}`}},
		{"older ones", []string{`{"a":1}`, `{"a":2}`, `{"a":3}`}, []wire.JSON{`{"a":2}`}, []wire.JSON{`{"a":3}`}},
		{"copies of requests", []string{`{"a":1}`, `{"type":"api-request-shape"}`}, []wire.JSON{`{"a":1}`}, nil},
		{"not JSON", []string{`{"a":1}`, `{"a`}, []wire.JSON{`{"a":1}`}, nil},
		{"nothing in common", []string{`{"a":1}`}, []wire.JSON{`{"b":1}`}, nil},
		{"a new one like an old one", []string{`{"t":"x"}`, `{"t":"y"}`, `{"a":1}`, `{"t":"x"}`, `{"a":2}`},
			[]wire.JSON{`{"a":1}`, `{"t":"x"}`}, []wire.JSON{`{"a":2}`}},
		{"several alike", []string{`{"t":"x"}`, `{"a":1}`, `{"t":"x"}`, `{"t":"x"}`, `{"a":2}`},
			[]wire.JSON{`{"t":"x"}`, `{"t":"x"}`}, []wire.JSON{`{"a":2}`}},
		{"a long file", []string{`{"a":1}`, long, `{"a":2}`, `{"a":3}`}, []wire.JSON{`{"a":1}`, `{"a":2}`},
			[]wire.JSON{`{"a":3}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "s.jsonl")
			if err := os.WriteFile(file, []byte(strings.Join(tt.lines, "\n")+"\n{\"cut\":"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := newRecent()
			for _, entry := range tt.mirrored {
				r.note(file, []wire.JSON{entry})
			}
			got, err := r.missed(file)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// However much is mirrored, little is remembered.
func TestRecentIsBounded(t *testing.T) {
	t.Parallel()
	r := newRecent()
	for range 10 {
		r.note("f", make([]wire.JSON, 1000))
	}
	if n := len(r.files["f"]); n != recentEntries {
		t.Errorf("%d entries", n)
	}
}

func TestMissedSidecar(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.jsonl")
	r := newRecent()
	if got := r.missedSidecar(file); got != nil {
		t.Errorf("before anything was said: %v", got)
	}
	r.noteSidecar(file, []wire.JSON{`{"type":"agent_metadata","n":1}`})
	for text, want := range map[string][]wire.JSON{
		`{"n": 1}`: nil, "nonsense": nil, `{"n":2}`: {`{"n":2,"type":"agent_metadata"}`},
	} {
		if err := os.WriteFile(strings.TrimSuffix(file, ".jsonl")+".meta.json", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.missedSidecar(file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// Whether something was missed in a file that can't be read is not known, and so it counts as lost. A file that is gone
// has nothing.
func TestMissedInWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "p", "s.jsonl")
	m := &mirror{
		log: slog.New(slog.DiscardHandler), recent: newRecent(),
		keys: &keyFinder{roots: func() []string { return []string{root} }},
	}
	m.recent.note(file, []wire.JSON{`{"a":1}`})
	if b := m.missed(); len(b.keys)+len(m.losses) > 0 {
		t.Errorf("of a file that is gone: %v, %v", b.keys, m.losses)
	}
	if err := os.MkdirAll(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if b := m.missed(); len(b.keys) > 0 || len(m.losses) != 1 || m.losses[0].Key.SessionID != "s" {
		t.Errorf("of a folder: %v, %v", b.keys, m.losses)
	}
}
