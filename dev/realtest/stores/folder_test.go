package stores_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/wire"
)

// folderPattern matches the names of the temporary directories of sessions.
const folderPattern = "claude-resume-clew-*"

// inOwnTemp gives this test its own directory for temporary files.
func inOwnTemp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, variable := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(variable, dir)
	}
	return dir
}

func wantNoFolder(t *testing.T, temp string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(temp, folderPattern))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}

// settingsOf are the files of a user, as the agent finds them.
var settingsOf = map[string]string{
	".credentials.json": `{"claudeAiOauth":{"accessToken":"the-access","refreshToken":"the-refresh","expiresAt":1}}`,
	".claude.json":      `{"numStartups":7}`,
	"settings.json":     `{"cleanupPeriodDays":33,"enabledPlugins":{"a@b":true},"env":{"CLAUDE_CONFIG_DIR":"/nowhere"}}`,
}

// The directory of a session has what the agent needs, nobody else can read it, and it is removed
// with the session.
func TestRealFolder(t *testing.T) {
	temp := inOwnTemp(t)
	p := newPast(t, clew.Options{})
	model := clewtest.NewModel(t).Reply("Indeed.")
	for name, text := range settingsOf {
		if err := os.WriteFile(filepath.Join(model.ConfigDir(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	opts := p.resumes()
	looked := false
	opts.Hooks = map[hook.Event][]hook.Matcher{hook.UserPromptSubmit: {{
		Hooks: []hook.Func{func(_ context.Context, in hook.Input) (*hook.Output, error) {
			looked = true
			path := in.(*hook.UserPromptSubmitInput).TranscriptPath
			lookInto(t, temp, path)
			return nil, nil
		}},
	}}}
	s := connect(t, over(t, model, opts))
	ask(t, s, "Last")
	closeSession(t, s)
	if !looked {
		t.Error("nobody has looked into the folder")
	}
	wantNoFolder(t, temp)
}

// lookInto checks the directory that a transcript is in while the agent runs.
func lookInto(t *testing.T, temp, transcript string) {
	folders, err := filepath.Glob(filepath.Join(temp, folderPattern))
	if err != nil || len(folders) != 1 || !strings.HasPrefix(transcript, folders[0]) {
		t.Errorf("the transcript is %s, the folders are %v", transcript, folders)
		return
	}
	folder := folders[0]
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
		t.Errorf("%s is %v, error %v", folder, info, err)
	}
	_ = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, _ error) error { // the agent works there: files may be removed
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), "the-refresh") {
			t.Errorf("%s has the refresh token", path)
		}
		return nil
	})
	for name, words := range map[string]string{
		".credentials.json": `{"claudeAiOauth":{"accessToken":"the-access","expiresAt":1}}`,
		"settings.json":     `{"cleanupPeriodDays":33,"env":{}}`,
	} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if diff := cmp.Diff(words, string(content)); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// However a session ends, its directory is removed completely.
func TestRealFolderIsRemoved(t *testing.T) {
	temp := inOwnTemp(t)
	p := newPast(t, clew.Options{})
	tests := []struct {
		name string
		run  func(t *testing.T, model *clewtest.Model, opts *clew.Options) error
		ends func(error) bool
	}{
		{"a run", func(t *testing.T, _ *clewtest.Model, opts *clew.Options) error {
			_, err := clew.Run(t.Context(), "Last", opts)
			return err
		}, func(err error) bool { return err == nil }},
		{"no agent", func(t *testing.T, _ *clewtest.Model, opts *clew.Options) error {
			opts.AgentPath = filepath.Join(t.TempDir(), "none")
			_, err := clew.Connect(t.Context(), opts)
			return err
		}, is[*clew.NotFoundError]},
		{"refused", func(t *testing.T, _ *clewtest.Model, opts *clew.Options) error {
			opts.Session.ResumeAt = "7cb18dcc-06c9-4dfa-bd34-35be9a182d60"
			_, err := clew.Connect(t.Context(), opts)
			return err
		}, is[*clew.ExitError]},
		{"cancelled", func(t *testing.T, model *clewtest.Model, opts *clew.Options) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				_, _ = model.WaitRequest(ctx, 1)
				cancel()
			}()
			_, err := clew.Run(ctx, "Hang", opts)
			return err
		}, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"killed", func(t *testing.T, model *clewtest.Model, opts *clew.Options) error {
			s := connect(t, opts)
			go func() {
				_, _ = model.WaitRequest(t.Context(), 1)
				kill(t, s)
			}()
			var last error
			for _, err := range s.Turn(t.Context(), clew.Text("Hang")) {
				last = err
			}
			return last
		}, is[*clew.ExitError]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			model := clewtest.NewModel(t)
			model.On("Last").Reply(clewtest.Text("Yes."))
			model.On("Hang").Hang()
			if err := test.run(t, model, over(t, model, p.resumes())); !test.ends(err) {
				t.Errorf("error %v", err)
			}
			wantNoFolder(t, temp)
		})
	}
}

// is reports whether err is an E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// A transcript with a bad subpath is not written anywhere.
func TestRealSubpathsThatLeadElsewhere(t *testing.T) {
	temp := inOwnTemp(t)
	p := newPast(t, clew.Options{})
	for _, subpath := range []string{"../../../escaped", "/escaped", "subagents/../../../../escaped", `..\..\escaped`} {
		key := p.key
		key.Subpath = subpath
		if err := p.store.Append(t.Context(), key, []wire.JSON{`{"type":"user"}`}); err != nil {
			t.Fatal(err)
		}
	}
	p.goOn(t, p.resumes())
	wantNoFolder(t, temp)
	if _, err := os.Stat("/escaped.jsonl"); err == nil {
		t.Error("a transcript has escaped")
	}
}
