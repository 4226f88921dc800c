package follow

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A tree copies a session and its subagents, which the loop of Tail changes, into snapshots.
// Unchanged parts are shared with the last snapshot. The zero value is ready.
type tree struct {
	main   node
	agents map[*transcript.Agent]*node
	// relinked means that subagents may be under other items than in the last snapshot.
	relinked bool
	gone     bool
	unread   error // the last directory of subagents that can't be read
	pass     int   // the number of the snapshot
}

// unchanged is the index of the first changed chunk if none changed.
const unchanged = math.MaxInt

// A node is one transcript of a session, and its newest copy.
type node struct {
	live *transcript.Transcript // as Tail has it, or nil if there is none
	// first is the first of its chunks that changed since the copy.
	first int
	// starts are the items with subagents, and branches the branches that were searched for them.
	starts   []start
	branches *transcript.Branch
	// unlinked are the subagents that no item of the copy started.
	unlinked []*transcript.Agent
	copy     *transcript.Transcript

	// pass is the number of the snapshot that the copy was last looked at for, and changed the
	// first chunk that is another one since then.
	pass, changed int

	agentNode
}

// An agentNode is the subagent part of a node. It is empty for the session itself.
type agentNode struct {
	agent   *transcript.Agent // the newest copy
	of      transcript.Agent  // what it is a copy of
	noted   bool              // Tail reported something new
	err     error             // why its transcript can't be read
	renewed bool              // the agent or its transcript are another copy since pass
}

// A start is an item with subagents.
type start struct {
	place
	agents []*transcript.Agent
}

// A place is the place of an item: in a branch, or in the conversation if branch is -1.
type place struct{ branch, chunk, item int }

// note takes an update of Tail. The next snapshot contains it.
func (t *tree) note(u *sessions.Update) {
	t.relinked = t.relinked || u.Relinked
	if u.Agent == nil {
		t.gone = u.Transcript == nil
		if u.Reset || u.Err != nil {
			t.unread = u.Err
		}
		if u.Transcript != nil { // otherwise the last copy stays
			t.main.change(u.Transcript, u.First)
		}
		return
	}
	n := t.node(u.Agent)
	n.noted, n.err = true, u.Err
	n.change(u.Transcript, u.First)
}

// change marks a transcript as changed from a chunk on.
func (n *node) change(to *transcript.Transcript, first int) {
	if n.live != to {
		n.live, first = to, 0
	}
	if n.copy == nil {
		first = 0
	}
	n.first = min(n.first, first)
}

// node returns the node of an agent.
func (t *tree) node(a *transcript.Agent) *node {
	n := t.agents[a]
	if n == nil {
		if t.agents == nil {
			t.agents = map[*transcript.Agent]*node{}
		}
		n = &node{live: a.Transcript}
		t.agents[a] = n
	}
	return n
}

// snapshot returns a copy of everything, or nil if there is no transcript yet, and the first chunk
// that changed since the last one.
func (t *tree) snapshot() (*transcript.Transcript, int) {
	t.pass++
	first := t.refresh(&t.main)
	if t.relinked {
		for a, n := range t.agents {
			if n.pass != t.pass && n.err == nil { // it is nowhere; agents in the session's file are new each time
				delete(t.agents, a)
			}
		}
	}
	t.relinked = false
	if t.main.copy == nil {
		return nil, 0
	}
	return t.main.copy, min(first, len(t.main.copy.Chunks))
}

