package turns_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A session in a folder with an odd name is found again.
func TestRealFolderName(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := turnsOptions(t, model)
	opts.Dir = filepath.Join(opts.Dir, "mein Ordner – 資料 'x'")
	if err := os.Mkdir(opts.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	opts.AllowedTools = []string{"Bash"}
	model.On("Where").Reply(turnsBash("pwd"))
	model.OnToolResult(opts.Dir).Reply(clewtest.Text("Here."))
	s := turnsConnect(t, opts)
	got := turnsAsk(t, s, "Where")
	got.wantText(t, "Here.")
	if dir := turnsOf[*wire.InitMessage](got.messages)[0].CWD; dir != opts.Dir {
		t.Errorf("the agent is in %q, want %q", dir, opts.Dir)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	opts.Continue = true
	turnsAsk(t, turnsConnect(t, opts), "Where")
	if diff := cmp.Diff([]string{"Where", "Here.", "Where"}, turnsSaid(model.Requests()[2])); diff != "" {
		t.Errorf("the session that goes on (-want +got):\n%s", diff)
	}
}

// An agent can be started by another program: Wrap says how, and everything else stays as it is.
func TestRealWrap(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs the programs of Unix")
	}
	tests := []struct {
		name string
		argv []string
	}{
		{"env", []string{"env", "WRAPPED=yes"}},
		{"sh", []string{"sh", "-c", `WRAPPED=yes exec "$0" "$@"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("Look").Reply(turnsBash("echo $WRAPPED in $PWD"))
			opts := turnsOptions(t, model)
			model.OnToolResult("yes in " + opts.Dir).Reply(clewtest.Text("Wrapped."))
			opts.AllowedTools = []string{"Bash"}
			opts.Transport = &clew.ProcessTransport{Wrap: func(l *clew.Launch) error {
				path, err := exec.LookPath(test.argv[0])
				l.Args = append(append(test.argv[1:], l.Path), l.Args...)
				l.Path = path
				return err
			}}
			s := turnsConnect(t, opts)
			turnsAsk(t, s, "Look").wantText(t, "Wrapped.")
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			turnsWantGone(t, s.Info().PID)
		})
	}
}

func TestRealWrapFails(t *testing.T) {
	t.Parallel()
	opts := turnsOptions(t, clewtest.NewModel(t))
	full := errors.New("no room in the container")
	opts.Transport = &clew.ProcessTransport{Wrap: func(*clew.Launch) error { return full }}
	if _, err := clew.Connect(t.Context(), opts); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}
