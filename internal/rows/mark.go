package rows

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/clewdev/clew/transcript"
)

// A mark is a row that is not one of a chunk of the conversation: a branch, a subagent without a
// call, or the lines that are not entries.
type mark struct {
	before int    // the index of the chunk before which it is
	facts  uint64 // differ if something of it changed
	number int    // of the branch

	branch  *transcript.Branch
	agent   *transcript.Agent
	invalid *transcript.Transcript
}

// marksOf returns the marks of a transcript, in the order of their places.
func marksOf(t *transcript.Transcript, live bool) []mark {
	var marks []mark
	for i := range t.Branches {
		if branch := &t.Branches[i]; len(branch.Chunks) > 0 {
			marks = append(marks, mark{
				before: afterLine(t.Chunks, branch.FromLine), facts: branchFacts(branch), branch: branch, number: i,
			})
		}
	}
	for _, a := range t.Unlinked {
		if a != nil && a.Kind() == transcript.AgentWork {
			marks = append(marks, mark{before: afterTime(t.Chunks, a.Start()), facts: agentFacts(a), agent: a})
		}
	}
	if n := invalidLines(t, live); n > 0 {
		line := t.Invalid[0].Position.Line
		marks = append(marks, mark{before: afterLine(t.Chunks, line), facts: uint64(n), invalid: t}) //nolint:gosec // n > 0
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return a.before - b.before })
	return marks
}

// invalidLines counts the lines that are not entries. A line that the agent is just writing does not
// count.
func invalidLines(t *transcript.Transcript, live bool) int {
	n := len(t.Invalid)
	if live && n > 0 && t.Invalid[n-1].Torn {
		n--
	}
	return n
}

// afterLine returns the index of the chunk after the chunk with a line.
func afterLine(chunks []transcript.Chunk, line int) int {
	return sort.Search(len(chunks), func(i int) bool {
		c := &chunks[i]
		return len(c.Lines) > 0 && c.Lines[0] > line
	})
}

// afterTime returns the index of the first chunk that is later than a time. A chunk without a time is after
// all chunks.
func afterTime(chunks []transcript.Chunk, at time.Time) int {
	if at.IsZero() {
		return len(chunks)
	}
	return sort.Search(len(chunks), func(i int) bool { return chunks[i].Timestamp.After(at) })
}

// mark appends the row of a mark, and the rows below it.
func (b *builder) mark(m *mark) {
	switch {
	case m.branch != nil:
		b.branch(m.branch, m.number)
	case m.agent != nil:
		if _, listed := b.list.agents[agentKey(m.agent)]; !listed {
			b.agentRow(Unlinked, m.agent)
		}
	case m.invalid != nil:
		n := invalidLines(m.invalid, b.list.Live)
		b.add(Row{
			ID: ID(b.names.prefix + "invalid"), Kind: Invalid, State: Failed, Transcript: m.invalid,
			Text: invalidText(m.invalid.Invalid[:n]),
		})
	}
}

// invalidText returns a line that counts invalid lines.
func invalidText(lines []transcript.InvalidLine) string {
	if len(lines) == 1 {
		return fmt.Sprintf("line %d is not an entry", lines[0].Position.Line)
	}
	return fmt.Sprintf("%d lines are not entries, the first is line %d", len(lines), lines[0].Position.Line)
}

// branch appends the row of a branch, and below it the rows of its chunks.
func (b *builder) branch(branch *transcript.Branch, number int) {
	first := &branch.Chunks[0]
	i := b.add(Row{
		ID: b.names.branchMark(first, number), Kind: Branch, Chunk: first, Time: first.Timestamp, Text: branchText(branch),
	})
	below := b.below(i)
	below.names, below.live, below.current = b.names.branch(first, number), false, len(branch.Chunks)
	for k := range branch.Chunks {
		below.chunk(branch.Chunks, k)
	}
	b.end(i)
}

// branchText returns the first text of a branch.
func branchText(branch *transcript.Branch) string {
	for i := range branch.Chunks {
		c := &branch.Chunks[i]
		if c.Text != "" {
			return c.Text
		}
		for k := range c.Items {
			if summary := c.Items[k].ToolSummary; summary != "" {
				return c.Items[k].ToolName + " " + summary
			}
		}
	}
	return ""
}

// facts mixes numbers into a sum that differs if one of them does.
type facts struct {
	sum  uint64
	seen map[*transcript.Transcript]bool // subagents, which may be below themselves
}

func (f *facts) add(n int) { f.sum = (f.sum ^ uint64(n)) * 0x9e3779b97f4a7c15 } //nolint:gosec // any bits will do

func (f *facts) text(text string) {
	f.add(len(text))
	for i := range len(text) {
		f.add(int(text[i]))
	}
}

func (f *facts) flag(flag bool) {
	n := 1
	if flag {
		n = 2
	}
	f.add(n)
}

// branchFacts returns a number that differs if a branch changed.
func branchFacts(branch *transcript.Branch) uint64 {
	f := facts{sum: 1}
	f.add(branch.FromLine)
	f.chunks(branch.Chunks)
	return f.sum
}

// agentFacts returns a number that differs if a subagent, or one below it, changed.
func agentFacts(a *transcript.Agent) uint64 {
	f := facts{sum: 1}
	f.agent(a)
	return f.sum
}

// chunks adds what grows in chunks.
func (f *facts) chunks(chunks []transcript.Chunk) {
	f.add(len(chunks))
	for i := range chunks {
		c := &chunks[i]
		f.add(len(c.Lines))
		f.add(c.At.Line)
		f.add(len(c.Text))
		f.flag(c.Interrupted)
		for k := range c.Items {
			f.item(&c.Items[k])
		}
	}
}

func (f *facts) item(item *transcript.DisplayItem) {
	f.add(len(item.Text) + len(item.ToolInput))
	f.add(len(item.ToolResult))
	f.flag(item.HasResult)
	f.flag(item.Report != nil)
	for _, a := range item.Agents {
		f.agent(a)
	}
}

func (f *facts) agent(a *transcript.Agent) {
	if a == nil || a.Transcript == nil || f.seen[a.Transcript] {
		f.flag(a != nil)
		return
	}
	if f.seen == nil {
		f.seen = map[*transcript.Transcript]bool{}
	}
	f.seen[a.Transcript] = true
	f.text(agentKey(a))
	f.flag(a.Meta.Finished)
	f.chunks(a.Transcript.Chunks)
	f.add(len(a.Transcript.Invalid))
	for i := range a.Transcript.Branches {
		f.chunks(a.Transcript.Branches[i].Chunks)
	}
	for _, below := range a.Transcript.Unlinked {
		f.agent(below)
	}
}
