package clew

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLaunch(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CLEW_TEST_LAUNCH", "1")
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("sub")
	if err != nil {
		t.Fatal(err)
	}
	o := &Options{Dir: "sub", Model: "opus", InheritEnv: []string{"CLEW_TEST_LAUNCH"}, Stderr: func(string) {}}
	got, err := o.launch("/bin/agent")
	if err != nil {
		t.Fatal(err)
	}
	if got.Stderr == nil {
		t.Error("no Stderr")
	}
	got.Stderr = nil
	want := &Launch{
		Path: "/bin/agent", Args: slices.Concat(fixedArgs, []string{"--model=opus"}), Dir: dir, CloseTimeout: 5 * time.Second,
		Env: slices.Concat([]string{"CLEW_TEST_LAUNCH=1"}, ownVariables, []string{"PWD=" + dir}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("launch (-want +got):\n%s", diff)
	}
}

func TestLaunchThroughTransport(t *testing.T) {
	t.Parallel()
	got, err := (&Options{Dir: "work", Transport: nopTransport{}, CloseTimeout: time.Minute}).launch("agent")
	if err != nil {
		t.Fatal(err)
	}
	if got.Dir != "work" || got.CloseTimeout != time.Minute {
		t.Errorf("folder %q, time-out %v", got.Dir, got.CloseTimeout)
	}
}

func TestLaunchRefuses(t *testing.T) {
	t.Parallel()
	got, err := (&Options{ExtraArgs: []string{"x"}}).launch("agent")
	var bad *OptionsError
	if got != nil || !errors.As(err, &bad) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNeedsInput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    Options
		want bool
	}{
		{"nothing", Options{}, false},
		{"permissions", Options{CanUseTool: nopCanUseTool}, true},
		{"questions", Options{OnQuestion: nopQuestion}, true},
		{"elicitation", Options{OnElicitation: nopElicitation}, true},
		{"dialogs", Options{OnUserDialog: nopUserDialog}, true},
		{"hooks", Options{Hooks: map[HookEvent][]HookMatcher{"Stop": {{}}}}, true},
		{"an event without hooks", Options{Hooks: map[HookEvent][]HookMatcher{"Stop": {}}}, false},
		{"a server of this process",
			Options{MCPServers: map[string]MCPServer{"p": &MCPInProcessServer{Handler: nopHandler{}}}}, true},
		{"a server outside", Options{MCPServers: map[string]MCPServer{"s": &MCPStdioServer{Command: "c"}}}, false},
	}
	for _, tt := range tests {
		if got := tt.o.needsInput(); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}
