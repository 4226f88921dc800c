package transcript

import (
	"iter"
	"path"
	"slices"
	"strings"
)

// LinkedBy describes how the call was found that started an agent.
type LinkedBy string

// The ways to find a call, the surest first. The last three are guesses, for agents of older
// versions.
const (
	// LinkedBySidecar: the agent's [AgentMeta] names the call.
	LinkedBySidecar LinkedBy = "sidecar"
	// LinkedByResult: the call's result names the agent.
	LinkedByResult LinkedBy = "result"
	// LinkedByWorkflow: the call started the workflow that the agent belongs to.
	LinkedByWorkflow LinkedBy = "workflow"
	// LinkedByNotice: a notice of the agent's progress or end names the call.
	LinkedByNotice LinkedBy = "notice"
	// LinkedByTeam: the call asked for a teammate of that name, or has the first prompt of the
	// agent.
	LinkedByTeam LinkedBy = "team"
	// LinkedByPrompt: the call has the prompt that the agent starts with.
	LinkedByPrompt LinkedBy = "prompt"
	// LinkedByOrder: the agent and the call are the next ones without a partner.
	LinkedByOrder LinkedBy = "order"
)

// Link puts each agent into [DisplayItem.Agents] of the item that started it, in t, in a branch of
// t, or in the transcript of another agent, whatever the depth. It returns the agents that have no
// such item or are not of the kind [AgentWork]. Agents are ordered by their start.
//
// The agents are all subagents of the session: what was linked before is forgotten. So it may be
// called again when the transcripts have grown, and gives what it would have given at once.
//
//	agents := append(transcript.InlineAgents(t), found...)
//	t.Unlinked = transcript.Link(t, agents)
//
// sessions.Read does that for the files of a session.
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
	// item is the item of the call, which gets the agents.
	item *DisplayItem
	// owner is the agent that made the call, or nil for the session itself.
	owner *Agent
	spawnInput
	spawnResult
}

// A linker finds the calls of agents. Agents that found theirs are in parents, the others in left.
// Each rule takes agents from left, so a later rule never changes what a surer one found.
type linker struct {
	// calls are the items that may have started agents, in the order of the transcripts.
	calls []*call
	// left are the agents without a call so far, by their start.
	left []*Agent
	// parents are the owners of the calls that were found.
	parents map[*Agent]*Agent
	// notices are the calls that notices name, by the agent's ID, and named the IDs of all calls
	// that something names.
	notices map[string]string
	named   map[string]bool
}

// newLinker collects the agents, the notices and the calls, and undoes what was linked before. Nil
// agents and repeated ones are left out.
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

// addNotices adds the calls that the reports of background tasks in a transcript name.
func (l *linker) addNotices(t *Transcript) {
	for agent, id := range t.TaskCalls {
		l.notices[agent] = id
		l.named[id] = true
	}
}

// addCalls adds the calls of one transcript in the order of its lines, and takes from their items
// what was linked before.
func (l *linker) addCalls(owner *Agent, t *Transcript) {
	first := len(l.calls)
	repeats := owner != nil && owner.Kind() != AgentWork
	for item := range t.items() {
		unlinkItem(item)
		if !repeats && l.mayStart(item) {
			l.calls = append(l.calls, newCall(item, owner))
		}
	}
	slices.SortStableFunc(l.calls[first:], func(a, b *call) int { return a.item.At.Line - b.item.At.Line })
}

// items yields all items of the conversation, and then all items of its branches.
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

// yieldItems yields the items of chunks. It returns false if the loop was left.
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

// mayStart reports whether an item is the call of a tool that starts agents, or is recorded as
// having started one. All other calls are left out, which keeps linking fast in a long session.
func (l *linker) mayStart(item *DisplayItem) bool {
	return item.Type == ItemSubagent || item.ToolName == workflowTool || item.AgentID != "" ||
		item.ToolID != "" && l.named[item.ToolID]
}

// unlinkItem undoes what Link did to an item. An item that got its type or description from an
// agent gets back what the input has.
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

// A linkRule finds the call that started an agent: the first fitting call whose key is the agent's,
// unless that is "".
type linkRule struct {
	by    LinkedBy
	agent func(a *Agent) string
	call  func(c *call) string
	fits  func(c *call, a *Agent) bool
}

