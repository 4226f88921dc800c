package record

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// runTimeout bounds a scenario. The longest takes a few seconds on an idle machine.
const runTimeout = 90 * time.Second

// Run plays a scenario against the real agent, in a fresh folder and a clean environment, and returns the dialogue and
// what takes the machine out of it. It blocks until the agent has ended, at most runTimeout. It skips or fails the test
// when there is no agent, see [clewtest.RealAgent], and fails it when the agent does not keep to the scenario. Nothing
// of the agent is left when it returns.
func Run(tb testing.TB, s *Scenario) (*Recording, *Redactor) {
	tb.Helper()
	agent := clewtest.RealAgent(tb)
	ctx, cancel := context.WithTimeout(tb.Context(), runTimeout)
	defer cancel()
	stage := newStage(ctx, clewtest.NewModel(tb), workFolder(tb))
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
	if left := leftovers(stage.Model.ConfigDir()); len(left) > 0 {
		tb.Errorf("%s: still running: %q", s.Name, left)
	}
	done := new(Recording)
	done.header(s, p.version())
	done.Lines = append(done.Lines, p.rec.Lines...)
	return done, newRedactor(stage, s, p.rec)
}

// workFolder makes the folder that the agent works in. Its path is the one that the agent reports: without links.
func workFolder(tb testing.TB) string {
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

// play starts the agent, lets the host speak, and waits for the end.
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

// converse is the host's part, from the handshake to the end of the agent's output.
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

// shorten returns a dialogue for people, its lines cut.
func shorten(r *Recording) string {
	var b strings.Builder
	for _, line := range r.Lines {
		fmt.Fprintf(&b, "%c %.300s\n", line.Direction, line.Text)
	}
	return b.String()
}
