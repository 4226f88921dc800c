package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The codes that examples end with, other than 0.
var exampleCodes = map[string]int{
	"clew demo --real --dir /tmp/tour": exitAgent, // the agent of this test is none that could do the task
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

// exampleLines returns commands: a line that ends in a pipe goes on.
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

// An examplePlace is a folder with all that the examples speak of.
type examplePlace struct {
	dir string
	env []string
}

func newExamplePlace(t *testing.T) *examplePlace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &examplePlace{dir: filepath.Join(dir, "project"), env: append(os.Environ(), "TESTDATA=x")}
	for name, value := range map[string]string{
		"HOME": filepath.Join(dir, "home"), "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "ANTHROPIC_API_KEY": "x",
		"XDG_CACHE_HOME": filepath.Join(dir, "cache"), "TMPDIR": dir, "CLAUDE_CONFIG_DIR": filepath.Join(dir, "claude"),
		"PATH": filepath.Join(dir, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"), "PAGER": "cat",
		"CLEW_AGENT": filepath.Join(dir, "bin", "claude"), "GORACE": "atexit_sleep_ms=0",
	} {
		p.env = append(p.env, name+"="+value)
		t.Setenv(name, value) // for what runs in this process
	}
	t.Chdir(makeDir(t, p.dir))
	session := filepath.Join(dir, "claude", "projects", regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(p.dir, "-"),
		"4f1c0000-0000-4000-8000-000000000001.jsonl")
	for path, text := range map[string]string{
		filepath.Join(p.dir, "schema.json"): `{"type":"object"}`, filepath.Join(p.dir, "session.ndjson"): exampleStream,
		filepath.Join(dir, "stream"): exampleStream, session: exampleTranscript(p.dir),
	} {
		makeDir(t, filepath.Dir(path))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	programs := map[string]string{"claude": exampleAgent, "git": "echo +x", "man": "cat >/dev/null", "less": "cat"}
	if _, err := exec.LookPath("jq"); err != nil {
		programs["jq"] = "cat"
	}
	for name, script := range programs {
		path := filepath.Join(makeDir(t, filepath.Join(dir, "bin")), name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	return p
}

func makeDir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// try runs a line. What follows a session is interrupted when it has shown something.
func (p *examplePlace) try(t *testing.T, line string) {
	t.Helper()
	if args, ok := strings.CutPrefix(line, "clew tail"); ok {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var errs bytes.Buffer
		args := append([]string{"tail"}, strings.Fields(args)...)
		out := &watcher{text: "deadlock", seen: cancel}
		if code := execute(ctx, args, Streams{Out: out, Err: &errs}); code != exitInterrupted || out.text != "" {
			t.Errorf("exit code %d: %s%s", code, out.all.String(), errs.String())
		}
		return
	}
	want := exampleCodes[line]
	env := p.env
	if want == exitAgent {
		env = append(env, "CLEW_AGENT=nowhere")
	}
	// A pipe ends with the code of its last command, so that of clew is kept.
	script := `clew() { command clew "$@"; code=$?; echo $code >>codes; return $code; }; rm -f codes; ` +
		strings.ReplaceAll(line, "/tmp/tour", "tour")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = p.dir, env
	out, err := cmd.CombinedOutput()
	codes, _ := os.ReadFile(filepath.Join(p.dir, "codes")) // without them, the next line fails
	if string(codes) != fmt.Sprintln(want) || err != nil && want == exitDone {
		t.Errorf("%v, exit codes %q, want %d:\n%s", err, codes, want, out)
	}
}

// exampleStream is what an agent writes, and exampleAgent one that answers all prompts with it.
const (
	exampleStream = `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Yes."}]},"session_id":"s","uuid":"a"}
{"type":"result","subtype":"success","is_error":false,"result":"Yes.","structured_output":{},"session_id":"s","uuid":"r"}
`
	exampleAgent = `case "$*" in
--version) echo "2.1.325 (Claude Code)"; exit ;;
-p*) cat ../stream; exit ;;
esac
while read -r line; do
	case $line in
	*'"type":"control_request"'*)
		id=$(printf '%s' "$line" | sed 's/.*"request_id":"\([^"]*\)".*/\1/')
		echo '{"type":"control_response","response":{"subtype":"success","request_id":"'"$id"'","response":{}}}' ;;
	*'"type":"user"'*) cat ../stream ;;
	esac
done`
)

// exampleTranscript is a session of an hour ago in a folder.
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
