package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/transcript"
)

// A style configures how conversations are shown as text.
type style struct {
	expand   bool
	thinking bool
	zone     *time.Location // nil for the local one
}

func (s *style) addFlags(cmd *cobra.Command) {
	clikit.AddOnOff(cmd, &s.expand, "expand", "show complete tool inputs and results, and the work of subagents")
	clikit.AddOnOff(cmd, &s.thinking, "thinking", "show the agent's thinking")
}

func (s *style) options(streams Streams) render.Options {
	return render.Options{
		Width:    clikit.TextWidth(streams.Out, 80),
		Color:    clikit.Colored(streams.Out),
		Expand:   s.expand,
		Thinking: s.thinking,
		Zone:     s.zone,
	}
}

// A selection is the part of a session to show, and its style. The commands show and export share
// it.
type selection struct {
	style    style
	turns    turnRange
	agent    string
	branches bool
	full     bool
	redact   bool
	release  bool // the reading is not used after its document was made
}

func (s *selection) addFlags(cmd *cobra.Command) {
	s.style.addFlags(cmd)
	cmd.Flags().Var(&s.turns, "turn", "show only these turns, such as 3, 3..5 or 3..")
	cmd.Flags().StringVar(&s.agent, "agent", "", "show the subagent with this `ID` or ID prefix")
	clikit.AddOnOff(cmd, &s.branches, "branches", "also show messages that were rewound")
	clikit.AddOnOff(cmd, &s.full, "full", "do not shorten long results (html and markdown)")
	clikit.AddOnOff(cmd, &s.redact, "redact",
		`remove keys, tokens, addresses and home directories; "clew export --list-rules" lists the rules`)
}

func (s *selection) view() *export.View {
	return &export.View{Thinking: s.style.thinking, Expand: s.style.expand, Full: s.full}
}

// choose returns the selected part of a session.
func (s *selection) choose(t *transcript.Transcript) (*selected, error) {
	if s.agent != "" {
		agent, err := findAgent(t, s.agent)
		if err != nil {
			return nil, err
		}
		t = agent.Transcript
	}
	chunks := s.turns.of(t.Chunks)
	if s.turns.text != "" && len(chunks) == 0 {
		has, _ := turnsOf(t.Chunks)
		return nil, s.turns.none(has)
	}
	return &selected{Transcript: t, chunks: chunks}, nil
}

// document returns the selected part of a session as a document, redacted if the flags ask for it,
// and the number of redactions by rule.
func (s *selection) document(ctx context.Context, r *input.Reading) (*export.Document, map[string]int, error) {
	chosen, err := s.choose(r.Transcript)
	if err != nil {
		return nil, nil, err
	}
	opts := &export.Options{Branches: s.branches, Chunks: chosen.chunks, Release: s.release}
	var doc *export.Document
	if r.Doc != nil {
		doc = r.Doc.Select(chosen.Transcript, opts)
	} else {
		r.Files.Provide(ctx, opts, s.full)
		doc = export.New(chosen.Transcript, opts)
	}
	if s.release {
		r.Transcript, r.Doc = nil, nil
	}
	if s.turns.text != "" {
		doc.Unlinked = nil
	}
	if !s.redact {
		return doc, nil, nil
	}
	redactor := newRedactor()
	export.Redact(doc, redactor)
	return doc, redactor.Counts(), nil
}

// selected is the chosen part of a transcript.
type selected struct {
	*transcript.Transcript // of the whole session, or of the subagent
	chunks                 []transcript.Chunk
}

// A turnRange is a flag for some turns of a session, such as 3, 3..5, 3.. or ..5. The zero value
// means all turns.
type turnRange struct {
	text        string
	first, last int // last is 0 for no end
}

// Type names the value in the help.
func (t *turnRange) Type() string { return "turns" }

func (t *turnRange) String() string { return t.text }

// Set reads a range.
func (t *turnRange) Set(text string) error {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	first, err1 := turnNumber(from, isRange)
	last, err2 := turnNumber(to, isRange)
	if err1 != nil || err2 != nil || last > 0 && last < first || text == ".." {
		return errors.New("must be the number of a turn, or a range such as 3..5, 3.. or ..5")
	}
	*t = turnRange{text: text, first: first, last: last}
	return nil
}

func (t *turnRange) has(turn int) bool {
	return turn >= t.first && (t.last == 0 || turn <= t.last)
}

// of returns the chunks of those turns. Chunks before the first prompt are turn 0.
func (t *turnRange) of(chunks []transcript.Chunk) []transcript.Chunk {
	return transcript.InTurns(chunks, t.first, cmp.Or(t.last, math.MaxInt))
}

// none reports that a session, which has these turns, has none in the range.
func (t *turnRange) none(has string) error {
	return &clikit.Failure{
		Code: clikit.ExitUsage, Err: fmt.Errorf("no turn matches %s", t.text),
		Hint: fmt.Sprintf("The session has %s.", has),
	}
}

func turnNumber(text string, mayBeEmpty bool) (int, error) {
	if text == "" && mayBeEmpty {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	return n, err
}

// newRedactor returns a redactor that knows the user's home directory.
func newRedactor() *redact.Redactor {
	home, _ := os.UserHomeDir() // without one, there is no path to remove
	return &redact.Redactor{Home: home}
}

// findAgent finds the subagent whose ID starts with the prefix.
func findAgent(t *transcript.Transcript, prefix string) (*transcript.Agent, error) {
	var found []*transcript.Agent
	for _, a := range agentsOf(t) {
		if a.ID == prefix && a.Transcript != nil {
			return a, nil
		}
		if strings.HasPrefix(a.ID, prefix) && a.Transcript != nil {
			found = append(found, a)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	text, hint := "no subagent matches ", "The session has no subagent with a transcript."
	if len(found) > 1 {
		text = fmt.Sprintf("%d subagents begin with ", len(found))
	}
	if ids := agentIDs(agentsOf(t)); ids != "" {
		hint = "The subagents are: " + ids
	}
	return nil, &clikit.Failure{Code: clikit.ExitUsage, Err: errors.New(text + clikit.Printable(prefix)), Hint: hint}
}

func agentIDs(agents []*transcript.Agent) string {
	var ids []string
	for _, a := range agents {
		ids = append(ids, tty.Line(a.ID))
	}
	return strings.Join(ids, ", ")
}

// agentsOf returns the subagents of a transcript, and those below them.
func agentsOf(t *transcript.Transcript) []*transcript.Agent { return appendAgents(nil, t) }

func appendAgents(all []*transcript.Agent, t *transcript.Transcript) []*transcript.Agent {
	from := len(all)
	all = append(all, t.Unlinked...)
	for i := range t.Chunks {
		for j := range t.Chunks[i].Items {
			all = append(all, t.Chunks[i].Items[j].Agents...)
		}
	}
	for _, a := range all[from:] {
		if a.Transcript != nil {
			all = appendAgents(all, a.Transcript)
		}
	}
	return all
}