// rules returns the rules in the order of their trust.
func (l *linker) rules() []linkRule {
	return []linkRule{
		{LinkedBySidecar, (*Agent).sidecarCall, (*call).id, (*call).madeByParent},
		{LinkedBySidecar, (*Agent).sidecarCall, (*call).id, (*call).any},
		{LinkedByResult, (*Agent).id, (*call).startedSubagent, (*call).free},
		{LinkedByResult, (*Agent).Teammate, (*call).startedSubagent, (*call).free},
		{LinkedByResult, (*Agent).id, (*call).started, (*call).free},
		{LinkedByResult, (*Agent).Teammate, (*call).started, (*call).free},
		{LinkedByWorkflow, (*Agent).inWorkflow, (*call).ofWorkflow, (*call).startedRun},
		{LinkedByNotice, func(a *Agent) string { return l.notices[a.ID] }, (*call).id, (*call).free},
		{LinkedByTeam, ifNothingNames((*Agent).Teammate), (*call).teammate, (*call).open},
		{LinkedByTeam, ifNothingNames((*Agent).greetingSummary), (*call).teamGreeting, (*call).open},
		{LinkedByPrompt, ifNothingNames((*Agent).trimmedPrompt), (*call).trimmedPrompt, (*call).open},
		{LinkedByOrder, ifNothingNames((*Agent).next), (*call).next, (*call).open},
	}
}

// ifNothingNames returns the key for agents whose calls nothing names.
func ifNothingNames(key func(*Agent) string) func(*Agent) string {
	return func(a *Agent) string {
		if !a.started() || a.Meta.ToolUseID != "" || a.Workflow != "" {
			return ""
		}
		return key(a)
	}
}

// apply links the agents that are left and that the rule has a call for. Agents that don't work for
// the user stay among the rest.
func (l *linker) apply(rule linkRule) {
	calls := map[string][]*call{}
	for _, c := range l.calls {
		if key := rule.call(c); key != "" {
			calls[key] = append(calls[key], c)
		}
	}
	left := l.left[:0]
	for _, a := range l.left {
		if a.Kind() != AgentWork || !l.start(a, calls, rule) {
			left = append(left, a)
		}
	}
	l.left = left
}

// start links an agent to the first of the calls that the rule allows. A call that no other agent
// fits any more is taken from them, so that nobody looks at it again.
func (l *linker) start(a *Agent, calls map[string][]*call, rule linkRule) bool {
	key := rule.agent(a)
	i := slices.IndexFunc(calls[key], func(c *call) bool { return rule.fits(c, a) && !l.loops(a, c) })
	if key == "" || i < 0 {
		return false
	}
	c := calls[key][i]
	l.link(a, c, rule.by)
	if !rule.fits(c, a) {
		calls[key] = slices.Delete(calls[key], i, i+1)
	}
	return true
}

// link puts an agent into the item of its call, and records in the agent how it was found.
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

// A spawnInput is the input of a tool that starts agents.
type spawnInput struct {
	SubagentType string `json:"subagent_type"`
	Description  string `json:"description"`
	Prompt       string `json:"prompt"`
	Name         string `json:"name"`
	TeamName     string `json:"team_name"`
}

// A spawnResult is the result of such a tool.
type spawnResult struct {
	Color         string `json:"color"`
	RunID         string `json:"runId"`
	TaskID        string `json:"taskId"`
	TranscriptDir string `json:"transcriptDir"`
}

// newCall returns the call of an item. Members that it cannot decode count as absent.
func newCall(item *DisplayItem, owner *Agent) *call {
	c := &call{item: item, owner: owner}
	if item.Type == ItemSubagent {
		_ = item.ToolInput.Decode(&c.spawnInput)
	}
	if item.Structured != "" {
		_ = item.Structured.Decode(&c.spawnResult)
	}
	return c
}

// free reports whether no agent was linked to the call yet.
func (c *call) free(*Agent) bool { return len(c.item.Agents) == 0 }

// any is true of each call.
func (c *call) any(*Agent) bool { return true }

// open reports whether the call may be matched with an agent that nothing names.
func (c *call) open(a *Agent) bool {
	return c.item.Type == ItemSubagent && c.free(a) && !c.namesAnother(a) &&
		(a.Meta.ParentAgentID == "" || c.madeByParent(a))
}

// namesAnother reports whether the call's result reports that it started another agent. The
// names of teammates differ from the names of their files.
func (c *call) namesAnother(a *Agent) bool {
	if strings.Contains(c.item.AgentID, "@") {
		return a.Teammate() != "" && a.Teammate() != c.item.AgentID
	}
	return c.item.AgentID != ""
}

