package transcript

import (
	"iter"
	"slices"
)

// LinkedBy says how the call was found that started an agent.
type LinkedBy string

// The ways to find a call, the surest first. The last three are guesses, for agents of older versions.
const (
	// LinkedBySidecar: the agent's [AgentMeta] names the call.
	LinkedBySidecar LinkedBy = "sidecar"
	// LinkedByResult: the result of the call names the agent.
	LinkedByResult LinkedBy = "result"
	// LinkedByWorkflow: the call started the workflow that the agent belongs to.
	LinkedByWorkflow LinkedBy = "workflow"
	// LinkedByNotice: a notice of the agent's end names the call.
	LinkedByNotice LinkedBy = "notice"
	// LinkedByTeam: the call asked for a teammate of that name, or with the words that the agent was greeted with.
	LinkedByTeam LinkedBy = "team"
	// LinkedByPrompt: the call has the prompt that the agent begins with.
	LinkedByPrompt LinkedBy = "prompt"
	// LinkedByOrder: the agent is the next one, and so is the call.
	LinkedByOrder LinkedBy = "order"
)

// Link puts each agent into [DisplayItem.Agents] of the item that started it, in t, in a branch of t, or in the
// transcript of another agent, whatever the depth. It returns the agents that have no such item, and those that are not
// of the kind [AgentWork]. Agents are ordered by their start.
//
// The agents are all subagents of the session: what was linked before is forgotten. So it may be called again when the
// transcripts have grown, and gives what it would have given at once.
func Link(t *Transcript, agents []*Agent) (unlinked []*Agent) {
	l := newLinker(t, agents)
	for _, rule := range l.rules() {
		l.apply(rule)
	}
	for _, c := range l.calls {
		c.complete()
	}
	return l.left
}

// A call is an item that may have started agents.
type call struct {
	item *DisplayItem
	// owner is the agent that made the call, or nil for the session itself.
	owner *Agent
	spawnInput
	spawnResult
}

// A linker finds the calls of agents. Agents that have found theirs are in parents, the others in left.
type linker struct {
	calls []*call
	left  []*Agent
	// parents are the owners of the calls that were found.
	parents map[*Agent]*Agent
	// notices are the calls that notices name, by the agent's ID, and named the IDs of all calls that something names.
	notices map[string]string
	named   map[string]bool
}

func newLinker(t *Transcript, agents []*Agent) *linker {
	l := &linker{parents: map[*Agent]*Agent{}, notices: map[string]string{}, named: map[string]bool{}}
	l.addNotices(t)
	seen := map[*Agent]bool{nil: true}
	for _, a := range agents {
		if !seen[a] {
			seen[a] = true
			l.addAgent(a)
		}
	}
	slices.SortStableFunc(l.left, compareStarts)
	l.addCalls(nil, t)
	for _, a := range l.left {
		if a.Transcript != nil {
			l.addCalls(a, a.Transcript)
		}
	}
	return l
}

// addAgent adds an agent, and takes from it what was linked before.
func (l *linker) addAgent(a *Agent) {
	a.LinkedBy, a.CallID, a.ParentID, a.call = "", "", "", callFacts{}
	l.left = append(l.left, a)
	l.named[a.Meta.ToolUseID] = true
	if a.Transcript != nil {
		l.addNotices(a.Transcript)
	}
}

func (l *linker) addNotices(t *Transcript) {
	for agent, id := range t.TaskCalls {
		l.notices[agent] = id
		l.named[id] = true
	}
}

// addCalls adds the calls of one transcript in the order of its lines, and takes from their items what was linked
// before.
func (l *linker) addCalls(owner *Agent, t *Transcript) {
	first := len(l.calls)
	repeats := owner != nil && owner.Kind() != AgentWork
	for item := range t.items() {
		unlinkItem(item)
		if !repeats && l.mayStart(item) {
			l.calls = append(l.calls, newCall(item, owner))
		}
	}
	slices.SortStableFunc(l.calls[first:], func(a, b *call) int { return a.item.CallAt.Line - b.item.CallAt.Line })
}