// err returns why something can't be read.
func (t *tree) err() error {
	var errs []error
	for _, n := range t.agents {
		if n.err != nil {
			errs = append(errs, n.err)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(append(errs, t.unread)...)
}

// size returns about how many bytes the files have.
func (t *tree) size() int64 {
	size := t.main.size()
	for _, n := range t.agents {
		size += n.size()
	}
	return size
}

// size returns the position of the last entry that is shown.
func (n *node) size() int64 {
	if n.live == nil || len(n.live.Chunks) == 0 {
		return 0
	}
	c := &n.live.Chunks[len(n.live.Chunks)-1]
	size := c.At.Offset
	if k := len(c.Items); k > 0 {
		size = max(size, c.Items[k-1].At.Offset, c.Items[k-1].ResultAt.Offset)
	}
	return size
}

// refresh renews the copy of a transcript, if it or one of its subagents changed. It returns the
// index of the first changed chunk, or unchanged.
func (t *tree) refresh(n *node) int {
	if n.pass == t.pass {
		return n.changed
	}
	n.pass, n.changed = t.pass, unchanged
	if n.live == nil {
		if n.copy != nil {
			n.copy, n.starts, n.changed = nil, nil, 0
		}
		n.first = 0
		return n.changed
	}
	before := n.starts
	n.findStarts(t.relinked)
	stale := t.staleStarts(n, before)
	loose := t.renewAll(n.live.Unlinked) || !slices.Equal(n.unlinked, n.live.Unlinked)
	if n.copy != nil && n.first == unchanged && len(stale) == 0 && !loose {
		return n.changed
	}
	t.renew(n, stale)
	n.changed = min(n.first, len(n.live.Chunks))
	for at := range stale {
		n.changed = min(n.changed, at.firstChunk())
	}
	n.first = unchanged
	return n.changed
}

// firstChunk returns the first chunk to show again if a place changed: the branches are shown at
// any of them.
func (p place) firstChunk() int {
	if p.branch >= 0 {
		return 0
	}
	return p.chunk
}

// findStarts updates the items with subagents. In unchanged chunks, they are the same unless
// subagents were linked again.
func (n *node) findStarts(relinked bool) {
	var branches *transcript.Branch
	if len(n.live.Branches) > 0 {
		branches = &n.live.Branches[0]
	}
	first, others := n.first, branches != n.branches
	if relinked {
		first, others = 0, true
	}
	if first == unchanged && !others {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(n.starts), func(s start) bool {
		return s.branch < 0 && s.chunk >= first || s.branch >= 0 && others
	})
	kept = appendStarts(kept, -1, n.live.Chunks, first)
	for i := 0; others && i < len(n.live.Branches); i++ {
		kept = appendStarts(kept, i, n.live.Branches[i].Chunks, 0)
	}
	n.starts, n.branches = kept, branches
}

// appendStarts adds the items of chunks that have subagents, from the first chunk on.
func appendStarts(starts []start, branch int, chunks []transcript.Chunk, first int) []start {
	for c := min(first, len(chunks)); c < len(chunks); c++ {
		for i := range chunks[c].Items {
			if agents := chunks[c].Items[i].Agents; len(agents) > 0 {
				starts = append(starts, start{place{branch, c, i}, slices.Clone(agents)})
			}
		}
	}
	return starts
}

// staleStarts returns the places whose items have other subagents than in the copy, or new copies
// of them. before are the items that had subagents then.
func (t *tree) staleStarts(n *node, before []start) map[place]bool {
	stale := map[place]bool{}
	for _, s := range n.starts {
		if t.renewAll(s.agents) {
			stale[s.place] = true
		}
	}
	if !t.relinked {
		return stale
	}
	now := make(map[place][]*transcript.Agent, len(n.starts))
	for _, s := range n.starts {
		now[s.place] = s.agents
	}
	for _, s := range before {
		if !slices.Equal(s.agents, now[s.place]) {
			stale[s.place] = true
		}
		delete(now, s.place)
	}
	for at := range now { // where there was none
		stale[at] = true
	}
	return stale
}

// renewAll renews the copies of subagents, and reports whether any of them is a new one.
func (t *tree) renewAll(agents []*transcript.Agent) bool {
	renewed := false
	for _, a := range agents {
		renewed = t.renewAgent(a) || renewed
	}
	return renewed
}

// renewAgent renews the copy of a subagent if it or something below it changed.
func (t *tree) renewAgent(a *transcript.Agent) bool {
	n := t.node(a)
	if n.pass == t.pass {
		return n.renewed
	}
	n.renewed = false
	if n.live != a.Transcript {
		n.change(a.Transcript, 0)
	}
	below := t.refresh(n) != unchanged
	if n.agent == nil || below || (n.noted || t.relinked) && n.of != *a {
		renewed := *a
		renewed.Transcript = n.copy
		n.agent, n.of, n.renewed = &renewed, *a, true
	}
	n.noted = false
	return n.renewed
}

// renew makes a new copy of a transcript. Items in chunks that are shared with the last copy are
// copied if they are stale.
func (t *tree) renew(n *node, stale map[place]bool) {
	last, first := n.copy, n.first
	if last == nil {
		first = 0
	}
	n.copy = n.live.Snapshot(last, first)
	c := copier{tree: t, node: n, last: last, owned: map[place]bool{}}
	for at := range stale {
		c.item(at)
	}
	for _, s := range n.starts {
		if !stale[s.place] && c.isNew(s.place) {
			c.item(s.place)
		}
	}
	n.unlinked = slices.Clone(n.live.Unlinked)
	n.copy.Unlinked = t.copies(n.unlinked)
	for i, chain := range n.live.Sidechains {
		for _, other := range t.agents {
			if other.live == chain && other.pass == t.pass {
				n.copy.Sidechains[i] = other.copy
			}
		}
	}
}

// copies returns the copies of subagents.
func (t *tree) copies(agents []*transcript.Agent) []*transcript.Agent {
	if len(agents) == 0 {
		return nil
	}
	copies := make([]*transcript.Agent, len(agents))
	for i, a := range agents {
		copies[i] = t.node(a).agent
	}
	return copies
}

// A copier puts items with copies of subagents into a new copy of a transcript.
type copier struct {
	tree  *tree
	node  *node
	last  *transcript.Transcript // the copy before, or nil
	owned map[place]bool         // chunks, and branches with chunk -1, that only the new copy has
}

// isNew reports whether the chunk of a place is not shared with the last copy.
func (c *copier) isNew(at place) bool {
	if at.branch >= 0 {
		return !c.sharesBranches()
	}
	return c.last == nil || at.chunk >= min(c.node.first, len(c.last.Chunks))
}

func (c *copier) sharesBranches() bool {
	now := c.node.copy.Branches
	return c.last != nil && len(now) > 0 && len(c.last.Branches) > 0 && &now[0] == &c.last.Branches[0]
}

// item copies an item again, with the copies of its subagents.
func (c *copier) item(at place) {
	from := itemAt(c.node.live, at)
	if from == nil { // the conversation has become shorter
		return
	}
	c.own(at)
	to := itemAt(c.node.copy, at)
	*to = *from
	to.Agents = c.tree.copies(from.Agents)
}

// own makes sure that the new copy shares the items of a chunk with no other one.
func (c *copier) own(at place) {
	at.item = 0
	if c.owned[at] || c.isNew(at) && at.branch < 0 {
		return
	}
	c.owned[at] = true
	chunks := c.node.copy.Chunks
	if at.branch >= 0 {
		branches := place{-1, -1, -1}
		if shared := c.sharesBranches(); shared && !c.owned[branches] {
			c.node.copy.Branches = slices.Clone(c.node.copy.Branches)
			c.owned[branches] = true
		}
		branch := &c.node.copy.Branches[at.branch]
		if chunk := (place{at.branch, -1, -1}); !c.owned[chunk] {
			branch.Chunks = slices.Clone(branch.Chunks)
			c.owned[chunk] = true
		}
		chunks = branch.Chunks
	}
	chunks[at.chunk].Items = slices.Clone(chunks[at.chunk].Items)
}

// itemAt returns the item at a place, or nil if there is none.
func itemAt(t *transcript.Transcript, at place) *transcript.DisplayItem {
	chunks := t.Chunks
	if at.branch >= 0 {
		if at.branch >= len(t.Branches) {
			return nil
		}
		chunks = t.Branches[at.branch].Chunks
	}
	if at.chunk >= len(chunks) || at.item >= len(chunks[at.chunk].Items) {
		return nil
	}
	return &chunks[at.chunk].Items[at.item]
}