// teammate returns name@team if the call started one, or asks for one.
func (c *call) teammate() string {
	if strings.Contains(c.item.AgentID, "@") {
		return c.item.AgentID
	}
	if c.TeamName != "" && c.Name != "" {
		return c.Name + "@" + c.TeamName
	}
	return ""
}

// madeByParent reports whether the agent's parent made the call, which may be the session itself.
func (c *call) madeByParent(a *Agent) bool { return c.ownerID() == a.Meta.ParentAgentID }

// ownerID returns the ID of the agent that made the call; "" is the session itself.
func (c *call) ownerID() string {
	if c.owner == nil {
		return ""
	}
	return c.owner.ID
}

// id and sidecarCall return the ID of the call, and the ID of the call that the sidecar names. An
// agent of an older version has no sidecar, and so no such ID.
func (c *call) id() string           { return c.item.ToolID }
func (a *Agent) sidecarCall() string { return a.Meta.ToolUseID }

// started and id are the ID of the agent that the call's result names, and of the agent.
func (c *call) started() string { return c.item.AgentID }
func (a *Agent) id() string     { return a.ID }

// startedSubagent is started of a tool that is known to start subagents.
func (c *call) startedSubagent() string {
	if c.item.Type != ItemSubagent {
		return ""
	}
	return c.item.AgentID
}

// ofWorkflow and inWorkflow are a word for the calls and agents of workflows.
func (c *call) ofWorkflow() string {
	if c.item.ToolName != workflowTool {
		return ""
	}
	return workflowTool
}

// inWorkflow returns the word if a workflow started the agent. startedRun then decides which call
// it was.
func (a *Agent) inWorkflow() string {
	if a.Workflow == "" {
		return ""
	}
	return workflowTool
}

const workflowTool = "Workflow"

// startedRun reports whether the call of a workflow started the run that the agent belongs to.
func (c *call) startedRun(a *Agent) bool {
	id := a.Workflow
	if c.RunID == "" && c.TaskID == "" && c.TranscriptDir == "" {
		return strings.Contains(c.item.ToolResult, id)
	}
	return c.RunID == id || c.TaskID == id || path.Base(c.TranscriptDir) == id
}

// teamGreeting and greetingSummary return the task of a teammate, and its greeting.
func (c *call) teamGreeting() string {
	if c.teammate() == "" {
		return ""
	}
	return c.spawnInput.Description
}

// greetingSummary returns the subject of the message that a teammate starts with, or "" if it
// starts with something else.
func (a *Agent) greetingSummary() string {
	if g := a.greeting(); g != nil {
		return g.TeammateSummary
	}
	return ""
}

// trimmedPrompt returns the prompt of the call without white space around it, or "" for a teammate.
func (c *call) trimmedPrompt() string {
	if c.teammate() != "" {
		return ""
	}
	return strings.TrimSpace(c.Prompt)
}

// trimmedPrompt returns the first prompt of the agent without white space around it.
func (a *Agent) trimmedPrompt() string { return strings.TrimSpace(a.prompt()) }

// next returns the caller that made the call or started the agent. Among its calls and agents, the
// next call belongs to the next agent. The calls of a team have no order.
func (c *call) next() string {
	if c.item.Type != ItemSubagent || c.item.AgentID != "" || c.teammate() != "" {
		return ""
	}
	return "by " + c.ownerID()
}

// next returns the same word for an agent as for the calls of its parent, or "" for a teammate.
func (a *Agent) next() string {
	if a.greeting() != nil || a.Teammate() != "" {
		return ""
	}
	return "by " + a.Meta.ParentAgentID
}

// facts returns the properties that an agent has from the call, for an agent whose metadata lacks
// them.
func (c *call) facts() callFacts {
	return callFacts{
		kind: c.item.SubagentType, description: c.item.SubagentDesc, color: c.Color, teammate: c.teammate(),
	}
}

// complete sorts the agents of the call, and copies what they know of themselves to the item.
func (c *call) complete() {
	if len(c.item.Agents) == 0 {
		return
	}
	slices.SortStableFunc(c.item.Agents, compareStarts)
	if c.item.Type != ItemSubagent {
		return
	}
	first := c.item.Agents[0].Meta
	if c.item.SubagentType == "" {
		c.item.SubagentType = first.AgentType
	}
	if c.item.SubagentDesc == "" {
		c.item.SubagentDesc = first.Description
	}
}
