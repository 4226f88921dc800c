package transcript

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// A forest is a session with agents of any depth, of which some know more about their calls than others.
type forest struct {
	main   *Transcript
	agents []*Agent
	// truth is the call of each agent.
	truth map[*Agent]string
	// results are what the items say of their agents, by call.
	results map[string]string
}

// plant makes a forest. With complete evidence each agent has a full sidecar.
func plant(r *rand.Rand, complete bool) *forest {
	f := &forest{main: told(0, "p"), truth: map[*Agent]string{}, results: map[string]string{}}
	for i := range r.IntN(12) {
		f.grow(r, i, complete)
	}
	r.Shuffle(len(f.agents), func(i, j int) { f.agents[i], f.agents[j] = f.agents[j], f.agents[i] })
	return f
}

func (f *forest) grow(r *rand.Rand, i int, complete bool) {
	a := &Agent{ID: fmt.Sprintf("a%d", i), Transcript: told(r.IntN(50), fmt.Sprintf("prompt %d", r.IntN(4)))}
	owner, parent := f.main, ""
	if len(f.agents) > 0 && r.IntN(2) == 0 {
		p := f.agents[r.IntN(len(f.agents))]
		owner, parent = p.Transcript, p.ID
	}
	call := spawn(fmt.Sprintf("t%d", i), fmt.Sprintf(`{"prompt":"prompt %d"}`, r.IntN(4)))
	call.CallAt.Line = r.IntN(20)
	a.Meta = sidecar(call.ToolID, parent)
	if !complete {
		f.forget(r, a, &call)
	}
	f.truth[a] = call.ToolID
	f.results[call.ToolID] = call.AgentID
	f.agents = append(f.agents, a)
	if r.IntN(4) == 0 {
		owner.Branches = append(owner.Branches, Branch{Chunks: []Chunk{{Type: AIChunk, Items: []DisplayItem{call}}}})
		return
	}
	owner.Chunks[1].Items = append(owner.Chunks[1].Items, call)
}

// forget takes away what an agent and its call know of each other, or makes it wrong.
func (f *forest) forget(r *rand.Rand, a *Agent, call *DisplayItem) {
	someone := func() string { return fmt.Sprintf("a%d", r.IntN(14)) }
	switch r.IntN(7) {
	case 0:
		a.Meta = AgentMeta{AgentType: "Explore"}
	case 1:
		a.Meta = AgentMeta{}
		call.AgentID = a.ID
	case 2:
		a.Meta.ParentAgentID = someone() // itself, a child or nobody included
	case 3:
		a.Meta = sidecar("", someone())
	case 4:
		a.Meta.ToolUseID = fmt.Sprintf("t%d", r.IntN(14))
	case 5:
		a.Meta, call.AgentID = AgentMeta{}, someone()
	}
	switch r.IntN(8) {
	case 0:
		a.ID = "acompact-" + a.ID
	case 1:
		a.Transcript.Chunks[1].Items = append(a.Transcript.Chunks[1].Items, *call) // a copy of its own call
	}
}

// setResults gives the items their results, or takes them away.
func (f *forest) setResults(there bool) {
	set := func(chunks []Chunk) {
		for i := range chunks {
			for j := range chunks[i].Items {
				item := &chunks[i].Items[j]
				item.AgentID = ""
				if there {
					item.AgentID = f.results[item.ToolID]
				}
			}
		}
	}
	transcripts := []*Transcript{f.main}
	for _, a := range f.agents {
		transcripts = append(transcripts, a.Transcript)
	}
	for _, t := range transcripts {
		set(t.Chunks)
		for _, branch := range t.Branches {
			set(branch.Chunks)
		}
	}
}

// checkNoLoops fails if an agent is its own parent, by way of others.
func (f *forest) checkNoLoops(t *testing.T) {
	t.Helper()
	parents := map[string]string{}
	for _, a := range f.agents {
		parents[a.ID] = a.ParentID
	}
	for _, a := range f.agents {
		id := a.ID
		for range len(f.agents) + 1 {
			id = parents[id]
		}
		if id != "" {
			t.Errorf("agent %s is in a loop: %v", a.ID, parents)
		}
	}
}

func TestLinkForests(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		f := plant(rand.New(rand.NewPCG(seed, 6)), false)
		want := linkage(t, f.main, f.agents, Link(f.main, f.agents))
		f.checkNoLoops(t)

		others := slices.Clone(f.agents)
		slices.Reverse(others)
		if diff := cmp.Diff(want, linkage(t, f.main, others, Link(f.main, others))); diff != "" {
			t.Errorf("in another order (-want +got)\n%s", diff)
		}
		f.setResults(false)
		Link(f.main, f.agents[:len(f.agents)/2])
		Link(f.main, f.agents)
		f.setResults(true)
		if diff := cmp.Diff(want, linkage(t, f.main, f.agents, Link(f.main, f.agents))); diff != "" {
			t.Errorf("after growth (-want +got)\n%s", diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestLinkForestsWithSidecars(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		f := plant(rand.New(rand.NewPCG(seed, 7)), true)
		if unlinked := Link(f.main, f.agents); len(unlinked) > 0 {
			t.Fatalf("seed %d: %s and others are not linked", seed, unlinked[0].ID)
		}
		for a, call := range f.truth {
			if a.CallID != call || a.ParentID != a.Meta.ParentAgentID || a.LinkedBy != LinkedBySidecar {
				t.Fatalf("seed %d: agent %s is under %s of %q by %s, want %s", seed, a.ID, a.CallID, a.ParentID, a.LinkedBy, call)
			}
		}
	}
}

// However agents are found, thousands of them don't take long: each looks at few calls.
func TestLinkThousands(t *testing.T) {
	t.Parallel()
	const n = 4_000
	for by, name := range map[LinkedBy]func(a *Agent, i int){
		LinkedBySidecar: func(a *Agent, i int) { a.Meta.ToolUseID = fmt.Sprint("call-", i) },
		"":              func(a *Agent, i int) { a.Meta.ToolUseID = fmt.Sprint("lost-", i) },
		LinkedByPrompt:  func(a *Agent, i int) { a.Transcript.Chunks[0].Text = fmt.Sprint("prompt ", i) },
		LinkedByOrder:   func(*Agent, int) {},
	} {
		calls := Chunk{Type: AIChunk}
		agents := make([]*Agent, n)
		for i := range agents {
			calls.Items = append(calls.Items, DisplayItem{
				Type: ItemSubagent, ToolID: fmt.Sprint("call-", i), ToolInput: wire.JSON(fmt.Sprintf(`{"prompt":"prompt %d"}`, i)),
			})
			started := []Chunk{{Type: UserChunk, Text: "?", Timestamp: at(i)}}
			agents[i] = &Agent{ID: fmt.Sprint("a", i), Transcript: &Transcript{Chunks: started}}
			name(agents[i], i)
		}
		Link(&Transcript{Chunks: []Chunk{calls}}, agents)
		for i, a := range agents {
			if a.LinkedBy != by || by != "" && a.CallID != fmt.Sprint("call-", i) {
				t.Fatalf("agent %d is linked by %q to %s, want %q", i, a.LinkedBy, a.CallID, by)
			}
		}
	}
}
