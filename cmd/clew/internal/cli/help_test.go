package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/shelltest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
)

// The codes that examples end with, other than 0.
var exampleCodes = map[string]int{
	"clew demo --real --dir /tmp/tour": clikit.ExitAgent,  // the agent of this test is none that could do the task
	"clew jobs approve m4k":            clikit.ExitUsage,  // it asks on a terminal
	"clew jobs patch m4k --apply":      clikit.ExitFailed, // nor is its git, and the script jobs applies one
}

// Each example in the help works as it stands.
func TestHelpExamples(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("examples are lines for a shell")
	}
	place := newExamplePlace(t)
	tried := map[string]bool{}
	for _, cmd := range commandsOf(newRoot(Streams{})) {
		for _, line := range exampleLines(cmd.Example) {
			if !tried[line] {
				tried[line] = true
				t.Run(line, func(t *testing.T) { place.try(t, line) })
			}
		}
	}
	if len(tried) < 40 {
		t.Errorf("there are %d examples only", len(tried))
	}
}

// Each command has an example, but for help, and for completion, whose lines depend on the shell.
func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	for _, cmd := range commandsOf(newRoot(Streams{})) {
		if verb := verbOf(cmd); cmd.Example == "" && verb != "help" && verb != "completion" {
			t.Errorf("%s has none", cmd.CommandPath())
		}
	}
}

