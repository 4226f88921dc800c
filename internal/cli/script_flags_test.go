package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Each flag of each command that the help shows is used in a script.
func TestScriptsUseAllFlags(t *testing.T) {
	t.Parallel()
	lines := scriptLines(t)
	for _, cmd := range commandsOf(newRoot(Streams{})) {
		name := cmd.CommandPath() + " "
		used := map[string]bool{"--help": true} // by all
		for _, line := range lines {
			// What chat tells the agent is what run tells it.
			line = strings.Replace(line+" ", "clew run ", "clew run clew chat ", 1)
			if _, args, ok := strings.Cut(line, name); ok {
				for _, flag := range flagPattern.FindAllStringSubmatch(args, -1) {
					used[flag[1]] = true
				}
			}
		}
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !used["--"+f.Name] && !used["-"+f.Shorthand] {
				t.Errorf("no script has %s--%s", name, f.Name)
			}
		})
	}
}

// Scripts end with each code that there is.
func TestScriptsEndWithAllCodes(t *testing.T) {
	t.Parallel()
	all := strings.Join(scriptLines(t), "\n")
	for _, code := range []string{"exec clew", "exits 1 ", "exits 2 ", "exits 3 ", "exits 4 ", "exits 130 "} {
		if !strings.Contains(all, code) {
			t.Errorf("no script has %s", code)
		}
	}
}

var flagPattern = regexp.MustCompile(`(?:^|[ '"])(--?[a-zA-Z][a-zA-Z-]*)`)

// scriptLines returns the commands of all scripts, and not the files in them.
func scriptLines(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	var lines []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		commands, _, _ := strings.Cut(string(text), "\n-- ")
		lines = append(lines, strings.Split(commands, "\n")...)
	}
	return lines
}
