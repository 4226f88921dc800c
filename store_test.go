package clew

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

func TestStoreOptions(t *testing.T) {
	t.Parallel()
	const id = "11111111-2222-4333-8444-555555555555"
	store := nopStore{}
	tests := []struct {
		name   string
		o      Options
		option string // "" means that nothing is wrong
		reason string // a part of it
	}{
		{"all of them", Options{Store: StoreOptions{Store: store, Project: "p", Eager: true, Timeout: time.Second}}, "", ""},
		{"with a transport", Options{Store: StoreOptions{Store: store}, Transport: nopTransport{}}, "", ""},
		{"resume", Options{Store: StoreOptions{Store: store}, Session: SessionOptions{Resume: id}}, "", ""},
		{"resume of a title", Options{Store: StoreOptions{Store: store}, Session: SessionOptions{Resume: "my session"}}, "Session.Resume", "ID of a session"},
		{"continue as a process", Options{Store: StoreOptions{Store: store}, Session: SessionOptions{Continue: true}, Transport: &ProcessTransport{}}, "", ""},
		{"continue elsewhere", Options{Store: StoreOptions{Store: store}, Session: SessionOptions{Continue: true}, Transport: nopTransport{}}, "Store.Store", "Transport"},
		{"resume elsewhere", Options{Store: StoreOptions{Store: store}, Session: SessionOptions{Resume: id}, Transport: &ProcessTransport{
			Wrap: func(*Launch) error { return nil },
		}}, "Store.Store", "Transport"},
		{"off the disk", Options{Store: StoreOptions{Store: store}, Session: SessionOptions{Ephemeral: true}}, "Store.Store", "Session.Ephemeral"},
		{"with checkpoints", Options{Store: StoreOptions{Store: store}, EnableFileCheckpointing: true}, "Store.Store", "EnableFileCheckpointing"},
		{"project without a store", Options{Store: StoreOptions{Project: "p"}}, "Store.Project", "needs Store.Store"},
		{"eager without a store", Options{Store: StoreOptions{Eager: true}}, "Store.Eager", "needs Store.Store"},
		{"time-out without a store", Options{Store: StoreOptions{Timeout: 1}}, "Store.Timeout", "needs Store.Store"},
		{"negative time-out", Options{Store: StoreOptions{Store: store, Timeout: -1}}, "Store.Timeout", "negative"},
		{"project that is a path", Options{Store: StoreOptions{Store: store, Project: "../p"}}, "Store.Project", "name of a directory"},
		{"the flag itself", Options{ExtraArgs: []string{"--session-mirror"}}, "ExtraArgs", "the option Store"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.o.validate()
			bad, ok := errors.AsType[*OptionsError](err)
			if ok != (tt.option != "") || ok && (bad.Option != tt.option || !strings.Contains(bad.Reason, tt.reason)) {
				t.Errorf("error %v, want one about %s: %s", err, tt.option, tt.reason)
			}
		})
	}
}