// exampleLines returns commands: a line that ends in a pipe continues in the next.
func exampleLines(text string) []string {
	text = regexp.MustCompile(`\|\n\s*`).ReplaceAllString(text, "| ")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// An examplePlace is a directory with everything that the examples mention.
type examplePlace struct {
	dir   string
	env   []string
	path  string // without the programs of this place
	fleet *testFleet
}

func newExamplePlace(t *testing.T) *examplePlace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(tempHome(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &examplePlace{dir: filepath.Join(dir, "website"), env: append(os.Environ(), "TESTDATA=x"), path: os.Getenv("PATH")}
	for name, value := range map[string]string{
		"HOME": filepath.Join(dir, "home"), "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "ANTHROPIC_API_KEY": "x",
		"XDG_CACHE_HOME": filepath.Join(dir, "cache"), "TMPDIR": dir, "CLAUDE_CONFIG_DIR": filepath.Join(dir, "claude"),
		"PATH": filepath.Join(dir, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"), "PAGER": "cat",
		"XDG_RUNTIME_DIR": filepath.Join(dir, "run"), "XDG_STATE_HOME": filepath.Join(dir, "state"),
		"CLEW_AGENT": filepath.Join(dir, "bin", "claude"), "GORACE": "atexit_sleep_ms=0",
	} {
		p.env = append(p.env, name+"="+value)
		t.Setenv(name, value) // for code in this process
	}
	t.Chdir(makeDir(t, p.dir))
	session := filepath.Join(dir, "claude", "projects", regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(p.dir, "-"),
		"4f1c0000-0000-4000-8000-000000000001.jsonl")
	for path, text := range map[string]string{
		filepath.Join(p.dir, "jobs.jsonl"): `{"prompt":"Fix the test.","key":"1"}`, filepath.Join(p.dir, "schema.json"): `{"type":"object"}`, filepath.Join(p.dir, "session.ndjson"): exampleStream,
		filepath.Join(dir, "stream"): exampleStream, session: exampleTranscript(p.dir),
	} {
		makeDir(t, filepath.Dir(path))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	programs := map[string]string{"claude": exampleAgent, "git": "echo +x", "man": "cat >/dev/null", "less": "cat", "xdg-open": "", "open": ""}
	if _, err := exec.LookPath("jq"); err != nil {
		programs["jq"] = "cat"
	}
	for name, script := range programs {
		path := filepath.Join(makeDir(t, filepath.Join(dir, "bin")), name)
		shelltest.Write(t, path, script)
	}
	p.fleet = openTestFleet(t, filepath.Join(dir, "state", "clew", "fleet"))
	return p
}

// exampleKey is the key of the job whose ID starts with m4k.
const exampleKey = "example-49853"

// exampleJobs maps commands to the initial state of the job in their examples.
var exampleJobs = map[string]string{
	"audit": "done", "cancel": "queued", "show": "done", "tail": "done", "patch": "done", "drop": "done", "approve": "asks", "resume": "budget", "retry": "lost",
}

// tryJobs runs a line about jobs. Another worker runs the submitted jobs.
func (p *examplePlace) tryJobs(t *testing.T, line string) {
	t.Helper()
	if words := strings.Fields(line); len(words) > 3 && words[1] == "jobs" && words[3] == "m4k" {
		ending := exampleJobs[words[2]]
		if ending == "" {
			t.Fatalf("exampleJobs has no state for %q", words[2])
		}
		j := p.fleet.make(t, ending, &fleet.Spec{Prompt: "Fix the test.", Key: exampleKey})
		defer func() {
			_, _ = p.fleet.Cancel(t.Context(), j.ID, "")                                                    // it may have ended
			if _, err := p.fleet.Wait(t.Context(), j.ID); err == nil || errors.Is(err, fleet.ErrNotFound) { // or be gone
				_ = p.fleet.Drop(t.Context(), j.ID)
			}
		}()
	}
	others := &stateRunner{p.fleet, func(j *fleet.Job) bool { return j.Spec.Key != exampleKey }, endings["plain"]}
	p.fleet.work(t, others, false, func(context.Context) {
		p.tryLine(t, line)
		polltest.Until(t, "the submitted jobs end", func() bool { return p.ended(t) })
	})
}

// ended reports whether all jobs that examples have submitted have ended.
func (p *examplePlace) ended(t *testing.T) bool {
	t.Helper()
	for listed, err := range p.fleet.Jobs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if listed.State.Ended() {
			continue
		}
		if j, err := p.fleet.Job(t.Context(), listed.ID); err != nil || j.Spec.Key != exampleKey && !j.State.Ended() {
			return false
		}
	}
	return true
}

func makeDir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// try runs a line. It interrupts commands that follow a session once they have shown something.
func (p *examplePlace) try(t *testing.T, line string) {
	t.Helper()
	if args, ok := strings.CutPrefix(line, "clew tail"); ok {
		ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
		defer cancel()
		var errs bytes.Buffer
		args := append([]string{"tail"}, strings.Fields(args)...)
		out := &watcher{text: "deadlock", seen: cancel}
		if code := execute(ctx, args, Streams{Out: out, Err: &errs}); code != clikit.ExitInterrupted || out.text != "" {
			t.Errorf("exit code %d: %s%s", code, out.all.String(), errs.String())
		}
		return
	}
	if strings.HasPrefix(line, "clew serve") || line == "clew demo --web" {
		ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
		defer cancel()
		out, errs := &watcher{text: "http://", seen: cancel}, &bytes.Buffer{}
		if code := execute(ctx, strings.Fields(line)[1:], Streams{Out: out, Err: errs}); code != clikit.ExitDone || out.text != "" || errs.Len() > 0 {
			t.Errorf("exit code %d: %s%s", code, out.all.String(), errs.String())
		}
		return
	}
	if strings.HasPrefix(line, "clew worker") {
		t.Setenv("PATH", p.path) // it needs git
		ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
		defer cancel()
		errs := &watcher{text: "takes jobs", seen: cancel}
		if code := execute(ctx, strings.Fields(line)[1:], Streams{Out: &bytes.Buffer{}, Err: errs}); code != clikit.ExitDone || errs.text != "" {
			t.Errorf("exit code %d: %s", code, errs.all.String())
		}
		return
	}
	if strings.HasPrefix(line, "clew jobs") || strings.HasPrefix(line, "clew submit") || strings.HasPrefix(line, "clew fleet") {
		p.tryJobs(t, line)
		return
	}
	p.tryLine(t, line)
}

// tryLine runs a line that ends.
func (p *examplePlace) tryLine(t *testing.T, line string) {
	t.Helper()
	want := exampleCodes[line]
	env := p.env
	if want == clikit.ExitAgent {
		env = append(env, "CLEW_AGENT=nowhere")
	}
	if !startsProcesses() && strings.HasPrefix(line, "clew ") && !strings.ContainsAny(line, `|<>"'$;&*~()`) && !strings.Contains(line, "/tmp/tour") {
		var out bytes.Buffer
		i := invocation{args: strings.Fields(line)[1:], dir: p.dir, env: env, Streams: Streams{In: strings.NewReader(""), Out: &out, Err: &out}}
		if code := i.run(t.Context(), t); code != want {
			t.Errorf("exit code %d, want %d:\n%s", code, want, out.String())
		}
		return
	}
	// A pipe ends with the code of its last command, so clew's own code is recorded.
	script := `clew() { command clew "$@"; code=$?; echo $code >>codes; return $code; }; rm -f codes; ` +
		strings.ReplaceAll(line, "/tmp/tour", "tour")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = p.dir, env
	out, err := cmd.CombinedOutput()
	codes, _ := os.ReadFile(filepath.Join(p.dir, "codes")) // without them, the next line fails
	if string(codes) != fmt.Sprintln(want) || err != nil && want == clikit.ExitDone {
		t.Errorf("%v, exit codes %q, want %d:\n%s", err, codes, want, out)
	}
}

// exampleStream is an agent's output, and exampleAgent an agent that answers all prompts with it.
const (
	exampleStream = `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Yes."}]},"session_id":"s","uuid":"a"}
{"type":"result","subtype":"success","is_error":false,"result":"Yes.","structured_output":{},"session_id":"s","uuid":"r"}
`
	exampleAgent = `case "$*" in
--version) echo "2.1.326 (Claude Code)"; exit ;;
-p*) cat ../stream; exit ;;
"mcp add "*) # a server is what follows --, and one that has no client ends
	while [ "$1" != -- ]; do shift; done
	shift
	"$@" </dev/null
	echo $? >>codes
	exit ;;
esac
while read -r line; do
	case $line in
	*'"type":"control_request"'*)
		id=$(printf '%s' "$line" | sed 's/.*"request_id":"\([^"]*\)".*/\1/')
		echo '{"type":"control_response","response":{"subtype":"success","request_id":"'"$id"'","response":{"hook_on_failure_supported":true}}}' ;;
	*'"type":"user"'*) cat ../stream ;;
	esac
done`
)

// exampleTranscript is a session of an hour ago in a directory.
func exampleTranscript(dir string) string {
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	var b strings.Builder
	parent := "null"
	entry := func(kind, id, message string) {
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":%s,"uuid":%q,"timestamp":%q,"cwd":%q,`+
			`"sessionId":"4f1c0000-0000-4000-8000-000000000001","version":"2.1.325"}`+"\n", parent, kind, message, id, at, dir)
		parent = fmt.Sprintf("%q", id)
	}
	answer := func(id, block string) {
		entry("assistant", id, `{"id":"`+id+`","role":"assistant","model":"claude-opus-5-5",`+
			`"usage":{"input_tokens":1,"output_tokens":1},"content":[`+block+`]}`)
	}
	for i := range 5 {
		call := fmt.Sprintf("call%d", i)
		entry("user", fmt.Sprintf("prompt%d", i), `{"role":"user","content":"Is the login page valid?"}`)
		answer(call, `{"type":"tool_use","id":"`+call+`","name":"Bash","input":{"command":"echo panic: x is nil"}}`)
		entry("user", "of-"+call, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+call+`","content":"x"}]}`)
		answer(fmt.Sprintf("answer%d", i), `{"type":"text","text":"There is a deadlock."}`)
	}
	return b.String()
}

// A command with many flags has them in groups, and each of them is in one.
func TestFlagGroups(t *testing.T) {
	t.Parallel()
	const few = 8
	known := map[string]bool{} // by the title of a group and the name of a flag
	for _, cmd := range commandsOf(newRoot(Streams{})) {
		cmd.InitDefaultHelpFlag()
		groups, visible := flagGroupsOf(cmd), 0
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			in := 0
			for _, group := range groups {
				if slices.Contains(group.flags, f.Name) {
					known[group.title+" "+f.Name] = true
					in++
				}
			}
			if !f.Hidden {
				visible++
			}
			if groups != nil && !f.Hidden && in != 1 {
				t.Errorf("%s: --%s is in %d groups", cmd.Name(), f.Name, in)
			}
		})
		if groups == nil && visible > few {
			t.Errorf("%s has %d flags without groups", cmd.CommandPath(), visible)
		}
	}
	for _, groups := range slices.Collect(maps.Values(verbFlagGroups)) {
		for _, group := range append(groups, agentFlagGroups...) {
			for _, name := range group.flags {
				if !known[group.title+" "+name] {
					t.Errorf("no command has --%s in %s", name, group.title)
				}
			}
		}
	}
}

