package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
)

// recordedDir is the directory of the pinned agent's dialogues.
var recordedDir = filepath.Join("..", "..", "testdata", "recorded", clewtest.AgentVersion)

// TestScenarios plays every scenario against the real agent and compares it with the recorded
// dialogue.
func TestScenarios(t *testing.T) {
	clewtest.RealAgent(t)
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			kept, err := os.ReadFile(filepath.Join(recordedDir, s.Name+".txt"))
			if err != nil {
				t.Fatalf("%v: run make record", err)
			}
			rec := play(t, s)
			for _, fault := range Faults(rec) {
				t.Error(fault)
			}
			if diff := cmp.Diff(ShapeOf(Parse(string(kept))), ShapeOf(rec)); diff != "" {
				t.Errorf("the dialogue changed (-kept +played):\n%s", diff)
			}
		})
	}
}

// TestRecord writes the dialogues of all scenarios; "make record" runs it. The variable
// CLEW_RECORD_TO names another directory, for an agent of any version and with the transcripts;
// "make adopt" sets it.
func TestRecord(t *testing.T) {
	dir, other := recordedDir, os.Getenv("CLEW_RECORD_TO")
	switch {
	case other != "":
		dir = other
	case os.Getenv("CLEW_RECORD") == "":
		t.Skip("CLEW_RECORD is not set")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			rec := play(t, s)
			if want := "CLI " + clewtest.AgentVersion + " (Claude Code)"; other == "" && rec.Lines[0].Text != want {
				t.Fatalf("recorded %q, want %q", rec.Lines[0].Text, want)
			}
			for _, fault := range Faults(rec) {
				t.Logf("written nevertheless: %s", fault)
			}
			if err := replace(filepath.Join(dir, s.Name+".txt"), rec.String()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// play runs a scenario and returns the redacted dialogue.
func play(t *testing.T, s *Scenario) *Recording {
	t.Helper()
	raw, redactor := Run(t, s)
	rec := redactor.Redact(raw)
	if found := redactor.Traces(rec.String()); len(found) > 0 {
		t.Fatalf("the redacted dialogue has traces of this machine: %q", found)
	}
	return rec
}

// replace writes a file as a whole or not at all.
func replace(path, text string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".record-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // after the rename there is no such file
	if _, err := temp.WriteString(text); err != nil {
		return err
	}
	if err := temp.Chmod(0o644); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// TestCompatibilityTable compares the table of docs/compatibility.md with the scenarios of TestScenarios and
// with the recorded dialogues. Each of these must decode in full.
func TestCompatibilityTable(t *testing.T) {
	versions, err := filepath.Glob(filepath.Join(filepath.Dir(recordedDir), "*"))
	if err != nil {
		t.Fatal(err)
	}
	var list []Coverage
	for _, dir := range versions {
		c := Coverage{Version: filepath.Base(dir), Dialogues: countDialogues(t, dir)}
		if c.Version == clewtest.AgentVersion {
			c.Played = len(Scenarios())
		}
		list = append(list, c)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	if table := Table(list); !strings.Contains(string(page), "\n"+table+"\n") {
		t.Errorf("the table of docs/compatibility.md should be:\n\n%s", table)
	}
}

// countDialogues returns how many dialogues in a directory decode with nothing unknown and nothing
// invalid.
func countDialogues(t *testing.T, dir string) int {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if faults := Faults(Parse(string(text))); len(faults) > 0 {
			t.Errorf("%s: %q", path, faults)
			continue
		}
		count++
	}
	return count
}

// TestEveryDialogueHasAScenario finds dialogues that "make record" would not write.
func TestEveryDialogueHasAScenario(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(recordedDir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range Scenarios() {
		if names[s.Name] {
			t.Errorf("two scenarios are named %s", s.Name)
		}
		if s.About == "" {
			t.Errorf("%s does not say what it is about", s.Name)
		}
		names[s.Name] = true
	}
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".txt"); !names[name] {
			t.Errorf("%s: no scenario has that name", path)
		}
	}
}
