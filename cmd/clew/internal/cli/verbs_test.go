package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/agentcli"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/cmd/clew/internal/fleetcli"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/soak"
)

// A verbTests names the tests for a verb's screens.
type verbTests struct {
	golden string // compares them at the widths of all goldens, with color and without
	fits   string // checks that no line is too wide, whatever the width
	reason string // why it has no golden or no property
	// noHostile is the reason why TestHostileTranscript does not have it.
	noHostile string
}

// verbs are all verbs of the program.
var verbs = map[string]verbTests{
	"ls":     {golden: "TestListScreen", fits: "TestListScreenFits"},
	"show":   {golden: "TestShowScreen", fits: "TestShowScreenFits"},
	"search": {golden: "TestSearchScreen", fits: "TestSearchScreenFits"},
	"stats":  {golden: "TestStatsScreens", fits: "TestStatsFitsEveryWidth"},
	"tail":   {golden: "TestTailScreen", fits: "TestTailScreenFits", noHostile: "TestTailHostile has it"},
	"doctor": {golden: "TestDoctorScreen", fits: "TestDoctorScreenFits", noHostile: "TestConfigDoctorHostile has it"},
	"export": {golden: "TestTerminalScreen", fits: "TestRulesFit"},
	"help":   {golden: "TestHelpScreen", fits: "TestHelpFits", noHostile: "it reads nothing"},
	"run":    {golden: "TestRunScreen", fits: "TestRunScreenFits", noHostile: "TestHostileRun has it"},
	"chat":   {golden: "TestChatScreen", fits: "TestAskWidths", noHostile: "TestChatHostile has it"},
	"demo": {
		golden: "TestScript", fits: "TestDemoFits", noHostile: "it reads a recording of its own",
		reason: "it is the screens of other verbs, at the time at which it runs",
	},
	"config":     {golden: "TestConfigScreen", fits: "TestConfigScreenFits", noHostile: "TestConfigDoctorHostile has it"},
	"inspect":    {golden: "TestInspectScreen", fits: "TestInspectScreenFits"},
	"man":        {golden: "TestTerminalScreen", reason: "a page is for man, which fills its lines", noHostile: "it reads nothing"},
	"completion": {golden: "TestTerminalScreen", reason: "a script is for a shell", noHostile: "it reads nothing"},
	"view": {
		golden: "TestShowScreen", fits: "TestShowScreenFits",
		reason: "its own screens are in package tui; without a terminal it is show",
	},
	"serve": {
		golden: "TestServeScreen", noHostile: "it prints nothing of a session, and package web has the pages",
		reason: "a link must not be broken",
	},
	"hook": {
		golden: "TestScript", noHostile: "it prints nothing of a session",
		reason: "its answer is for the agent, and a command must not be broken",
	},
	"mcp": {
		golden: "TestScript", noHostile: "TestMCPHostile has it",
		reason: "it prints messages for a program",
	},
	"statusline": {
		golden: "TestScript", noHostile: "package statusline has hostile inputs",
		reason: "package statusline has its lines at all widths",
	},
	"archive": {
		golden: "TestScript", noHostile: "it prints nothing of a session",
		reason: "a line of figures, and units and lines for other programs",
	},
	"restore": {
		golden: "TestScript", noHostile: "it prints the directory of a session, quoted",
		reason: "a line, and a command that must not be broken",
	},
	"submit": {
		golden: "TestScript", noHostile: "the script jobs has hostile texts of jobs",
		reason: "an ID, or the result of a job as it is",
	},
	"worker": {
		golden: "TestScript", noHostile: "the script worker has a hostile result",
		reason: "lines of a log, and commands that must not be broken",
	},
	"jobs": {
		golden: "TestScript", noHostile: "the script jobs has hostile texts of jobs",
		reason: "package fleetcli has its screens",
	},
	"fleet": {
		golden: "TestScript", noHostile: "package fleetcli has hostile texts",
		reason: "package fleetcli has its screens",
	},
	"version": {golden: "TestVersionScreen", fits: "TestVersionScreen", noHostile: "it reads nothing"},
}

// A new verb needs tests of its screens.
func TestVerbsHaveScreens(t *testing.T) {
	t.Parallel()
	tests := testFunctions(t)
	root := newRoot(Streams{})
	root.InitDefaultHelpCmd()
	known := map[string]bool{}
	for _, cmd := range root.Commands() {
		known[cmd.Name()] = true
		verb, ok := verbs[cmd.Name()]
		if !ok || (verb.golden == "" || verb.fits == "") && verb.reason == "" {
			t.Errorf("%s has no tests of its screens", cmd.Name())
		}
		for _, name := range []string{verb.golden, verb.fits} {
			if name != "" && !tests[name] {
				t.Errorf("%s: there is no %s", cmd.Name(), name)
			}
		}
	}
	for name := range verbs {
		if !known[name] {
			t.Errorf("there is no verb %s", name)
		}
	}
}