// A directory of this machine that has no session can't be continued.
func TestCheckContinue(t *testing.T) {
	t.Parallel()
	config, dir := t.TempDir(), t.TempDir()
	fails := func(o Options) bool {
		o.Env, o.Session.Continue = append(o.Env, "CLAUDE_CONFIG_DIR="+config), true
		bad, ok := errors.AsType[*OptionsError](o.checkContinue())
		return ok && bad.Option == "Session.Continue"
	}
	if !fails(Options{Dir: dir}) {
		t.Error("a directory without sessions is no error")
	}
	if fails(Options{Dir: dir, Transport: nopTransport{}}) {
		t.Error("a directory of another machine is an error")
	}
	project := filepath.Join(config, sessionfile.Folder, sessionfile.ProjectName((&Options{Dir: dir}).workingDir()))
	if err := os.MkdirAll(filepath.Join(project, "memory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if !fails(Options{Dir: dir}) {
		t.Error("a project without sessions is no error")
	}
	if err := os.WriteFile(filepath.Join(project, "11111111-2222-4333-8444-555555555555.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if fails(Options{Dir: dir}) {
		t.Error("a directory with a session is an error")
	}
	worktree := t.TempDir()
	if err := os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if fails(Options{Dir: worktree}) {
		t.Error("a worktree is an error")
	}
}

// The directory of the agent's settings follows from the agent's own environment.
func TestConfigDirs(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), t.TempDir()
	variable := "HOME="
	if runtime.GOOS == "windows" {
		variable = "USERPROFILE="
	}
	tests := []struct {
		name      string
		env       []string
		dir, home string
		fromEnv   bool
	}{
		{"the home", []string{variable + home}, filepath.Join(home, ".claude"), home, false},
		{"a directory", []string{variable + home, "CLAUDE_CONFIG_DIR=" + work}, work, work, true},
		{"no directory", []string{variable + home, "CLAUDE_CONFIG_DIR="}, filepath.Join(home, ".claude"), home, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := (&Options{InheritEnv: []string{}, Env: tt.env}).configDirs()
			if got.settings != tt.dir || got.home != tt.home || got.fromEnv != tt.fromEnv {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestProjectOfADirectory(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		fromEnv bool
		want    string
	}{
		{"", true, "-w"},
		{"mine", true, "mine"},
		{"mine", false, "-w"},
		{"not/mine", true, "-w"},
	}
	for _, tt := range tests {
		config := configDirs{env: environment{entries: []string{"CLAUDE_CODE_PROJECT_DIR_NAME=" + tt.name}}}
		if got := config.project("/w", tt.fromEnv); got != tt.want {
			t.Errorf("%q, from the environment %v: got %q, want %q", tt.name, tt.fromEnv, got, tt.want)
		}
	}
}

// On this machine transcripts are in the agent's own directory, whichever path to it the agent
// uses.
func TestKeysOnThisMachine(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), sessionfile.Folder)
	other := filepath.Join(t.TempDir(), sessionfile.Folder)
	f := &keyFinder{roots: func() []string { return []string{root, other} }}
	want := wire.SessionKey{Project: "p", SessionID: "s"}
	for _, dir := range []string{root, other} {
		got, err := f.find(filepath.Join(dir, "p", "s.jsonl"))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
	}
	for _, file := range []string{
		filepath.Join(t.TempDir(), sessionfile.Folder, "p", "s.jsonl"), filepath.Join(root, "..", "p", "s.jsonl"),
		filepath.Join(root, "p", "s", "x.jsonl"), "p/s.jsonl", "",
	} {
		if got, err := f.find(file); err == nil {
			t.Errorf("%s is %v", file, got)
		}
	}
}

// The key of any path that an agent names stays inside the store.
func FuzzKeyOfAFile(f *testing.F) {
	for _, path := range []string{
		"/h/.claude/projects/p/s.jsonl", "/h/.claude/projects/p/s/subagents/a.jsonl", `C:\h\projects\p\s.jsonl`,
		"/h/projects/../s.jsonl", "/h/projects/p/../s.jsonl", "/projects/projects/projects/s.jsonl", "", "/projects/",
		"/projects//a/\x00.jsonl", "projects/p/s.jsonl",
	} {
		f.Add(path)
	}
	local := &keyFinder{roots: func() []string { return []string{"/h/.claude/projects"} }}
	f.Fuzz(func(t *testing.T, path string) {
		for _, finder := range []*keyFinder{{}, {project: "ours"}, local} {
			key, err := finder.find(path)
			if err != nil {
				continue
			}
			if err := key.Check(); err != nil {
				t.Errorf("%q: %v", path, err)
			}
			if !strings.HasSuffix(strings.ReplaceAll(path, `\`, "/"), key.SessionID+suffixOf(key)) {
				t.Errorf("%q is %v", path, key)
			}
		}
	})
}

// suffixOf returns what follows the ID in the path of a transcript.
func suffixOf(key wire.SessionKey) string {
	key.Project, key.SessionID = "p", "s"
	return strings.TrimPrefix(sessionfile.Path(key), "p/s")
}

// Entries at the end of a file that were not mirrored are found, but no older ones and none that
// the agent never mirrors.
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
				r.add(file, []wire.JSON{entry})
			}
			got, err := r.missed(file)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The number of entries that are kept for comparison is bounded.
func TestRecentIsBounded(t *testing.T) {
	t.Parallel()
	r := newRecent()
	for range 10 {
		r.add("f", make([]wire.JSON, 1000))
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
	r.addSidecars(file, []wire.JSON{`{"type":"agent_metadata","n":1}`})
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

// A file that can't be read counts as a loss, because entries may be missing. A file that is gone
// has none.
func TestMissedInWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "p", "s.jsonl")
	m := &mirror{
		log: slog.New(slog.DiscardHandler), recent: newRecent(),
		keys: &keyFinder{roots: func() []string { return []string{root} }},
	}
	m.recent.add(file, []wire.JSON{`{"a":1}`})
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
