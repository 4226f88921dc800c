package agents

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// Look implements [fleet.Runner].
func (r *Runner) Look(ctx context.Context, j *fleet.Job) (*fleet.Traces, error) {
	a := j.Attempt()
	traces, err := r.traces(ctx, a.Session, a.Prompt)
	if err == nil && (j.Spec.Repo != nil || j.Spec.Agent.OutputSchema != nil) {
		traces.Finished = nil // the files, or the output, are not in the transcript
	}
	return traces, err
}

// traces returns what the store has of an attempt.
func (r *Runner) traces(ctx context.Context, session, prompt string) (*fleet.Traces, error) {
	s, err := r.scan(ctx, session, prompt)
	if err != nil {
		return nil, err
	}
	return s.traces(), nil
}

// scan reads what the store has of a session.
func (r *Runner) scan(ctx context.Context, session, prompt string) (*scan, error) {
	s := &scan{prompt: prompt, prices: r.opts.Prices, open: make(map[string]string)}
	if r.opts.Store == nil {
		return s, nil
	}
	for line, err := range r.opts.Store.Load(ctx, wire.SessionKey{Project: Project, SessionID: session}) {
		if err != nil {
			return nil, fmt.Errorf("the session %s: %w", session, err)
		}
		s.add([]byte(line))
	}
	return s, nil
}

// A scan reads the entries of a session from an attempt's prompt on.
type scan struct {
	prompt string
	prices *usage.Prices // nil means the default

	stored     bool
	over       bool              // the last answer ended its turn
	background bool              // something was started that may start another turn
	open       map[string]string // the calls without a result, by ID, with the tool
	last       string            // the tool of the last call
	text       []string          // of the last answer
	message    string            // its ID
	tally      usage.Tally
}

// add reads an entry.
func (s *scan) add(line []byte) {
	e, ok := transcript.ParseEntry(line)
	if !ok {
		return
	}
	if e.UUID == s.prompt {
		s.stored = true
	}
	if !e.Forked {
		s.tally.AddLine(line) //nolint:errcheck // a line without usage has none
	}
	if e.Message == nil || e.IsSidechain || e.IsMeta || !s.stored {
		return
	}
	blocks, err := wire.DecodeContent(wire.JSON(e.Message.Content))
	if err != nil {
		s.over = false
		return
	}
	if e.Type == "assistant" {
		s.answer(&e, blocks)
		return
	}
	s.over = false
	for _, b := range blocks {
		if r, ok := b.(*wire.ToolResultBlock); ok {
			delete(s.open, r.ToolUseID)
		}
	}
}

// answer reads an entry of an answer.
func (s *scan) answer(e *transcript.Entry, blocks []wire.Block) {
	if e.Message.ID != s.message {
		s.message, s.text = e.Message.ID, nil
	}
	s.over = e.Message.StopReason == string(wire.StopReasonEndTurn) && !e.IsAPIErrorMessage
	for _, b := range blocks {
		switch b := b.(type) {
		case *wire.TextBlock:
			s.text = append(s.text, b.Text)
		case *wire.ToolUseBlock:
			s.open[b.ID] = b.Name
			s.last = b.Name
			if strings.Contains(string(b.Input), `"run_in_background"`) || b.Name == "Workflow" {
				s.background = true
			}
		}
	}
}

// traces returns what was found. A turn is finished only if nothing can follow.
func (s *scan) traces() *fleet.Traces {
	t := &fleet.Traces{Stored: s.stored, CostUSD: s.cost()}
	if s.stored && s.over && len(s.open) == 0 && !s.background {
		t.Finished = &fleet.Result{Text: strings.Join(s.text, "\n")}
	}
	return t
}

func (s *scan) cost() float64 {
	prices := s.prices
	if prices == nil {
		builtIn := usage.DefaultPrices()
		prices = &builtIn
	}
	costs := usage.Cost(s.tally.Calls(), *prices)
	return float64(costs.Total) / float64(usage.Dollar)
}

// promptText returns the text for the agent: the prompt, or the reason why it continues.
func (n *run) promptText(ctx context.Context) string {
	j, from := n.task.Job, n.from()
	if from == nil {
		return j.Spec.Prompt
	}
	var b strings.Builder
	switch j.From.Cause {
	case fleet.ByLimit, fleet.ByThrottling, fleet.ByAccount:
		b.WriteString("You were stopped by a limit of the account, which is over now.")
	case fleet.ByQuestion: // the agent continues the call by itself, before it reads this
		return strings.TrimSpace("The call that had to wait was decided about meanwhile. If all is done, repeat your last answer; otherwise continue. " + n.restored)
	case fleet.ByBudget, fleet.ByTurns, fleet.ByTime:
		b.WriteString("You were stopped by a limit of this job, and may continue.")
	case fleet.ByResult, fleet.ByAgent, fleet.ByPerson, fleet.ByTranscript:
		b.WriteString("You had stopped, and are asked to continue.")
	default:
		fmt.Fprintf(&b, "The machine that you ran on was lost at %s.", from.Ended.Format(time.RFC3339))
	}
	if n.restored != "" {
		b.WriteString(" " + n.restored)
	}
	n.addLastCall(ctx, &b, from)
	if last := len(j.Notes) - 1; last >= 0 && j.Notes[last].By != "policy" && j.Notes[last].Text != "" && j.Notes[last].Result == nil {
		fmt.Fprintf(&b, " You are told: %s", j.Notes[last].Text)
	}
	b.WriteString(" Look before you repeat anything, then continue your task.")
	return b.String()
}

// addLastCall names the call that may or may not have happened.
func (n *run) addLastCall(ctx context.Context, b *strings.Builder, from *fleet.Attempt) {
	if s, err := n.runner.scan(ctx, from.Session, from.Prompt); err == nil && len(s.open) > 0 {
		fmt.Fprintf(b, " Your last call, of %s, may or may not have happened.", s.last)
	}
}