// Each file belongs to the program itself or to one command, whose name it starts with: show.go and
// show_live.go.
func TestCommandFiles(t *testing.T) {
	t.Parallel()
	subjects := map[string]bool{"cli": true, "settings": true}
	for verb := range verbs {
		subjects[verb] = true
	}
	for _, elsewhere := range slices.Concat(agentcli.Commands(agentcli.Program{}), fleetcli.Commands(fleetcli.Program{})) {
		delete(subjects, elsewhere.Name())
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(path, ".go")
		if subject, _, _ := strings.Cut(name, "_"); !subjects[subject] && !strings.HasSuffix(name, "_test") {
			t.Errorf("%s: no command has this name", path)
		}
	}
}

// testFunctions returns the names of the tests of this package and of package agentcli.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	others, otherErr := filepath.Glob("../agentcli/*_test.go")
	if err != nil || otherErr != nil || len(others) == 0 {
		t.Fatal(err, otherErr, others)
	}
	names := map[string]bool{}
	for _, path := range append(files, others...) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// doctorFindings are findings of all states, with short and long texts.
var doctorFindings = []diagnosis{
	{Check: "agent", State: stateOK, Found: "/usr/local/bin/claude, version 2.1.326, which clew is tested with"},
	{
		Check: "agent settings", State: stateNote, Found: "cleanupPeriodDays is not set: the agent deletes transcripts after 30 days",
		Advice: `Set "cleanupPeriodDays" in ~/.claude/settings.json to keep them longer.`,
	},
	{Check: "login", State: stateWarning, Found: "ANTHROPIC_API_KEY is not set, and there is no login", Advice: "Run claude, and log in."},
	{Check: "terminal", State: stateProblem, Found: "é \x1b[2J", Advice: "x"},
}

func TestDoctorScreen(t *testing.T) {
	t.Parallel()
	for _, width := range clitest.Widths {
		golden.Check(t, fmt.Sprintf("screens/doctor_%d", width), doctorText(doctorFindings, width, false))
		golden.Check(t, fmt.Sprintf("screens/doctor_%d_color", width), doctorText(doctorFindings, width, true))
	}
}

func TestDoctorScreenFits(t *testing.T) {
	t.Parallel()
	for _, width := range soak.Widths(1) {
		checkLines(t, doctorText(doctorFindings, width, false), width)
	}
}

// The tables of show --context fit into any screen.
func TestContextScreenFits(t *testing.T) {
	for _, path := range []string{"../demo/recording/allowed/transcript.jsonl", "testdata/hostile/transcript.jsonl"} {
		shown := readShown(t, path)
		for _, width := range soak.Widths(1) {
			t.Setenv("COLUMNS", strconv.Itoa(width))
			var out strings.Builder
			o := &showOptions{streams: Streams{Out: &out}}
			if err := o.printContext(&out, &selected{Transcript: shown, chunks: shown.Chunks}); err != nil {
				t.Fatal(err)
			}
			checkLines(t, out.String(), width)
		}
	}
}

// The rules of export fit into any screen.
func TestRulesFit(t *testing.T) {
	for _, width := range soak.Widths(1) {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		var out strings.Builder
		if err := (&exportOptions{streams: Streams{Out: &out}}).printRules(); err != nil {
			t.Fatal(err)
		}
		checkLines(t, out.String(), width)
	}
}

// The text of the demo itself fits into any screen, but for paths and commands, which are copied.
func TestDemoFits(t *testing.T) {
	for _, width := range soak.Widths(1) {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		for _, real := range []bool{false, true} {
			o := &demoOptions{real: real, streams: Streams{Out: new(strings.Builder)}}
			checkLines(t, o.introduction(), width)
		}
	}
}

// Errors are not wrapped: a terminal does that, and a path can still be copied.
func TestRemark(t *testing.T) {
	path := strings.Repeat("/a long name", 20)
	for color, want := range map[string]string{
		"never":  "clew export: cannot write " + path + ": no space\n",
		"always": "\x1b[31mclew export:\x1b[0m cannot write " + path + ": no space\n",
	} {
		t.Setenv("CLEW_COLOR", color)
		t.Setenv("COLUMNS", "40")
		var out strings.Builder
		clikit.PrintError(&out, &clikit.Failure{Code: clikit.ExitFailed, Command: "clew export", Err: fmt.Errorf("cannot write %s: no space", path)})
		if out.String() != want {
			t.Errorf("color %s: %q", color, out.String())
		}
	}
}
