// Package record plays scenarios against the real Claude Code, over a scripted model, and records
// the frames of both sides as dialogue files without traces of the machine.
//
// A [Scenario] is a model, a host and the arguments of the agent. [Run] plays it and returns a
// [Recording]. A [Redactor] removes the traces of the machine. A [Shape] is what two recordings of
// one scenario have in common.
//
// The tests of this package run every scenario and compare its shape with the dialogue that is kept
// for the version of the agent. "make record" writes the dialogues again.
package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// runTimeout bounds a scenario. The longest takes a few seconds on an idle machine, and many times
// that on a busy one.
const runTimeout = 5 * time.Minute

// Run plays a scenario against the real agent, in a new directory and a clean environment. It
// returns the dialogue, and the redactor for it. It blocks until the agent has ended, at most
// runTimeout. It skips or fails the test if there is no agent, see [clewtest.RealAgent], and fails
// it if the agent does not keep to the scenario. No process of the agent is left when it returns.
func Run(tb testing.TB, s *Scenario) (*Recording, *Redactor) {
	tb.Helper()
	agent := clewtest.RealAgent(tb)
	ctx, cancel := context.WithTimeout(tb.Context(), runTimeout)
	defer cancel()
	stage := newStage(ctx, clewtest.NewModel(tb), workDir(tb))
	for name, content := range s.Files {
		if err := os.WriteFile(stage.Path(name), []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	if s.Model != nil {
		s.Model(stage)
	}
	p := &player{scenario: s, stage: stage, rec: new(Recording)}
	if err := p.play(ctx, agent); err != nil {
		tb.Fatalf("%s: %v\nstderr: %s\n%s", s.Name, err, p.stderr.String(), shorten(p.rec))
	}
	if dir := os.Getenv("CLEW_RECORD_TO"); dir != "" {
		if err := keepTranscripts(filepath.Join(dir, "transcripts"), s.Name, stage.Model.ConfigDir()); err != nil {
			tb.Fatal(err)
		}
	}
	if left := leftovers(stage.Model.ConfigDir()); len(left) > 0 {
		tb.Errorf("%s: still running: %q", s.Name, left)
	}
	done := new(Recording)
	done.header(s, p.version())
	done.Lines = append(done.Lines, p.rec.Lines...)
	return done, newRedactor(stage, s, p.rec)
}

// keepTranscripts copies the transcripts of a run, of the session and its subagents.
func keepTranscripts(dir, name, configDir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	n := 0
	return filepath.WalkDir(filepath.Join(configDir, "projects"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.jsonl", name, n)), text, 0o600)
	})
}

// workDir makes the directory that the agent works in. Its path has no links, like the path that
// the agent reports.
func workDir(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// A player runs the agent once.
type player struct {
	scenario *Scenario
	stage    *Stage
	rec      *Recording
	stderr   strings.Builder
}

// play starts the agent, plays the host, and waits until the agent has ended.
func (p *player) play(ctx context.Context, agent string) error {
	cmd := exec.CommandContext(ctx, agent, p.scenario.arguments()...)
	cmd.Dir, cmd.Env, cmd.Stderr = p.stage.Work, append(p.stage.Model.Env(), p.scenario.Env...), &p.stderr
	cmd.WaitDelay = 5 * time.Second
	group(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer killGroup(cmd)
	next, stop := iter.Pull2(wire.NewReader(stdout, nil).Messages())
	defer stop()
	host := &Host{
		Stage: p.stage, scenario: p.scenario, rec: p.rec, stdin: stdin, next: next, answered: map[string]bool{},
	}
	err = p.converse(host)
	if err != nil {
		killGroup(cmd)
	}
	return errors.Join(err, ctx.Err(), p.wait(cmd))
}

// converse plays the host, from the initialize request to the end of the agent's output.
func (p *player) converse(h *Host) error {
	body := p.scenario.Initialize
	if body == "" {
		body = `"hooks":null`
	}
	h.Request("req_1", `{"subtype":"initialize",`+body+`}`)
	h.AwaitResponses("req_1")
	for _, prompt := range p.scenario.Prompts {
		h.Turn(prompt)
	}
	if p.scenario.Play != nil {
		p.scenario.Play(h)
	}
	h.close()
	h.drain()
	return h.err
}

// wait adds the exit code to the recording.
func (p *player) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	if code < 0 {
		return fmt.Errorf("the agent: %w", err)
	}
	p.rec.add(prose, fmt.Sprintf("exit %d", code))
	return nil
}

// version returns the version that the agent reports, or "".
func (p *player) version() string {
	for _, frame := range p.rec.Frames(fromAgent) {
		if msg, ok := wire.Decode([]byte(frame)).(*wire.InitMessage); ok {
			return msg.Version
		}
	}
	return ""
}

// shorten returns a dialogue with its lines cut, for an error message.
func shorten(r *Recording) string {
	var b strings.Builder
	for _, line := range r.Lines {
		fmt.Fprintf(&b, "%c %.300s\n", line.Direction, line.Text)
	}
	return b.String()
}

// A Stage is the environment of one run of a scenario.
type Stage struct {
	// Model is the scripted model of the agent.
	Model *clewtest.Model
	// Work is the directory that the agent works in.
	Work string

	ctx   context.Context
	mu    sync.Mutex
	gates map[string]chan struct{}
}

func newStage(ctx context.Context, model *clewtest.Model, work string) *Stage {
	return &Stage{Model: model, Work: work, ctx: ctx, gates: map[string]chan struct{}{}}
}

// Path returns the path of a file in the work directory.
func (s *Stage) Path(name string) string { return filepath.Join(s.Work, name) }

// Hold waits until Release is called with the same name, or until the run ends. A rule's match
// function calls it to put answers in order, such as those to an agent and to its subagent, whose
// order is otherwise random. It returns true.
func (s *Stage) Hold(name string) bool {
	select {
	case <-s.gate(name):
	case <-s.ctx.Done():
	}
	return true
}

// Release ends all Hold calls with this name, including later ones. It must be called once for a
// name.
func (s *Stage) Release(name string) { close(s.gate(name)) }

func (s *Stage) gate(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = make(chan struct{})
	}
	return s.gates[name]
}

// leftovers describes the processes that still run with the settings directory of a model. It finds
// none on systems without /proc.
func leftovers(config string) []string {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var list []string
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte("CLAUDE_CONFIG_DIR="+config+"\x00")) {
			continue // it has ended, belongs to another user, or has other settings
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		list = append(list, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(file)), command))
	}
	return list
}

// Traces returns the names of the machine and of the run that a redacted text still has. There
// should be none.
func (r *Redactor) Traces(text string) []string {
	found := traces(text, machineNames())
	for _, pair := range r.Replace {
		if pair[0] != "" && strings.Contains(text, pair[0]) {
			found = append(found, pair[0])
		}
	}
	return found
}

// machineNames returns the directories of this machine, its name and the user's, except common
// ones.
func machineNames() []string {
	names := []string{os.TempDir(), os.Getenv("USER")}
	if home, err := os.UserHomeDir(); err == nil {
		names = append(names, home)
	}
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	common := append(strings.Split(redactedWork, "/"), redactedHome, "localhost", "root", "/")
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(common, name) })
}

// traces returns the names that are in text as whole words. A path at the end of another path does
// not count, and neither does a part of an encoded picture.
func traces(text string, names []string) []string {
	var found []string
	for _, name := range names {
		word := regexp.MustCompile(`(^|[^\w./+=-])` + regexp.QuoteMeta(name) + `($|[^\w+=-])`)
		if word.MatchString(text) {
			found = append(found, name)
		}
	}
	return found
}
