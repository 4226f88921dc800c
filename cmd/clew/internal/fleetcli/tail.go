package fleetcli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

type jobsTailOptions struct {
	place
	json bool
}

const jobsTailHelp = `Show the conversation of a job from the start, and follow it until the job ends.
Earlier messages are read from the store. After an interrupt, the job continues.

With --json, each line is an object with the record of the job after a change, as
"job", or with a message of an attempt, as "attempt" and "message".`

func newJobsTail(p *Program) *cobra.Command {
	o := &jobsTailOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:     "tail ID",
		Short:   "Follow the conversation of a job",
		Long:    jobsTailHelp,
		Example: `  clew jobs tail m4k`,
		Args:    clikit.ExactlyOne("ID"),
		RunE:    clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	cmd.ValidArgsFunction = o.completeJobs(1, isAny)
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object per line")
	return cmd
}

func (o *jobsTailOptions) run(ctx context.Context, args []string) error {
	c, j, err := o.connectTo(ctx, args[0])
	if err != nil {
		return err
	}
	defer c.Close()
	store, err := c.store(ctx)
	if err != nil {
		return err
	}
	options := render.Options{Width: clikit.TextWidth(o.Out, termio.DefaultColumns), Color: clikit.Colored(o.Out)}
	t := &tail{out: o.Out, json: o.json, color: options.Color, store: store, shown: jobview.NewConversation(options)}
	f := &follower{connection: c, say: func(text string) { clikit.Remark(o.Err, tty.Waiting, "clew jobs tail", text) }}
	_, err = f.follow(ctx, j.ID, func(u fleet.Update) error {
		if u.Job == nil {
			return t.frame(u)
		}
		return t.record(ctx, u.Job)
	})
	if ctx.Err() != nil {
		return clikit.Interrupted()
	}
	return failure(ctx, err)
}

// A tail prints the conversation of a job. Messages come from the store and, while an agent runs, from its
// worker.
type tail struct {
	out         io.Writer
	json, color bool
	store       sessions.Store
	shown       *jobview.Conversation
	loaded      bool // the attempt that is shown
}

// record takes the record of the job after a change.
func (t *tail) record(ctx context.Context, j *fleet.Job) error {
	if t.json {
		if err := clikit.WriteJSON(t.out, map[string]any{"job": j}); err != nil {
			return clikit.OutputError(err)
		}
	}
	for i := range j.Attempts {
		a := &j.Attempts[i]
		ended := !a.Ended.IsZero()
		if a.Number < t.shown.Attempt || a.Session == "" {
			continue
		}
		if err := t.begin(a, len(j.Attempts)); err != nil {
			return err
		}
		if !t.loaded || ended {
			if err := t.load(ctx, j, a); err != nil {
				return err
			}
		}
		if ended && !t.json {
			if err := t.write(t.shown.End(a.Result)); err != nil {
				return err
			}
		}
	}
	if j.State.Ended() && !t.json {
		return t.say(jobview.Style(j.State), endLine(j))
	}
	return nil
}

// endLine describes the end of a job.
func endLine(j *fleet.Job) string {
	text := "job " + j.ID + " is done"
	if j.State != fleet.Done {
		text = "job " + j.ID + " " + endText(j)
	}
	if cost := j.CostUSD(); cost > 0 {
		text += ", " + wording.Dollars(cost).Long()
	}
	return text
}

// begin starts to show an attempt, unless it is shown.
func (t *tail) begin(a *fleet.Attempt, of int) error {
	if t.shown.Attempt == a.Number {
		return nil
	}
	t.loaded = false
	t.shown.Begin(a.Number, a.Claimed)
	if of == 1 || t.json {
		return nil
	}
	return t.say(tty.Dim, fmt.Sprintf("attempt %d, worker %s", a.Number, clikit.Printable(a.Worker)))
}

// say writes a line about the job.
func (t *tail) say(style tty.Style, text string) error {
	return t.write(style.Paint(text, t.color) + "\n")
}

func (t *tail) write(text string) error {
	_, err := io.WriteString(t.out, text)
	return written(err)
}

// load shows what the store has of an attempt, and then its prompt if that is not there yet.
func (t *tail) load(ctx context.Context, j *fleet.Job, a *fleet.Attempt) error {
	t.loaded = true
	for line, err := range t.store.Load(ctx, wire.SessionKey{Project: agents.Project, SessionID: a.Session}) {
		if err != nil {
			return fmt.Errorf("the session of attempt %d: %w", a.Number, err)
		}
		e, ok := transcript.ParseEntry([]byte(line))
		if !ok || e.Forked || e.IsMeta || e.IsSidechain || e.Type != "user" && e.Type != "assistant" {
			continue // such as the copy of an entry of the attempt before
		}
		if err := t.add([]byte(line), e.Timestamp); err != nil {
			return err
		}
	}
	if a.Start != fleet.Fresh || a.Prompt == "" || t.shown.Seen(a.Prompt) {
		return nil
	}
	prompt := clew.Text(j.Spec.Prompt)
	prompt.UUID = a.Prompt
	line, err := wire.Append(nil, prompt)
	if err != nil {
		return err
	}
	return t.add(line, a.Started)
}

// frame shows what the agent has just sent.
func (t *tail) frame(u fleet.Update) error {
	if u.Attempt != t.shown.Attempt {
		return nil // the store has it
	}
	return t.add(u.Frame, time.Now())
}

// add shows a message, unless it was shown before.
func (t *tail) add(line []byte, at time.Time) error {
	text, ok := t.shown.Add(line, at)
	switch {
	case !ok:
		return nil
	case t.json:
		return written(clikit.WriteJSON(t.out, map[string]any{"attempt": t.shown.Attempt, "message": json.RawMessage(line)}))
	}
	return t.write(text)
}
