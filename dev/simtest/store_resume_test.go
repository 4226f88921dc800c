package simtest_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// IDs of sessions in a store.
const (
	storedID  = "11111111-2222-4333-8444-555555555551"
	storedID2 = "11111111-2222-4333-8444-555555555552"
	storedID3 = "11111111-2222-4333-8444-555555555553"
)

// ownTemp gives this test a separate directory for temporary files.
func ownTemp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, variable := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(variable, dir)
	}
	return dir
}

// foldersIn returns the directories that sessions were written to.
func foldersIn(t *testing.T, temp string) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(temp, "claude-resume-clew-*"))
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// storing returns a store with transcripts of the project "p", by session and subpath.
func storing(transcripts map[string][]wire.JSON) *fakeStore {
	store := &fakeStore{entries: make(map[wire.SessionKey][]wire.JSON)}
	var below []string
	for path, entries := range transcripts {
		id, subpath, _ := strings.Cut(path, "/")
		store.entries[wire.SessionKey{Project: "p", SessionID: id, Subpath: subpath}] = entries
		if subpath != "" {
			below = append(below, subpath)
		}
	}
	store.subpaths = func(context.Context, wire.SessionKey) ([]string, error) { return below, nil }
	return store
}

// reporting returns options for an agent that reports how it was started.
func reporting(t *testing.T, opts clew.Options) *clew.Options {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts.AgentPath, opts.Store.Project = path, "p"
	opts.Env = append(opts.Env, mirrorVariable+"=1", "GORACE=atexit_sleep_ms=0")
	return &opts
}

// A resumed session is written to a private directory, and nowhere else, which is removed at its
// end.
func TestResumeFromStore(t *testing.T) {
	temp := ownTemp(t)
	store := storing(map[string][]wire.JSON{
		storedID: {`{"type":"user","n":1}`, "{\n  \"n\": 2\n}"},
		storedID + "/subagents/agent-1": {
			`{"type":"agent_metadata","n":1}`, `{"n":3}`, `{"type":"agent_metadata","n":2}`,
		},
		storedID + "/subagents/agent-2":     {`{"type":"agent_metadata","n":3}`},
		storedID + "/../../../escaped":      {`{}`},
		storedID + "/subagents/../escaped":  {`{}`},
		storedID + `/subagents\..\escaped`:  {`{}`},
		storedID + "/" + temp + "/absolute": {`{}`},
		storedID + "//absolute":             {`{}`},
	})
	config, work := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(config, ".credentials.json"), `{"claudeAiOauth":{"accessToken":"a","refreshToken":"r"}}`)
	s := dial(t, reporting(t, clew.Options{
		Store: clew.StoreOptions{Store: store}, Session: clew.SessionOptions{Resume: storedID}, Dir: work,
		Env: []string{"CLAUDE_CONFIG_DIR=" + config, "CLAUDE_CODE_PROJECT_DIR_NAME=named"},
	}))
	start := decoded[mirrored](t, string(s.Info().Raw()))
	for _, want := range []string{"--resume=" + storedID, "--session-mirror"} {
		if !slices.Contains(start.Args, want) {
			t.Errorf("arguments %q, want %s among them", start.Args, want)
		}
	}
	folders := foldersIn(t, temp)
	if len(folders) != 1 || !slices.Contains(start.Env, "CLAUDE_CONFIG_DIR="+folders[0]) {
		t.Fatalf("folders %q, environment %q", folders, start.Env)
	}
	want := map[string]string{
		".clew-lock":                            "",
		".credentials.json":                     `{"claudeAiOauth":{"accessToken":"a"}}`,
		"projects/named/" + storedID + ".jsonl": "{\"type\":\"user\",\"n\":1}\n{\"n\":2}\n",
		"projects/named/" + storedID + "/subagents/agent-1.jsonl":     "{\"n\":3}\n",
		"projects/named/" + storedID + "/subagents/agent-1.meta.json": `{"n":2}`,
		"projects/named/" + storedID + "/subagents/agent-2.meta.json": `{"n":3}`,
	}
	if diff := cmp.Diff(want, privateFiles(t, folders[0])); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	wantClosed(t, s)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// privateFiles returns the files below a directory. It fails if another user could read one.
func privateFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if entry.IsDir() {
			mode = 0o700
		}
		if info.Mode().Perm() != mode && runtime.GOOS != "windows" {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if entry.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The newest session is the newest that is a conversation.
func TestContinueFromStore(t *testing.T) {
	temp := ownTemp(t)
	now := time.Now()
	tests := []struct {
		name  string
		times map[string]time.Time
		want  string // an argument
		laid  int
	}{
		{"one", map[string]time.Time{storedID: now}, "--resume=" + storedID, 1},
		{"of two", map[string]time.Time{storedID: now, storedID2: now.Add(1)}, "--resume=" + storedID2, 1},
		{"that is not a subagent's", map[string]time.Time{storedID: now, storedID3: now.Add(1)}, "--resume=" + storedID, 1},
		{"with a proper ID", map[string]time.Time{storedID: now, "../x": now.Add(1)}, "--resume=" + storedID, 1},
		{"with entries", map[string]time.Time{storedID: now, strings.Replace(storedID, "1", "9", 1): now.Add(1)},
			"--resume=" + storedID, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := storing(map[string][]wire.JSON{
				storedID: {`{"n":1}`}, storedID2: {`{"isSidechain":false}`}, storedID3: {`{"isSidechain":true}`}, "../x": {`{}`},
			})
			store.sessions = func(_ context.Context, project string) (map[string]time.Time, error) {
				if project != "p" {
					t.Errorf("asked for the project %q", project)
				}
				return test.times, nil
			}
			s := dial(t, reporting(t, clew.Options{Store: clew.StoreOptions{Store: store}, Session: clew.SessionOptions{Continue: true}}))
			args := decoded[mirrored](t, string(s.Info().Raw())).Args
			got := slices.DeleteFunc(args, func(arg string) bool {
				return !strings.HasPrefix(arg, "--resume") && arg != "--continue"
			})
			if diff := cmp.Diff([]string{test.want}, got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if n := len(foldersIn(t, temp)); n != test.laid {
				t.Errorf("%d folders", n)
			}
			wantClosed(t, s)
		})
	}
}

// Neither the store nor the agent's own directory has a session.
func TestContinueWithoutASession(t *testing.T) {
	temp := ownTemp(t)
	_, err := clew.Connect(t.Context(), reporting(t, clew.Options{Store: clew.StoreOptions{Store: storing(nil)}, Session: clew.SessionOptions{Continue: true}, Dir: t.TempDir()}))
	if refused, ok := errors.AsType[*clew.OptionsError](err); !ok || !strings.Contains(refused.Error(), "has no session yet") {
		t.Errorf("error %v", err)
	}
	if n := len(foldersIn(t, temp)); n != 0 {
		t.Errorf("%d folders", n)
	}
}

// A session that is not in the store is left to the agent, which looks in its own directory. The
// log reports it.
func TestResumeOfWhatIsNotInTheStore(t *testing.T) {
	temp := ownTemp(t)
	var log strings.Builder
	s := dial(t, reporting(t, clew.Options{
		Store: clew.StoreOptions{Store: &fakeStore{}}, Session: clew.SessionOptions{Resume: storedID}, Env: []string{"CLAUDE_CONFIG_DIR=/mine"},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}))
	wantClosed(t, s)
	if !strings.Contains(log.String(), `"the session to resume is not in the store" project=p resume=`+storedID) {
		t.Errorf("log %s", log.String())
	}
	start := decoded[mirrored](t, string(s.Info().Raw()))
	if !slices.Contains(start.Args, "--resume="+storedID) || !slices.Contains(start.Env, "CLAUDE_CONFIG_DIR=/mine") {
		t.Errorf("started with %q in %q", start.Args, start.Env)
	}
	if folders := foldersIn(t, temp); len(folders) > 0 {
		t.Errorf("folders %q", folders)
	}
}

// The error names a store that fails, hangs or panics, and nothing is left over.
func TestResumeFails(t *testing.T) {
	temp := ownTemp(t)
	tests := []struct {
		name   string
		change func(s *fakeStore, o *clew.Options)
		method string
		cause  error
		words  string
	}{
		{"load fails", func(s *fakeStore, _ *clew.Options) {
			s.load = func(context.Context, wire.SessionKey) iter.Seq2[wire.JSON, error] {
				return func(yield func(wire.JSON, error) bool) {
					if yield(`{}`, nil) {
						yield("", errStore)
					}
				}
			}
		}, "Load", errStore, "Load of p/" + storedID},
		{"load hangs", func(s *fakeStore, _ *clew.Options) {
			s.load = func(ctx context.Context, _ wire.SessionKey) iter.Seq2[wire.JSON, error] {
				return func(yield func(wire.JSON, error) bool) {
					yield(`{}`, nil)
					<-ctx.Done()
				}
			}
		}, "Load", context.DeadlineExceeded, "no answer within 1m0s"},
		{"load never ends", func(s *fakeStore, _ *clew.Options) {
			s.load = func(context.Context, wire.SessionKey) iter.Seq2[wire.JSON, error] {
				return func(yield func(wire.JSON, error) bool) {
					for range time.Tick(time.Second) {
						if !yield(`{}`, nil) {
							return
						}
					}
				}
			}
		}, "Load", context.DeadlineExceeded, "no answer within 1m0s"},
		{"load panics", func(s *fakeStore, _ *clew.Options) {
			s.load = func(context.Context, wire.SessionKey) iter.Seq2[wire.JSON, error] { panic("broken") }
		}, "Load", nil, "panic: broken"},
		{"load of what is no entry", func(s *fakeStore, _ *clew.Options) {
			s.load = func(context.Context, wire.SessionKey) iter.Seq2[wire.JSON, error] { return entriesOf(`{}`, `[1]`) }
		}, "Load", nil, "entry 2 of p/" + storedID + ": not a JSON object"},
		{"subpaths fail", func(s *fakeStore, _ *clew.Options) {
			s.subpaths = func(context.Context, wire.SessionKey) ([]string, error) { return nil, errStore }
		}, "Subpaths", errStore, "Subpaths of p/" + storedID},
		{"sessions fail", func(s *fakeStore, o *clew.Options) {
			o.Session.Resume, o.Session.Continue = "", true
			s.sessions = func(context.Context, string) (map[string]time.Time, error) { return nil, errStore }
		}, "Sessions", errStore, "Sessions of p:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storing(map[string][]wire.JSON{storedID: {`{}`}})
				opts := &clew.Options{
					Store: clew.StoreOptions{Store: store, Project: "p"}, Session: clew.SessionOptions{Resume: storedID}, Env: []string{"CLAUDE_CODE_PROJECT_DIR_NAME=p"},
				}
				test.change(store, opts)
				_, err := clew.Connect(t.Context(), opts)
				failure, ok := errors.AsType[*clew.StoreError](err)
				if !ok || failure.Method != test.method || !strings.Contains(err.Error(), test.words) {
					t.Errorf("error %v", err)
				}
				if test.cause != nil {
					wantError(t, err, test.cause)
				}
				time.Sleep(time.Minute) // a store that was not waited for returns
			})
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, error %v", left, err)
			}
		})
	}
}

// A context that ends while the store is read ends it at once.
func TestResumeIsCanceled(t *testing.T) {
	temp := ownTemp(t)
	synctest.Test(t, func(t *testing.T) {
		store := storing(map[string][]wire.JSON{storedID: {`{}`}})
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		defer close(release)
		store.subpaths = func(context.Context, wire.SessionKey) ([]string, error) {
			cancel()
			<-release // it does not look at its context
			return nil, nil
		}
		_, err := clew.Connect(ctx, &clew.Options{Store: clew.StoreOptions{Store: store, Project: "p"}, Session: clew.SessionOptions{Resume: storedID}})
		wantError(t, err, context.Canceled)
	})
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}
