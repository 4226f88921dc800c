package transcript

import (
	"strings"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/usage"
)

// CallOf returns the model call that an entry counts for, or the searches that the result
// of a tool reports, see [usage.Call.ToolUseID]. It returns false if there is none: the entry is
// neither of these nor the progress of a subagent, has no usage, or was made up by the agent.
func CallOf(e *Entry) (usage.Call, bool) {
	switch e.Type {
	case "assistant":
		return callOfAnswer(e)
	case "progress":
		return callOfProgress(e)
	case "user":
		return callOfSearches(e)
	}
	return usage.Call{}, false
}

// callOfAnswer returns the call of an assistant entry. The UUID is only needed where there is no
// message ID.
func callOfAnswer(e *Entry) (usage.Call, bool) {
	m := e.Message
	if m == nil || m.Usage == nil || m.Model == entrylex.SyntheticModel {
		return usage.Call{}, false
	}
	c := usage.Call{
		MessageID: m.ID, Model: m.Model, Usage: *m.Usage, RequestID: e.RequestID, Time: e.Timestamp,
		Sidechain: e.IsSidechain, Forked: e.Forked, SessionID: e.SessionID, AgentID: e.AgentID, CostUSD: e.CostUSD,
	}
	if m.ID == "" {
		c.UUID = e.UUID
	}
	return c, true
}

// callOfSearches returns the searches that a tool result reports.
func callOfSearches(e *Entry) (usage.Call, bool) {
	if e.Message == nil || e.facts.read && !e.facts.searches {
		return usage.Call{}, false
	}
	searches := entrylex.Searches(e.ToolUseResult)
	if searches == 0 {
		return usage.Call{}, false
	}
	c := usage.Call{
		ToolUseID: entrylex.ResultID(e.Message.Content), Usage: usage.Usage{WebSearches: searches}, Time: e.Timestamp,
		Sidechain: e.IsSidechain, Forked: e.Forked, SessionID: e.SessionID, AgentID: e.AgentID,
	}
	return c, c.ToolUseID != ""
}

// callOfProgress returns the call of a subagent. The data of such an entry hold the entry of the
// subagent.
func callOfProgress(e *Entry) (usage.Call, bool) {
	agent, line := subagentEntry(e.Data)
	if agent == "" {
		agent = e.AgentID
	}
	inner, err := DecodeEntry(line)
	if err != nil {
		return usage.Call{}, false
	}
	inner.SessionID, inner.CostUSD, inner.AgentID = e.SessionID, e.CostUSD, agent
	inner.IsSidechain, inner.Forked = true, true
	if inner.Timestamp.IsZero() {
		inner.Timestamp = e.Timestamp
	}
	return callOfAnswer(&inner)
}

// subagentEntry returns the ID of a subagent and the line of its entry from the data of a progress
// entry.
func subagentEntry(data []byte) (agent string, line []byte) {
	var r entrylex.Reader
	r.Reset(data)
	if r.Peek() != '{' {
		return "", nil
	}
	for key, ok := r.FirstKey(); ok; key, ok = r.NextKey() {
		switch {
		case string(key) == entrylex.KeyAgentID:
			agent = r.Text()
		case string(key) == entrylex.KeyMessage && r.Peek() == '{':
			line = r.Skip()
		default:
			r.Skip()
		}
	}
	return agent, line
}

// CostStateOf reads an entry of type cost-state. It returns false for any other entry, and for an
// unreadable one. [Info.CostStates] has the accounts of a whole transcript.
func CostStateOf(e *Entry) (usage.CostState, bool) {
	if e.Type != "cost-state" {
		return usage.CostState{}, false
	}
	s, err := usage.DecodeCostState(e.Raw)
	return s, err == nil
}

// Calls returns the model calls that the session has paid for, each once, by time. It
// includes calls in branches and subagents. A subagent with a separate file counts after [Link]
// links it, or if it is in Unlinked. Teammates don't count, since they have separate sessions, and
// neither do the agents of compactions, which repeat a conversation.
//
//	costs := usage.Cost(t.Calls(), usage.DefaultPrices())
//	fmt.Println(costs.Total)
func (t *Transcript) Calls() []usage.Call {
	c := callWalk{seen: map[*Transcript]bool{}}
	c.transcript(t)
	return c.tally.Calls()
}

// A callWalk adds up a conversation and its subagents, each of them once.
type callWalk struct {
	tally usage.Tally
	seen  map[*Transcript]bool
}

// transcript adds the calls of a transcript and of the subagents linked to it. One that was made by
// hand has no calls.
func (c *callWalk) transcript(t *Transcript) {
	if t == nil || c.seen[t] {
		return
	}
	c.seen[t] = true
	if t.figures != nil {
		t.figures.calls.addTo(&c.tally)
	}
	c.below(t)
}

// below adds the subagents of a transcript. The calls of those in the same file are counted with
// the file.
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

// chunks adds the subagents that are linked to the items of chunks.
func (c *callWalk) chunks(chunks []Chunk) {
	for i := range chunks {
		for k := range chunks[i].Items {
			c.agents(chunks[i].Items[k].Agents)
		}
	}
}

// agents adds subagents, except teammates, which have separate sessions, and compactions, which
// repeat a conversation.
func (c *callWalk) agents(agents []*Agent) {
	for _, a := range agents {
		if a.counts() {
			c.transcript(a.Transcript)
		}
	}
}

// counts reports whether an agent's calls count for the session that started it.
func (a *Agent) counts() bool {
	ownSession := strings.Contains(a.ID, "@")
	return !ownSession && a.Kind() != AgentCompaction
}

// A callLog keeps a transcript's calls, including repeated ones, as a [usage.Tally] wants
// them. The list only grows, so that a copy of the log is a snapshot of it.
type callLog struct {
	calls []usage.Call // without the last one
	last  usage.Call
	any   bool
}

// add adds a call. Most lines repeat the call of the line before, and a tally keeps the time of the
// last one: those take no place.
func (l *callLog) add(c usage.Call) {
	same := l.last
	same.Time = c.Time
	named := c.MessageID != "" || c.UUID != "" || c.ToolUseID != ""
	if l.any && !(named && same == c && !c.Time.Before(l.last.Time)) {
		l.calls = append(l.calls, l.last)
	}
	l.last, l.any = c, true
}

func (l *callLog) addTo(t *usage.Tally) {
	for i := range l.calls {
		t.Add(l.calls[i])
	}
	if l.any {
		t.Add(l.last)
	}
}