// items yields all items of the conversation, and then those of its branches.
func (t *Transcript) items() iter.Seq[*DisplayItem] {
	return func(yield func(*DisplayItem) bool) {
		if !yieldItems(t.Chunks, yield) {
			return
		}
		for i := range t.Branches {
			if !yieldItems(t.Branches[i].Chunks, yield) {
				return
			}
		}
	}
}

func yieldItems(chunks []Chunk, yield func(*DisplayItem) bool) bool {
	for i := range chunks {
		for j := range chunks[i].Items {
			if !yield(&chunks[i].Items[j]) {
				return false
			}
		}
	}
	return true
}

// mayStart reports whether an item is the call of a tool that starts agents, or one that something says has started
// one.
func (l *linker) mayStart(item *DisplayItem) bool {
	return item.Type == ItemSubagent || item.ToolName == "Workflow" || item.AgentID != "" ||
		item.ToolID != "" && l.named[item.ToolID]
}

// unlinkItem undoes what Link has done to an item.
func unlinkItem(item *DisplayItem) {
	if len(item.Agents) == 0 {
		return
	}
	first := item.Agents[0].Meta
	item.Agents = nil
	if item.Type != ItemSubagent {
		return
	}
	var input spawnInput
	_ = item.ToolInput.Decode(&input)
	if item.SubagentType == first.AgentType {
		item.SubagentType = input.SubagentType
	}
	if item.SubagentDesc == first.Description {
		item.SubagentDesc = input.Description
	}
}

// A linkRule says which call started an agent.
type linkRule struct {
	by      LinkedBy
	matches func(a *Agent, c *call) bool
}

// rules returns the rules in the order of their trust.
func (l *linker) rules() []linkRule {
	return []linkRule{
		{LinkedBySidecar, func(a *Agent, c *call) bool { return c.namedBySidecar(a) && c.madeBy(a.Meta.ParentAgentID) }},
		{LinkedBySidecar, func(a *Agent, c *call) bool { return c.namedBySidecar(a) }},
		{LinkedByResult, func(a *Agent, c *call) bool { return c.namesAgent(a) && c.item.Type == ItemSubagent }},
		{LinkedByResult, func(a *Agent, c *call) bool { return c.namesAgent(a) }},
		{LinkedByWorkflow, func(a *Agent, c *call) bool { return a.Workflow != "" && c.startedRun(a.Workflow) }},
		{LinkedByNotice, func(a *Agent, c *call) bool { return c.free() && l.noticed(a, c) }},
		{LinkedByTeam, func(a *Agent, c *call) bool { return c.open(a) && c.team() && c.teammate() == a.Teammate() }},
		{LinkedByTeam, func(a *Agent, c *call) bool { return c.open(a) && c.team() && c.greeted(a) }},
		{LinkedByPrompt, func(a *Agent, c *call) bool { return c.open(a) && !c.team() && c.hasPrompt(a) }},
		{LinkedByOrder, func(a *Agent, c *call) bool { return c.open(a) && !c.team() && c.isNextOf(a) }},
	}
}

// noticed reports whether a notice of the agent's end names the call.
func (l *linker) noticed(a *Agent, c *call) bool {
	id := l.notices[a.ID]
	return id != "" && c.item.ToolID == id
}

// apply links the agents that are left and that the rule has a call for.
func (l *linker) apply(rule linkRule) {
	left := l.left[:0]
	for _, a := range l.left {
		i := -1
		if a.Kind() == AgentWork {
			i = slices.IndexFunc(l.calls, func(c *call) bool { return rule.matches(a, c) && !l.loops(a, c) })
		}
		if i < 0 {
			left = append(left, a)
			continue
		}
		l.link(a, l.calls[i], rule.by)
	}
	l.left = left
}

func (l *linker) link(a *Agent, c *call, by LinkedBy) {
	c.item.Agents = append(c.item.Agents, a)
	l.parents[a] = c.owner
	a.LinkedBy, a.CallID = by, c.item.ToolID
	if c.owner != nil {
		a.ParentID = c.owner.ID
	}
	a.call = c.facts()
}

// loops reports whether the agent has, by way of others, itself started the owner of the call.
func (l *linker) loops(a *Agent, c *call) bool {
	for owner := c.owner; owner != nil; owner = l.parents[owner] {
		if owner == a {
			return true
		}
	}
	return false
}
