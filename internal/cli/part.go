package cli

import (
	"context"

	"github.com/clewdev/clew/internal/export"
	"github.com/clewdev/clew/transcript"
	"github.com/spf13/cobra"
)

// A part says what is taken of a session, and how it is shown. The commands show
// and export have it in common.
type part struct {
	look     look
	turns    turnRange
	agent    string
	branches bool
	full     bool
	redact   bool
}

func (p *part) addFlags(cmd *cobra.Command) {
	p.look.addFlags(cmd)
	cmd.Flags().Var(&p.turns, "turn", "show these turns only, such as 3, 3..5 or 3..")
	cmd.Flags().StringVar(&p.agent, "agent", "", "show the subagent with this `ID`, or the beginning of one")
	addOnOff(cmd, &p.branches, "branches", "show what was left behind by rewinds, too")
	addOnOff(cmd, &p.full, "full", "show long results whole, in html and markdown")
	addOnOff(cmd, &p.redact, "redact", `take out keys, tokens, addresses, home folders; "clew export --list-rules" tells all`)
}

func (p *part) view() *export.View {
	return &export.View{Thinking: p.look.thinking, Expand: p.look.expand, Full: p.full}
}

// A reading is a session that was read: a transcript, or a document that was
// exported before.
type reading struct {
	*transcript.Transcript
	doc   *export.Document // nil for a transcript
	name  string           // of the file or session
	files *sessionFiles    // nil if there are none
}

// document returns the chosen part of a session, redacted if that is asked for.
func (p *part) document(ctx context.Context, r reading) (*export.Document, map[string]int, error) {
	t := r.Transcript
	if p.agent != "" {
		agent, err := findAgent(t, p.agent)
		if err != nil {
			return nil, nil, err
		}
		t = agent.Transcript
	}
	opts := &export.Options{Branches: p.branches}
	opts.Chunks, opts.Turn = p.turns.of(t.Chunks)
	if p.turns.text != "" && len(opts.Chunks) == 0 {
		return nil, nil, p.turns.none(countTurns(t.Chunks))
	}
	var doc *export.Document
	if r.doc != nil {
		doc = r.doc.Part(t, opts)
	} else {
		r.files.provide(ctx, opts, p.full)
		doc = export.New(t, opts)
	}
	if p.turns.text != "" {
		doc.Unlinked = nil
	}
	if !p.redact {
		return doc, nil, nil
	}
	redactor := newRedactor()
	redactor.Document(doc)
	return doc, redactor.Counts(), nil
}
