package record

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
)

func TestTraces(t *testing.T) {
	names := []string{"/tmp", "/home/ada", "box17", "vm"}
	for text, want := range map[string][]string{
		`{"a":"/tmp/x"}`:                     {"/tmp"},
		`{"a":"see /tmp."}`:                  {"/tmp"},
		`{"a":"/home/dev/tmp/x"}`:            nil,
		`{"a":"/tmpfs"}`:                     nil,
		`{"a":"/home/ada"}`:                  {"/home/ada"},
		`{"a":"/home/adam"}`:                 nil,
		`{"a":"on box17: up"}`:               {"box17"},
		`{"a":"box170"}`:                     nil,
		`{"data":"AA/vm+vm=="}`:              nil,
		`{"a":"/home/ada/x","host":"box17"}`: {"/home/ada", "box17"},
	} {
		if diff := cmp.Diff(want, traces(text, names)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestMachineNames(t *testing.T) {
	t.Setenv("HOME", "/home/dev")
	t.Setenv("USER", "root")
	t.Setenv("TMPDIR", "/scratch")
	names := machineNames()
	if !slices.Contains(names, "/scratch") || slices.Contains(names, "/home/dev") || slices.Contains(names, "root") {
		t.Errorf("%q", names)
	}
}

// TestRedactorOfAStage hides every folder of a run.
func TestRedactorOfAStage(t *testing.T) {
	model := clewtest.NewModel(t)
	stage := newStage(t.Context(), model, workFolder(t))
	r := newRedactor(stage, new(Scenario), new(Recording))
	frame := `{"a":` + quote(stage.Path("x")) + `,"b":` + quote(model.ConfigDir()) + `,"c":` + quote(model.Home()) +
		`,"d":"` + folderName(stage.Work) + `","e":` + quote(filepath.Join(variable(model.Env(), "TMPDIR"), "y")) +
		`,"f":"` + model.URL() + `"}`
	want := `{"a":"/home/dev/project/x","b":"/home/dev/.claude","c":"/home/dev","d":"-home-dev-project",` +
		`"e":"/home/dev/tmp/y","f":"http://127.0.0.1:8080"}`
	got := strings.ReplaceAll(r.Frame(frame), `\\`, "/") // what follows a path on Windows
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := r.Traces(got); len(found) > 0 {
		t.Errorf("traces %q", found)
	}
	if found := r.Traces(frame); len(found) < 5 {
		t.Errorf("traces of the frame as it was: %q", found)
	}
}

func TestOwnTexts(t *testing.T) {
	said, own := strings.Repeat("said by the agent ", 4), strings.Repeat("said by the host\n", 4)
	rec := new(Recording)
	rec.add(fromAgent, `{"a":`+quote(said)+`}`)
	rec.add(fromHost, `{"a":`+quote(said)+`,"b":`+quote(own)+`,"c":"short"}`)
	s := &Scenario{Own: []string{"red"}, Files: map[string]string{"x": "content"}}
	if diff := cmp.Diff([]string{own, "content", "red"}, ownTexts(s, rec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
