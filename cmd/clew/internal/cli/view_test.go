package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/tui"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/golden"
)

// manualKeys returns the viewer's keys as tables in Markdown.
func manualKeys() string {
	var b strings.Builder
	for _, section := range keymap.Sections() {
		if section.Name == "Chat" || section.Name == "Questions" {
			continue
		}
		fmt.Fprintf(&b, "\n| %s | |\n|---|---|\n", section.Name)
		for _, k := range section.Bindings {
			var keys []string
			for _, key := range k.Keys {
				keys = append(keys, "`"+key+"`")
			}
			fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(keys, " "), strings.ReplaceAll(k.Text, "|", `\|`))
		}
	}
	return b.String() + "\n"
}

// The key tables in docs/program.md match the program.
func TestManualHasKeys(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- keys -->\n", "<!-- end of keys -->"
	path := filepath.Join("..", "..", "..", "..", "docs", "program.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("docs/program.md has no place for the keys")
	}
	if golden.Updates() {
		if err := os.WriteFile(path, []byte(before+begin+manualKeys()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(manualKeys(), got); diff != "" {
		t.Errorf("docs/program.md (-want +got):\n%s", diff)
	}
}

// The manual and the help of view have every action and its keys.
func TestViewHelpHasKeys(t *testing.T) {
	t.Parallel()
	root := newRoot(Streams{})
	cmd, _, err := root.Find([]string{"view"})
	if err != nil {
		t.Fatal(err)
	}
	help, page := helpScreen(cmd, 200, false), manPage(cmd)
	for _, b := range keymap.Bindings {
		if !strings.Contains(help, b.Text) || !strings.Contains(help, b.KeyNames()) {
			t.Errorf("the help lacks %s: %s", b.Action, b.Text)
		}
		if !strings.Contains(page, escapeRoff(string(b.Action))) {
			t.Errorf("the manual lacks %s", b.Action)
		}
	}
}

// A job question shows its whole input, without a look at files on this machine, and nine options
// can't be chosen with digits.
func TestJobQuestion(t *testing.T) {
	t.Parallel()
	q := ask.OfJob(&fleet.Question{Tool: "Write", Input: []byte(`{"file_path":"view_test.go","content":"echo \u001b[2J"}`), Reason: "a hook asks"}, 0)
	sheet := q.Sheet(ask.Surface{Columns: 80})
	text := strings.Join(sheet.Body(0, len(sheet.Text)), "\n")
	for _, want := range []string{"a hook asks", "echo"} {
		if !strings.Contains(text, want) || strings.Contains(text, "\x1b") || strings.Contains(text, "package cli") {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	for n, isShown := range map[int]bool{2: true, 9: false} {
		options := strings.TrimSuffix(strings.Repeat(`{"label":"Red"},`, n), ",")
		own := &fleet.Question{Tool: "AskUserQuestion", Input: []byte(`{"questions":[{"question":"Which?","options":[` + options + `]}]}`)}
		if got := tui.CanAsk(ask.OfJob(own, 0)); got != isShown {
			t.Errorf("%d options are shown: %v", n, got)
		}
	}
}
