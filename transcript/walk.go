package transcript

import (
	"iter"

	"github.com/clewdev/clew/usage"
)

// A Turn is a prompt and everything up to the next one.
type Turn struct {
	// Number counts the prompts of the conversation from 1. It is 0 for anything before the first
	// one.
	Number int
	// Chunks are a part of [Transcript.Chunks]: the prompt and everything up to the next turn.
	Chunks []Chunk
	// Calls are the model calls in the turn, including calls of the subagents that it started, each
	// once, by time. [usage.Cost] prices them.
	Calls []usage.Call
}

// Turns returns the turns of the conversation, and the model calls that belong to none of
// them: calls in branches, subagent calls in Unlinked, and calls that no chunk shows. Each call
// of [Transcript.Calls] is in one turn or in others. They are matched by the lines that they come
// from, not by time.
//
//	turns, _ := t.Turns()
//	for _, turn := range turns {
//		fmt.Println(turn.Number, usage.Cost(turn.Calls, usage.DefaultPrices()).Total)
//	}
//
// A transcript that was made by hand, or read from a document, has no calls.
func (t *Transcript) Turns() (turns []Turn, others []usage.Call) {
	for i := range t.Chunks {
		if t.Chunks[i].Type == UserChunk || i == 0 {
			turns = append(turns, Turn{Number: t.Chunks[i].Turn, Chunks: t.Chunks[i:i]})
		}
		last := &turns[len(turns)-1]
		last.Chunks = t.Chunks[i-len(last.Chunks) : i+1 : i+1]
	}
	if t.figures == nil {
		return turns, nil
	}
	owners := callOwners{}
	owners.claimAll(t, turns)
	for _, call := range t.Calls() {
		if i, ok := owners.of(&call); ok {
			turns[i].Calls = append(turns[i].Calls, call)
		} else {
			others = append(others, call)
		}
	}
	return turns, others
}

// An answer names an answer of the model, as [usage.Tally] does.
type answer struct{ id, request string }

func answerOf(c *usage.Call) answer {
	if c.MessageID == "" && c.UUID != "" {
		return answer{id: "\x00" + c.UUID} // never that of a message
	}
	return answer{c.MessageID, c.RequestID}
}

// callLines are the answers of a file and the lines that have them, in order.
type callLines struct {
	lines   []int
	answers []answer
}

func (l *callLines) add(line int, c *usage.Call) {
	a := answerOf(c)
	if n := len(l.answers); n > 0 && l.answers[n-1] == a {
		a = l.answers[n-1] // the lines of an answer share its strings
	}
	l.lines, l.answers = append(l.lines, line), append(l.answers, a)
}

// callOwners finds out which turn an answer belongs to.
type callOwners map[answer]int // the index of the turn, or noTurn

// noTurn is the owner of answers that belong to no turn.
const noTurn = -1

// claimAll gives the answers that the chunks of a transcript show their owners. The conversation
// comes first, because a subagent may repeat its answers.
func (o callOwners) claimAll(t *Transcript, turns []Turn) {
	turnAt := map[int]int{} // by line
	for i := range turns {
		noteLines(turnAt, turns[i].Chunks, i)
	}
	for i := range t.Branches {
		noteLines(turnAt, t.Branches[i].Chunks, noTurn)
	}
	calls := &t.figures.lines
	for i, line := range calls.lines {
		if turn, ok := turnAt[line]; ok {
			o.claim(calls.answers[i], turn)
		}
	}
	for i := range turns {
		for c := range turns[i].Chunks {
			o.claimAgents(&turns[i].Chunks[c], i)
		}
	}
}

// noteLines notes the turn of the lines of chunks.
func noteLines(turnAt map[int]int, chunks []Chunk, turn int) {
	for i := range chunks {
		for _, line := range chunks[i].Lines {
			turnAt[line] = turn
		}
	}
}

// claimAgents gives the answers of the subagents that a chunk started to its turn.
func (o callOwners) claimAgents(c *Chunk, turn int) {
	for i := range c.Items {
		for _, a := range c.Items[i].Agents {
			if a.Transcript == nil || !a.counts() {
				continue
			}
			for _, call := range a.Transcript.Calls() {
				o.claim(answerOf(&call), turn)
			}
		}
	}
}

