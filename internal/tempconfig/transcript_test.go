package tempconfig

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/wire"
)

// sequence returns entries, and then an error unless it is nil.
func sequence(failure error, entries ...wire.JSON) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		for _, entry := range entries {
			if !yield(entry, nil) {
				return
			}
		}
		if failure != nil {
			yield("", failure)
		}
	}
}

func TestWriteTranscript(t *testing.T) {
	t.Parallel()
	f, _ := newFolder(t)
	main := wire.SessionKey{Project: "p", SessionID: "s"}
	below := wire.SessionKey{Project: "p", SessionID: "s", Subpath: "subagents/w/a"}
	for key, entries := range map[wire.SessionKey][]wire.JSON{
		main:  {" {\"a\":1}\n", "{\r\n\"a\": \"b\\n\"}", `{"type":"agent_metadata"}`},
		below: {`{"type":"agent_metadata","n":1}`, `{"b":1}`, `{"type":"agent_metadata","n":2}`},
	} {
		if n, err := f.WriteTranscript(key, sequence(nil, entries...)); n != 3 || err != nil {
			t.Errorf("%v: %d entries, error %v", key, n, err)
		}
	}
	for name, want := range map[string]string{
		"s.jsonl":                   "{\"a\":1}\n{\"a\":\"b\\n\"}\n{\"type\":\"agent_metadata\"}\n",
		"s/subagents/w/a.jsonl":     "{\"b\":1}\n",
		"s/subagents/w/a.meta.json": `{"n":2}`,
	} {
		content, err := os.ReadFile(filepath.Join(f.Path(), "projects", "p", name))
		if string(content) != want || err != nil {
			t.Errorf("%s: %q, error %v", name, content, err)
		}
	}
}

func TestWriteTranscriptFails(t *testing.T) {
	t.Parallel()
	failure := errors.New("no more")
	good := wire.SessionKey{Project: "p", SessionID: "s"}
	tests := []struct {
		name    string
		key     wire.SessionKey
		entries iter.Seq2[wire.JSON, error]
		n       int
		words   string // empty for no error
	}{
		{"no entries", good, sequence(nil), 0, ""},
		{"an error", good, sequence(failure, `{}`), 1, "no more"},
		{"not an object", good, sequence(nil, `{}`, `null`), 1, "entry 2 of p/s: not a JSON object"},
		{"an empty entry", good, sequence(nil, ""), 0, "entry 1 of p/s"},
		{"half an object on two lines", good, sequence(nil, "{\n\"a\""), 0, "entry 1 of p/s"},
		{"a way out", wire.SessionKey{Project: "p", SessionID: ".."}, sequence(nil, `{}`), 0, "session key"},
		{"a way out below", wire.SessionKey{Project: "p", SessionID: "s", Subpath: "../../x"}, sequence(nil, `{}`), 0,
			"subpath"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, parent := newFolder(t)
			n, err := f.WriteTranscript(tt.key, tt.entries)
			if n != tt.n || (err != nil) != (tt.words != "") || err != nil && !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%d entries, error %v", n, err)
			}
			wantIn(t, parent, filepath.Base(f.Path()))
		})
	}
}

// A link in the directory does not lead a transcript out of it.
func TestWriteTranscriptOverALink(t *testing.T) {
	t.Parallel()
	f, _ := newFolder(t)
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(f.Path(), "projects")); err != nil {
		t.Skip(err) // some systems don't let everybody make links
	}
	if _, err := f.WriteTranscript(wire.SessionKey{Project: "p", SessionID: "s"}, sequence(nil, `{}`)); err == nil {
		t.Error("it was written")
	}
	wantIn(t, elsewhere)
}
