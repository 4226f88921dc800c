package program_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/cmd/clew/dev/record"
	"github.com/clewdev/clew/cmd/clew/internal/demo"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// demoRecordings is the directory in which package demo keeps its recordings.
const demoRecordings = "../../../cmd/clew/internal/demo/recording"

// demoAnswers are the user's answers to the demo's question, by the name of the recording.
var demoAnswers = map[string]permission.Result{
	"allowed": permission.Allow(),
	"denied":  permission.Deny("The user denied this."),
}

// The recordings of the demo are what the agent does today.
func TestDemoRecordings(t *testing.T) {
	t.Parallel()
	for name := range demoAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, err := fs.Sub(os.DirFS(demoRecordings), name)
			if err != nil {
				t.Fatal(err)
			}
			played := recordDemo(t, name)
			if diff := cmp.Diff(demoShape(t, kept), demoShape(t, os.DirFS(played))); diff != "" {
				t.Errorf("it is another one now, run make record (-kept +played):\n%s", diff)
			}
		})
	}
}

// The sessions of other days are what the agent does today.
func TestDemoPasts(t *testing.T) {
	t.Parallel()
	for _, past := range demo.Pasts() {
		t.Run(past.Name, func(t *testing.T) {
			t.Parallel()
			kept := os.DirFS(filepath.Join(demoRecordings, "past", past.Name))
			played := os.DirFS(recordPast(t, past))
			for _, name := range []string{"transcript.jsonl"} {
				want, got := demoOutline(t, demoText(t, kept, name)), demoOutline(t, demoText(t, played, name))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("it is another one now, run make record (-kept +played):\n%s", diff)
				}
			}
		})
	}
}

