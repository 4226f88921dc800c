package sessions

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/clewdev/clew/transcript"
)

// linkFacts are what was known of a transcript when subagents were last put under their items. To do that takes as long
// as the session is, so it is done only if one of the facts is another one now.
type linkFacts struct {
	starts map[int]uint64     // what chunks tell of subagents, by index
	tasks  int                // how many calls of tasks are known
	branch *transcript.Branch // the first one: they are all made anew if one has changed
	start  time.Time
	kind   transcript.AgentKind
	team   string // name@team
}

// An agentPlace is where a subagent hangs.
type agentPlace struct {
	by           transcript.LinkedBy
	call, parent string
}

// outdates takes note of the facts after an update, and reports whether one is new.
func (f *tailed) outdates(u *Update, named map[string]bool) bool {
	t, before := u.Transcript, f.linkFacts
	if t == nil {
		f.linkFacts = linkFacts{}
		return true
	}
	f.tasks, f.branch = len(t.TaskCalls), nil
	if len(t.Branches) > 0 {
		f.branch = &t.Branches[0]
	}
	if f.agent != nil {
		f.start, f.kind = f.agent.Start(), f.agent.Kind()
		f.team, _ = transcript.TeamAgent(t)
	}
	return f.noteStarts(u, named) || begins(u) || len(t.Sidechains) > 0 || f.tasks != before.tasks ||
		f.branch != before.branch || f.kind != before.kind || f.team != before.team || !f.start.Equal(before.start)
}

// begins reports whether an update has the first words of a transcript, which tell what a subagent was started for.
func begins(u *Update) bool {
	return !slices.ContainsFunc(u.Transcript.Chunks[:u.First], func(c transcript.Chunk) bool {
		return c.Type == transcript.UserChunk
	})
}

// noteStarts takes note of what the chunks of an update tell of subagents, and reports whether that is new.
func (f *tailed) noteStarts(u *Update, named map[string]bool) bool {
	if f.starts == nil || u.First == 0 {
		f.starts = map[int]uint64{}
	}
	isNew := false
	for i := u.First; i < len(u.Transcript.Chunks); i++ {
		if sum := sumOfStarts(u.Transcript.Chunks[i].Items, named); sum != f.starts[i] {
			isNew = true
			f.starts[i] = sum
		}
	}
	return isNew
}

var startSeed = maphash.MakeSeed()

// sumOfStarts returns a number that is another one if items tell something else of subagents, and 0 if they tell
// nothing.
func sumOfStarts(items []transcript.DisplayItem, named map[string]bool) uint64 {
	type facts struct {
		item                      int
		call, agent               string
		input, result, structured int
	}
	var sum uint64
	for i := range items {
		item := &items[i]
		if item.Type == transcript.ItemSubagent || item.ToolName == "Workflow" || item.AgentID != "" || named[item.ToolID] {
			sum ^= maphash.Comparable(startSeed, facts{
				i, item.ToolID, item.AgentID, len(item.ToolInput), len(item.ToolResult), len(item.Structured),
			})
		}
	}
	return sum
}

// link puts the subagents under the items that started them, if something has changed that tells which those are.
func (t *tailing) link() {
	if !t.outdated || t.main.builder == nil || t.opts.OnlyMain {
		return
	}
	t.outdated = false
	main := t.main.builder.Transcript()
	t.named = map[string]bool{}
	t.name(main)
	var agents []*transcript.Agent
	for _, f := range t.agents {
		if f.agent.Transcript != nil && f.offset > 0 { // has a line with an end
			agents = append(agents, f.agent)
			t.named[f.agent.Meta.ToolUseID] = true
			t.name(f.agent.Transcript)
		}
	}
	delete(t.named, "")
	linkAgents(main, agents)
	t.tellPlaces()
}

// name takes note of the calls that a transcript says have started tasks.
func (t *tailing) name(from *transcript.Transcript) {
	for _, call := range from.TaskCalls {
		t.named[call] = true
	}
}

// tellPlaces notes updates of subagents that hang elsewhere now, unless they have one.
func (t *tailing) tellPlaces() {
	told := map[*transcript.Agent]bool{}
	for _, u := range t.updates {
		told[u.Agent] = true
	}
	for _, f := range t.agents {
		if f.agent.Transcript == nil {
			continue
		}
		now := agentPlace{f.agent.LinkedBy, f.agent.CallID, f.agent.ParentID}
		if now != f.place && !told[f.agent] {
			u := &Update{Agent: f.agent}
			f.fill(u)
			t.updates = append(t.updates, u)
		}
		f.place = now
	}
}
