package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
)

// TestCompatibilityTable compares the table of the README with the scenarios of TestScenarios, and with the dialogues
// that are kept, each of which has to decode in full.
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
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if table := Table(list); !strings.Contains(string(readme), "\n"+table+"\n") {
		t.Errorf("the compatibility table of README.md should be:\n\n%s", table)
	}
}

// countDialogues returns how many dialogues in a folder decode with nothing unknown and nothing invalid.
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