// claim gives an answer to a turn, unless it has an owner.
func (o callOwners) claim(a answer, turn int) {
	for _, a := range []answer{a, {id: a.id}} { // a copy may have another request, or none
		if _, claimed := o[a]; !claimed {
			o[a] = turn
		}
	}
}

// of returns the turn of a call, if it has one.
func (o callOwners) of(c *usage.Call) (turn int, ok bool) {
	a := answerOf(c)
	turn, ok = o[a]
	if !ok {
		turn, ok = o[answer{id: a.id}]
	}
	return turn, ok && turn != noTurn && a.id != ""
}

// A Place locates a chunk or an item in a transcript.
type Place struct {
	// Transcript is the transcript that has the chunk: the session's or a subagent's.
	Transcript *Transcript
	// Agent is the subagent of that transcript, or nil for the session itself.
	Agent *Agent
	// Depth is 0 for the session, 1 for its subagents, 2 for theirs, and so on.
	Depth int
	// Branch is the branch that has the chunk, or nil for the conversation.
	Branch *Branch
	// Chunk is the chunk, or the chunk of an item.
	Chunk *Chunk
	// ChunkIndex is the index of the chunk in [Transcript.Chunks], or in [Branch.Chunks].
	ChunkIndex int
	// ItemIndex is the index of the item in [Chunk.Items], or -1 for a chunk.
	ItemIndex int
}

// All yields every item of the transcript once, with its place: first the conversation, with the
// items of each subagent after the item that started it, then branches, and then subagents that no
// item started. A subagent without a transcript has no items. The items may be changed.
//
//	for place, item := range t.All() {
//		if item.ToolError {
//			fmt.Println(place.Depth, item.ToolName, item.ToolResult)
//		}
//	}
func (t *Transcript) All() iter.Seq2[Place, *DisplayItem] {
	return func(yield func(Place, *DisplayItem) bool) {
		w := walk{seen: map[*Transcript]bool{}, item: yield}
		w.transcript(Place{Transcript: t})
	}
}

// AllChunks is like [Transcript.All] but yields the chunks, each followed by the chunks of the
// subagents that it started.
func (t *Transcript) AllChunks() iter.Seq2[Place, *Chunk] {
	return func(yield func(Place, *Chunk) bool) {
		w := walk{seen: map[*Transcript]bool{}, chunk: yield}
		w.transcript(Place{Transcript: t})
	}
}

// A walk visits a transcript and its subagents, each of them once. Its methods report whether it
// continues.
type walk struct {
	seen  map[*Transcript]bool
	chunk func(Place, *Chunk) bool       // or nil
	item  func(Place, *DisplayItem) bool // or nil
}

func (w *walk) transcript(at Place) bool {
	t := at.Transcript
	if t == nil || w.seen[t] {
		return true
	}
	w.seen[t] = true
	if !w.chunks(at, t.Chunks) {
		return false
	}
	for i := range t.Branches {
		at.Branch = &t.Branches[i]
		if !w.chunks(at, at.Branch.Chunks) {
			return false
		}
	}
	at = Place{Transcript: t, Agent: at.Agent, Depth: at.Depth}
	if !w.agents(at, t.Unlinked) {
		return false
	}
	for _, chain := range t.Sidechains { // those that were not linked
		if !w.transcript(Place{Transcript: chain, Depth: at.Depth + 1}) {
			return false
		}
	}
	return true
}

func (w *walk) chunks(at Place, chunks []Chunk) bool {
	for i := range chunks {
		at.Chunk, at.ChunkIndex, at.ItemIndex = &chunks[i], i, -1
		if w.chunk != nil && !w.chunk(at, at.Chunk) {
			return false
		}
		for k := range at.Chunk.Items {
			item := &at.Chunk.Items[k]
			at.ItemIndex = k
			if w.item != nil && !w.item(at, item) || !w.agents(at, item.Agents) {
				return false
			}
		}
	}
	return true
}

func (w *walk) agents(at Place, agents []*Agent) bool {
	for _, a := range agents {
		if a != nil && !w.transcript(Place{Transcript: a.Transcript, Agent: a, Depth: at.Depth + 1}) {
			return false
		}
	}
	return true
}
