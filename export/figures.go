package export

import (
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// A Cost is the cost of some model calls.
type Cost struct {
	Calls  int         `json:"calls"`  // number of calls of the model
	Tokens int         `json:"tokens"` // of all kinds, in and out
	Cost   usage.Money `json:"cost"`   // at list prices
	// UnknownCost reports that Cost is incomplete: the price of a model is not known.
	UnknownCost bool `json:"unknown_cost,omitempty"`
}

// newCost returns the cost of calls, or nil if there are none.
func newCost(calls []usage.Call) *Cost {
	if len(calls) == 0 {
		return nil
	}
	t := usage.NewReport(calls, nil).Total
	return &Cost{Calls: t.Calls, Tokens: t.Usage.TotalTokens(), Cost: t.Cost, UnknownCost: t.UnknownCost}
}

// text returns the cost in dollars, or "" if it is unknown or c is nil.
func (c *Cost) text() string {
	if c == nil {
		return ""
	}
	return wording.Cost{Amount: c.Cost, Partial: c.UnknownCost}.Known()
}

// turnCosts returns the cost of each turn, by its number. Subagents are included.
func turnCosts(t *transcript.Transcript) map[int]*Cost {
	costs := map[int]*Cost{}
	turns, _ := t.Turns()
	for i := range turns {
		costs[turns[i].Number] = newCost(turns[i].Calls)
	}
	return costs
}

// costs returns the cost of each turn, by its number.
func (d *Document) costs() map[int]*Cost {
	costs := map[int]*Cost{}
	for i := range d.Chunks {
		if c := &d.Chunks[i]; c.Cost != nil {
			costs[c.Turn] = c.Cost
		}
	}
	return costs
}

// addCosts gives prompts the cost of their turns.
func (d *Document) addCosts(costs map[int]*Cost) {
	for i := range d.Chunks {
		if c := &d.Chunks[i]; c.Type == transcript.UserChunk {
			c.Cost = costs[c.Turn]
		}
	}
}

// addAgentCosts gives subagents the cost that those with the same IDs have in another document.
func (d *Document) addAgentCosts(from *Document) {
	costs := map[string]*Cost{}
	from.eachAgent(func(a *Agent) { costs[a.ID] = a.Cost })
	d.eachAgent(func(a *Agent) { a.Cost = costs[a.ID] })
}

// eachAgent calls f for all subagents of a document, at any depth.
func (d *Document) eachAgent(f func(*Agent)) {
	each := func(agents []Agent) {
		for i := range agents {
			f(&agents[i])
		}
	}
	each(d.Unlinked)
	d.eachItem(func(i *Item) { each(i.Agents) })
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

func (n *counts) chunks(chunks []Chunk) {
	for i := range chunks {
		for j := range chunks[i].Items {
			n.item(&chunks[i].Items[j])
		}
	}
}

func (n *counts) item(i *Item) {
	n.subagents(i.Agents)
	if !i.isCall() {
		return
	}
	n.calls++
	if i.IsError {
		n.failed++
	}
	for _, diff := range i.diffs() {
		n.changed[diff.Path] = true
		n.added += diff.Added
		n.removed += diff.Removed
	}
}

func (i *Item) isCall() bool {
	return i.Type == transcript.ItemToolCall || i.Type == transcript.ItemSubagent
}

func (n *counts) subagents(agents []Agent) {
	for i := range agents {
		n.agents++
		n.chunks(agents[i].Chunks)
	}
}

// diffs returns the changes of files by a call.
func (i *Item) diffs() []transcript.FileDiff {
	switch i.Tool {
	case "Bash", "PowerShell", "Edit", "MultiEdit", "Write", "NotebookEdit":
		item := i.restore()
		return item.Diffs()
	}
	return nil
}