// helpScreen returns the help of a command on a terminal.
func helpScreen(cmd *cobra.Command, columns int, color bool) string {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	cmd.Root().InitDefaultHelpCmd()
	hideGlobalFlags(cmd)
	h := &helpText{columns: columns, prose: columns, color: color}
	h.command(cmd)
	return h.String()
}

// styleEscape matches the start and the end of a style.
var styleEscape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// The layout of help on a terminal: narrow, in color, and wide. The scripts help_* have whole texts, and
// TestHelpFits shows that a text is the same at any width, with color or without.
func TestHelpScreen(t *testing.T) {
	t.Parallel()
	for _, screen := range []struct {
		name  string
		args  []string
		width int
		color bool
	}{
		{"clew_40", nil, 40, false}, {"ls_80_color", []string{"ls"}, 80, true}, {"run_200", []string{"run"}, 200, false},
	} {
		cmd, _, err := newRoot(Streams{}).Find(screen.args)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "screens/help_"+screen.name, helpScreen(cmd, screen.width, screen.color))
	}
}

// At any width, no line of a help is wider than the terminal, but for examples, which are copied.
// Nothing is lost, and words are broken only if they are wider than the terminal.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	for _, cmd := range commandsOf(newRoot(Streams{})) {
		whole := strings.Fields(helpScreen(cmd, 10_000, false))
		for _, columns := range soak.Widths(1) {
			text := helpScreen(cmd, columns, false)
			words := strings.Fields(text)
			if columns >= 40 && !slices.Equal(words, whole) || strings.Join(words, "") != strings.Join(whole, "") {
				t.Fatalf("%s: in %d columns, the help has other words (-want +got):\n%s",
					cmd.CommandPath(), columns, cmp.Diff(whole, words))
			}
			for line := range strings.Lines(strings.Replace(text, cmd.Example, "", 1)) {
				if tty.Width(strings.TrimSuffix(line, "\n")) > columns {
					t.Fatalf("%s: %d columns: %q", cmd.CommandPath(), columns, line)
				}
			}
			if painted := helpScreen(cmd, columns, true); styleEscape.ReplaceAllString(painted, "") != text {
				t.Fatalf("%s: in %d columns, color changes the text:\n%s", cmd.CommandPath(), columns, painted)
			}
		}
	}
}

func TestManEscapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                "plain",
		`C:\new "x"`:           `C:\(rsnew "x"`,
		".TH is no request":    `\&.TH is no request`,
		"'br is none either":   `\&\(aqbr is none either`,
		"--a-flag ~/x `y` ^z":  `\-\-a\-flag \(ti/x \(gay\(ga \(haz`,
		"more… 你":              `more\[u2026] \[u4F60]`,
		"jq 'select(.x)' | wc": `jq \(aqselect(.x)\(aq | wc`,
	} {
		if got := roffLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	p := new(manText)
	p.request("TH", `a "b" \c`)
	if want := `.TH "a \(dqb\(dq \(rsc"` + "\n"; p.String() != want {
		t.Errorf("a request is %q, want %q", p.String(), want)
	}
}

func TestManPage(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "tool", Short: "A tool", Run: func(*cobra.Command, []string) {}}
	cmd := &cobra.Command{
		Use: "mend [FILE]", Short: "Mend a file", Run: root.Run,
		Long:    "Mends a file.\nIn place.\n\nValues:\n  one    the first\n    deeper\nAnd on.\n\n.dot",
		Example: "  tool mend 'a.b'\n  tool mend -n 3",
	}
	cmd.Flags().IntP("number", "n", 5, "how `often`")
	cmd.Flags().Bool("all", false, "all of it")
	cmd.Flags().Bool("secret", false, "not told")
	_ = cmd.Flags().MarkHidden("secret")
	root.PersistentFlags().String("global", "", "for all")
	root.AddCommand(cmd, &cobra.Command{Use: "hidden", Hidden: true, Run: root.Run})
	_, page, _ := strings.Cut(manPage(cmd), "\n")
	want, err := os.ReadFile("testdata/man_page.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if page := manPage(root); !strings.Contains(page, `\fBtool\-mend\fR(1)`) || strings.Contains(page, "hidden") {
		t.Errorf("the page of the program:\n%s", page)
	}
}

