package export

import (
	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// newCost returns the cost of calls, or nil if there are none.
func newCost(calls []usage.Call) *transcript.Spending {
	if len(calls) == 0 {
		return nil
	}
	prices := pricelist.Current()
	t := usage.NewReport(calls, &usage.ReportOptions{Prices: &prices}).Total
	return &transcript.Spending{Calls: t.Calls, Tokens: t.Usage.TotalTokens(), Cost: t.Cost, UnknownCost: t.UnknownCost}
}

// costText returns the cost in dollars, or "" if it is unknown or c is nil.
func costText(c *transcript.Spending) string {
	if c == nil {
		return ""
	}
	return wording.Cost{Amount: c.Cost, Partial: c.UnknownCost}.Known()
}

// turnCosts returns the cost of each turn, by its number. Subagents are included.
func turnCosts(t *transcript.Transcript) map[int]*transcript.Spending {
	costs := map[int]*transcript.Spending{}
	turns, _ := t.Turns()
	for i := range turns {
		costs[turns[i].Number] = newCost(turns[i].Calls)
	}
	return costs
}

// counts are the figures at the head of a document.
type counts struct {
	turns, calls, failed, agents int
	files, added, removed        int
	changed                      map[string]bool
}

// count counts the turns, calls and changes of the conversation, including subagents.
func (d *Document) count() counts {
	n := counts{changed: map[string]bool{}}
	for i := range d.Chunks {
		if d.Chunks[i].Type == transcript.UserChunk {
			n.turns++
		}
	}
	n.chunks(d.Chunks)
	n.subagents(d.Unlinked)
	n.files = len(n.changed)
	return n
}

func (n *counts) chunks(chunks []transcript.Chunk) {
	for i := range chunks {
		for j := range chunks[i].Items {
			n.item(&chunks[i].Items[j])
		}
	}
}

func (n *counts) item(i *transcript.DisplayItem) {
	n.subagents(i.Agents)
	if !i.IsCall() {
		return
	}
	n.calls++
	if rows.StateOf(nil, i) == rows.Failed {
		n.failed++
	}
	for _, diff := range i.Diffs() {
		n.changed[diff.Path] = true
		n.added += diff.Added
		n.removed += diff.Removed
	}
}

func (n *counts) subagents(agents []*transcript.Agent) {
	for _, a := range agents {
		n.agents++
		n.chunks(conversationOf(a).Chunks)
	}
}

// conversationOf returns the transcript of a subagent, which is empty if it has none.
func conversationOf(a *transcript.Agent) *transcript.Transcript {
	if a.Transcript == nil {
		return new(transcript.Transcript)
	}
	return a.Transcript
}
