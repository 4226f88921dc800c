package transcript

import "strings"

// Calls returns the answers of the model that the session has paid for, each of them once, by time: those of branches and
// of subagents are among them. Subagents that have files of their own count once they were linked, see [Link], or are in
// Unlinked. Teammates that are sessions of their own don't, and neither do those of compactions, which repeat
// a conversation.
func (t *Transcript) Calls() []Call {
	c := callWalk{seen: map[*Transcript]bool{}}
	c.transcript(t)
	return c.tally.Calls()
}

// A callWalk adds up a conversation and its subagents, each of them once.
type callWalk struct {
	tally Tally
	seen  map[*Transcript]bool
}

func (c *callWalk) transcript(t *Transcript) {
	if t == nil || c.seen[t] {
		return
	}
	c.seen[t] = true
	if t.assembly != nil {
		c.tally.Merge(&t.assembly.tally)
	}
	c.below(t)
}

// below adds up the subagents of a transcript. What those in the same file have used is counted with the file.
func (c *callWalk) below(t *Transcript) {
	for _, chain := range t.Sidechains {
		c.seen[chain] = true
		c.below(chain)
	}
	c.chunks(t.Chunks)
	for i := range t.Branches {
		c.chunks(t.Branches[i].Chunks)
	}
	c.agents(t.Unlinked)
}

func (c *callWalk) chunks(chunks []Chunk) {
	for i := range chunks {
		for k := range chunks[i].Items {
			c.agents(chunks[i].Items[k].Agents)
		}
	}
}

func (c *callWalk) agents(agents []*Agent) {
	for _, a := range agents {
		ownSession := strings.Contains(a.ID, "@")
		if !ownSession && a.Kind() != AgentCompaction {
			c.transcript(a.Transcript)
		}
	}
}
