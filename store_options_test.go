package clew

import (
	"errors"
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
		{"all of them", Options{Store: store, StoreProject: "p", StoreEager: true, StoreTimeout: time.Second}, "", ""},
		{"with a transport", Options{Store: store, Transport: nopTransport{}}, "", ""},
		{"resume", Options{Store: store, Resume: id}, "", ""},
		{"resume of a title", Options{Store: store, Resume: "my session"}, "Resume", "ID of a session"},
		{"continue as a process", Options{Store: store, Continue: true, Transport: &ProcessTransport{}}, "", ""},
		{"continue elsewhere", Options{Store: store, Continue: true, Transport: nopTransport{}}, "Store", "Transport"},
		{"resume elsewhere", Options{Store: store, Resume: id, Transport: &ProcessTransport{
			Wrap: func(*Launch) error { return nil },
		}}, "Store", "Transport"},
		{"off the disk", Options{Store: store, Ephemeral: true}, "Store", "Ephemeral"},
		{"with checkpoints", Options{Store: store, EnableFileCheckpointing: true}, "Store", "EnableFileCheckpointing"},
		{"project without a store", Options{StoreProject: "p"}, "StoreProject", "needs Store"},
		{"eager without a store", Options{StoreEager: true}, "StoreEager", "needs Store"},
		{"time-out without a store", Options{StoreTimeout: 1}, "StoreTimeout", "needs Store"},
		{"negative time-out", Options{Store: store, StoreTimeout: -1}, "StoreTimeout", "negative"},
		{"project that is a path", Options{Store: store, StoreProject: "../p"}, "StoreProject", "name of a folder"},
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

// The folder of the agent's settings follows from the agent's own environment.
func TestConfigPlace(t *testing.T) {
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
		named     bool
	}{
		{"the home", []string{variable + home}, filepath.Join(home, ".claude"), home, false},
		{"a folder", []string{variable + home, "CLAUDE_CONFIG_DIR=" + work}, work, work, true},
		{"no folder", []string{variable + home, "CLAUDE_CONFIG_DIR="}, filepath.Join(home, ".claude"), home, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := (&Options{InheritEnv: []string{}, Env: tt.env}).configPlace()
			if got.dir != tt.dir || got.home != tt.home || got.named != tt.named {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestProjectOfAFolder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		named bool
		want  string
	}{
		{"", true, "-w"},
		{"mine", true, "mine"},
		{"mine", false, "-w"},
		{"not/mine", true, "-w"},
	}
	for _, tt := range tests {
		place := configPlace{env: environment{entries: []string{"CLAUDE_CODE_PROJECT_DIR_NAME=" + tt.name}}}
		if got := place.project("/w", tt.named); got != tt.want {
			t.Errorf("%q, named %v: got %q, want %q", tt.name, tt.named, got, tt.want)
		}
	}
}

// On this machine a transcript lies in the agent's own folder, whichever of its names the agent uses.
func TestKeysOnThisMachine(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), sessionfile.Folder)
	other := filepath.Join(t.TempDir(), sessionfile.Folder)
	f := &keyFinder{roots: func() []string { return []string{root, other} }}
	want := wire.SessionKey{Project: "p", SessionID: "s"}
	for _, folder := range []string{root, other} {
		got, err := f.find(filepath.Join(folder, "p", "s.jsonl"))
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

// Whatever path an agent names, its key stays inside of a store.
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