// recordPast runs a session of another day with the real agent, and returns the directory of its files.
func recordPast(t *testing.T, past *demo.Past) string {
	t.Helper()
	work := filepath.Join(t.TempDir(), past.Name)
	if err := past.Write(work); err != nil {
		t.Fatal(err)
	}
	model, err := past.Start(t.Context(), work)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	opts := model.Options(work, model.ConfigDir())
	scene.BePatient(opts)
	var dialogue bytes.Buffer
	opts.AgentPath, opts.Debug.Record, opts.AllowedTools = clewtest.RealAgent(t), &dialogue, []string{"Bash", "Edit", "Write"}
	session, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range past.Prompts {
		for _, err := range session.Turn(t.Context(), clew.Text(prompt)) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	own := slices.Concat(demoTexts(t, dialogue.String()), past.Prompts, past.Printed, past.Said())
	for _, text := range past.Files {
		own = append(own, text)
		own = append(own, strings.Split(strings.TrimSpace(text), "\n")...)
	}
	slices.SortFunc(own, func(a, b string) int { return len(b) - len(a) })
	ids := [2]string{"_clewtest", "_" + past.Name} // those of an answer are its own
	r := &demoRedactor{machine: record.Redactor{Replace: append(demoPlaces(model, work, past.Dir()), ids), Own: own}}
	dir := t.TempDir()
	for path, target := range demoFiles(t, model.ConfigDir()) {
		r.copyLines(t, path, filepath.Join(dir, target))
	}
	return dir
}

// TestRecordDemo writes the recordings; "make record" runs it.
func TestRecordDemo(t *testing.T) {
	if os.Getenv("CLEW_RECORD") == "" {
		t.Skip("CLEW_RECORD is not set")
	}
	for name := range demoAnswers {
		keepDemo(t, recordDemo(t, name), name)
	}
	for _, past := range demo.Pasts() {
		keepDemo(t, recordPast(t, past), filepath.Join("past", past.Name))
	}
}

// keepDemo replaces a recording.
func keepDemo(t *testing.T, played, name string) {
	t.Helper()
	kept := filepath.Join(demoRecordings, name)
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(kept, os.DirFS(played)); err != nil {
		t.Fatal(err)
	}
}

// recordDemo runs the demo with the real agent and returns the directory of the recording: the
// dialogue and the files of the session, without traces of this machine.
func recordDemo(t *testing.T, name string) string {
	t.Helper()
	work := filepath.Join(t.TempDir(), "slug")
	if err := demo.Lay(work); err != nil {
		t.Fatal(err)
	}
	model, err := demo.StartModel(t.Context(), work, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	opts := model.Options(work, model.ConfigDir())
	scene.BePatient(opts)
	var dialogue bytes.Buffer
	opts.AgentPath, opts.Debug.Record = clewtest.RealAgent(t), &dialogue
	opts.CanUseTool = func(context.Context, *permission.Request) (permission.Result, error) {
		return demoAnswers[name], nil
	}
	if _, err := clew.Run(t.Context(), demo.Prompt, opts); err != nil {
		t.Fatal(err)
	}
	r := &demoRedactor{machine: record.Redactor{Replace: demoPlaces(model, work, demo.RecordedDir), Own: demoTexts(t, dialogue.String())}}
	dir := t.TempDir()
	said := record.Parse(withoutNotes(dialogue.String()))
	said.Lines = joinInputs(said.Lines)
	r.write(t, filepath.Join(dir, "dialogue.txt"), r.machine.Redact(said).String())
	for path, target := range demoFiles(t, model.ConfigDir()) {
		r.copyLines(t, path, filepath.Join(dir, target))
	}
	return dir
}

// demoPlaces maps directories of this machine to their replacements.
func demoPlaces(model *demo.Model, work, recorded string) [][2]string {
	var pairs [][2]string
	for place, name := range map[string]string{
		work: recorded, model.ConfigDir(): "/home/dev/.claude", model.Home(): "/home/dev",
		filepath.Join(filepath.Dir(model.Home()), "tmp"): "/home/dev/tmp",
	} {
		pairs = append(pairs, [2]string{place, name}, [2]string{dashed(place), dashed(name)})
	}
	return append(pairs, [2]string{strings.TrimPrefix(model.URL(), "http://"), "127.0.0.1:8080"})
}

// dashed returns the name of the directory in which the agent keeps the sessions of a path.
func dashed(path string) string {
	return regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(path, "-")
}

// demoTexts returns the scenario's own texts: the project files, line by line, and the model's
// replies.
func demoTexts(t *testing.T, dialogue string) []string {
	t.Helper()
	own := []string{demo.Prompt, demo.Finding, "FAIL  Hello, World!: got hello--world-, want hello-world"}
	for _, name := range []string{"slug.sh", "test.sh"} {
		text, err := os.ReadFile(filepath.Join("../../../cmd/clew/internal/demo/project", name))
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	for _, frame := range record.Parse(dialogue).Frames('<') {
		if m, ok := wire.Decode([]byte(frame)).(*wire.AssistantMessage); ok {
			for _, block := range m.Content {
				own = append(own, blockTexts(t, block)...)
			}
		}
	}
	slices.SortFunc(own, func(a, b string) int { return len(b) - len(a) })
	return own
}

func blockTexts(t *testing.T, block wire.Block) []string {
	t.Helper()
	switch b := block.(type) {
	case *wire.TextBlock:
		return []string{b.Text}
	case *wire.ToolUseBlock:
		var input map[string]any
		if err := b.Input.Decode(&input); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, value := range input {
			texts = append(texts, fmt.Sprint(value))
		}
		return texts
	}
	return nil
}

// demoFiles returns the files of the only session below a settings directory, and their names in a
// recording.
func demoFiles(t *testing.T, config string) map[string]string {
	t.Helper()
	mains, err := filepath.Glob(filepath.Join(config, "projects", "*", "*.jsonl"))
	if err != nil || len(mains) != 1 {
		t.Fatalf("transcripts: %q, %v", mains, err)
	}
	agents, err := filepath.Glob(filepath.Join(strings.TrimSuffix(mains[0], ".jsonl"), "subagents", "*"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{mains[0]: "transcript.jsonl"}
	for _, path := range agents {
		files[path] = filepath.Join("subagents", filepath.Base(path))
	}
	return files
}

// A demoRedactor takes the machine out of a recording.
type demoRedactor struct{ machine record.Redactor }

// agentNotes are the agent's long notes on the report of a subagent and on a change.
var agentNotes = regexp.MustCompile(`(\[Subagent hand-back\]|has been updated successfully\.)(.*?The report follows:| \([^"]*?\))`)

func withoutNotes(text string) string { return agentNotes.ReplaceAllString(text, "$1") }

// partialInput is a piece of a tool's input, in a separate frame.
var partialInput = regexp.MustCompile(`"partial_json":"((?:[^"\\]|\\.)*)"`)

// joinInputs makes one frame of the pieces of a tool's input: a path that is cut in two can't be
// found.
func joinInputs(lines []record.Line) []record.Line {
	var joined []record.Line
	begun := false
	for _, line := range lines {
		piece := partialInput.FindStringSubmatch(line.Text)
		if n := len(joined) - 1; piece != nil && begun {
			old := partialInput.FindStringSubmatch(joined[n].Text)
			joined[n].Text = strings.Replace(joined[n].Text, old[0], `"partial_json":"`+old[1]+piece[1]+`"`, 1)
			continue
		}
		joined, begun = append(joined, line), piece != nil
	}
	return joined
}

func (r *demoRedactor) copyLines(t *testing.T, path, target string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString(r.machine.Frame(withoutNotes(line)))
	}
	r.write(t, target, b.String())
}

func (r *demoRedactor) write(t *testing.T, path, text string) {
	t.Helper()
	if found := r.machine.Traces(text); len(found) > 0 {
		t.Fatalf("%s tells of this machine: %q", path, found)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A recordingShape is the part that two recordings of the demo have in common.
type recordingShape struct {
	Dialogue record.Shape
	Main     []string
	Agent    []string
}

func demoShape(t *testing.T, recording fs.FS) recordingShape {
	t.Helper()
	agents, err := fs.Glob(recording, "subagents/*.jsonl")
	if err != nil || len(agents) != 1 {
		t.Fatalf("subagents: %q, %v", agents, err)
	}
	return recordingShape{
		Dialogue: record.ShapeOf(record.Parse(demoText(t, recording, "dialogue.txt"))),
		Main:     demoOutline(t, demoText(t, recording, "transcript.jsonl")),
		Agent:    demoOutline(t, demoText(t, recording, agents[0])),
	}
}

func demoText(t *testing.T, recording fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(recording, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// demoOutline returns what a transcript shows, a line for each chunk and each of its items.
func demoOutline(t *testing.T, text string) []string {
	t.Helper()
	tr, err := transcript.Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, chunk := range tr.Chunks {
		lines = append(lines, chunk.Type.String()+": "+chunk.Text)
		for _, item := range chunk.Items {
			lines = append(lines, fmt.Sprintf("  %s %s %s %t", item.Type, item.Text, item.ToolName, item.ToolError))
		}
	}
	return lines
}

// The agent itself does what the recording shows: the file is mended, and the session is there to
// be shown.
func TestRealDemo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	stdout, stderr, code := s.run(t, "demo", "--real", "--dir", "tour")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{"\n  * Read: ", "yes (says the demo)\n", "\nFixed: ", "\n$ clew show last\n", "Find the cause\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q on stdout:\n%s", want, stdout)
		}
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "tour", "slug", "slug.sh"))
	if err != nil || !strings.Contains(string(text), "tr -cs") {
		t.Errorf("slug.sh is %q, %v", text, err)
	}
	if len(s.model.AllRequests()) > 0 {
		t.Error("the demo has asked another model than its own")
	}
}