// Every command that the help shows has a page, and a formatter takes it as it is.
func TestManPagesOfAll(t *testing.T) {
	soak.Rest(t)
	t.Parallel()
	dir := t.TempDir()
	var errs strings.Builder
	if code := execute(t.Context(), []string{"man", "--dir", dir}, Streams{Out: &errs, Err: &errs}); code != clikit.ExitDone {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	all := commandsOf(newRoot(Streams{}))
	for _, cmd := range all {
		path := filepath.Join(dir, manName(cmd)+".1")
		page, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasPrefix(string(page), ".TH ") || !strings.Contains(string(page), "\n"+`.SH "NAME"`+"\n") {
			t.Errorf("%s is no page:\n%s", path, page)
		}
		checkGroff(t, path)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(all) || len(all) < 10 {
		t.Errorf("%d pages of %d commands, %v", len(files), len(all), err)
	}
}

// checkGroff fails if the formatter, where there is one, complains about a page.
func checkGroff(t *testing.T, path string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	var complaints strings.Builder
	cmd := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-Tascii", "-z", path)
	cmd.Stderr = &complaints
	if err := cmd.Run(); err != nil || complaints.Len() > 0 {
		t.Errorf("%s: %v\n%s", path, err, complaints.String())
	}
}

// The completions of a flag are its valid values.
func TestCompletionOffersValues(t *testing.T) {
	clikit.Completing = true
	t.Cleanup(func() { clikit.Completing = false })
	root := newRoot(Streams{})
	for name, values := range flagValues {
		verb, flag, _ := strings.Cut(name, " ")
		cmd, _, err := root.Find([]string{verb})
		if err != nil || cmd.Flags().Lookup(flag) == nil {
			t.Errorf("%s: there is no such flag, %v", name, err)
			continue
		}
		for _, value := range values {
			if err := cmd.Flags().Set(flag, value); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, listed := cmd.GetFlagCompletionFunc(flag); !listed {
				t.Errorf("%s is not completed", name)
			}
		}
	}
}

// An interrupt ends the demo at any point, and removes the directory if it holds nothing useful.
func TestDemoInterrupted(t *testing.T) {
	for _, at := range []string{"$ clew run", "* Agent", "Allow it?", "$ clew show"} {
		t.Run(at, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			t.Setenv("TMP", temp)
			t.Setenv("CLAUDE_CONFIG_DIR", "before")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &watcher{text: at, seen: cancel}
			var errs bytes.Buffer
			if code := execute(ctx, []string{"demo"}, Streams{In: strings.NewReader(""), Out: out, Err: &errs}); code != clikit.ExitInterrupted {
				t.Errorf("exit code %d: %s", code, errs.String())
			}
			if got := errs.String(); !strings.HasPrefix(got, "clew demo: ") && !strings.HasPrefix(got, "clew show: ") {
				t.Errorf("stderr is %q", got)
			}
			left, err := os.ReadDir(temp)
			if err != nil || len(left) > 0 != strings.Contains(out.all.String(), "$ clew ls") {
				t.Errorf("left: %v, %v", left, err)
			}
			if got := os.Getenv("CLAUDE_CONFIG_DIR"); got != "before" {
				t.Errorf("CLAUDE_CONFIG_DIR is %q", got)
			}
		})
	}
}
