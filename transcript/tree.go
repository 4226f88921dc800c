package transcript

// A node is an entry of the conversation's tree.
type node struct {
	// parent is the index of the entry before it in the conversation, or none. It always comes before the node in the
	// file: so there are no cycles.
	parent int32
	// head is the first entry of the answer that the node is a part of, or the node itself.
	head    int32
	role    role
	orphan  bool // the result of a call that nobody has made
	hidden  bool // taken back by another entry
	left    bool // a rewind has left it behind
	message string
	calls   []string // the tools that it calls, by ID
	results []string // the calls whose results it has
	digest  *digest  // nil for what is not shown
	trail   int32    // the number of the trail that it is on, or none
	line    int
}

// none is the parent of a root.
const none = -1

// A role is what an entry does in the tree.
type role uint8

const (
	// A remark is what the agent writes beside what was said. It belongs to whatever it hangs on.
	roleRemark role = iota
	// A prompt is what the user said. A compaction is one too: the conversation goes on from it.
	rolePrompt
	// An answer is one entry of what the model said.
	roleAnswer
	// A result is what tools gave back. It belongs to the calls.
	roleResult
)

// speaks reports whether the user or the model says something.
func (n *node) speaks() bool { return n.role == rolePrompt || n.role == roleAnswer }

// leads reports whether the conversation can end with the node.
func (n *node) leads() bool { return !n.hidden && n.speaks() }

// A tree holds the entries of one conversation, with all that was left behind, in the order of the file.
type tree struct {
	nodes  []node
	places map[identity]int32
	hidden map[identity]bool // UUIDs that were taken back before they came
	called map[string]bool
	// relinked are entries that a compaction has kept, with the entry that they follow since.
	relinked map[identity]identity
	// cuts are the places of entries that a rewind has left behind, and how many nodes there were then.
	cuts map[int32]int
	last int32 // the last node, or none
}

func newTree() tree {
	return tree{places: map[identity]int32{}, called: map[string]bool{}, last: none}
}

func (t *tree) has(uuid string) bool {
	_, ok := t.places[identify(uuid)]
	return ok
}

// add appends a node for an entry that is not there yet.
func (t *tree) add(e *Entry, n node) int32 {
	id := identify(e.UUID)
	at := int32(len(t.nodes)) //nolint:gosec // a transcript has fewer entries
	n.parent, n.trail = t.parent(e), none
	n.head = t.headOf(at, &n)
	n.hidden = t.hidden[id]
	n.orphan = n.role == roleResult && !t.anyCalled(n.results)
	for _, call := range n.calls {
		t.called[call] = true
	}
	t.places[id] = at
	t.nodes = append(t.nodes, n)
	t.last = at
	return at
}

// parent returns the place of the entry that e follows. What names a parent that is not there follows the entry before
// it in the file: a line that was lost costs no more than itself. So does a compaction, which has no parent of its own.
func (t *tree) parent(e *Entry) int32 {
	if e.ParentUUID != "" {
		id := identify(e.ParentUUID)
		if to, ok := t.relinked[id]; ok {
			id = to
		}
		if at, ok := t.places[id]; ok {
			return at
		}
		return t.last
	}
	if at, ok := t.places[identify(e.LogicalParentUUID)]; ok && e.LogicalParentUUID != "" {
		return at
	}
	if e.Root && e.LogicalParentUUID == "" && e.Subtype != "compact_boundary" {
		return none
	}
	return t.last
}

// headOf returns the first entry of the answer that n is a part of.
func (t *tree) headOf(at int32, n *node) int32 {
	if n.role != roleAnswer || n.message == "" {
		return at
	}
	if above := t.leading(n.parent); above != none && t.nodes[above].message == n.message && t.nodes[above].role == roleAnswer {
		return t.nodes[above].head
	}
	return at
}

// leading returns the prompt or answer at the place or nearest above it, or none.
func (t *tree) leading(at int32) int32 {
	for at != none && !t.nodes[at].speaks() {
		at = t.nodes[at].parent
	}
	return at
}

func (t *tree) anyCalled(ids []string) bool {
	for _, id := range ids {
		if t.called[id] {
			return true
		}
	}
	return false
}

// hide takes an entry back, whether it is there or comes later. It returns the node that it has hidden, or nil.
func (t *tree) hide(uuid string) *node {
	id := identify(uuid)
	at, ok := t.places[id]
	if !ok {
		if t.hidden == nil {
			t.hidden = map[identity]bool{}
		}
		t.hidden[id] = true
		return nil
	}
	n := &t.nodes[at]
	if n.hidden {
		return nil
	}
	n.hidden = true
	return n
}

// cut leaves an entry and all that follows it so far behind, as a rewind does. It reports whether the entry is there. What
// comes later leads again, wherever it hangs.
func (t *tree) cut(uuid string) bool {
	at, ok := t.places[identify(uuid)]
	if !ok {
		return false
	}
	if t.cuts == nil {
		t.cuts = map[int32]int{}
	}
	t.cuts[at] = len(t.nodes)
	return true
}

// leave marks what was left behind: the nodes below a cut that were there when it was made.
func (t *tree) leave() {
	if len(t.cuts) == 0 {
		return
	}
	until := make([]int, len(t.nodes))
	for i := range t.nodes {
		n := &t.nodes[i]
		until[i] = t.cuts[int32(i)] //nolint:gosec // a transcript has fewer entries
		if n.parent != none {
			until[i] = max(until[i], until[n.parent])
		}
		n.left = i < until[i]
	}
}

// lineAbove returns the line of the entry that the trail of a node hangs on, or 0.
func (t *tree) lineAbove(n *node) int {
	at := n.parent
	for at != none && t.nodes[at].trail == n.trail {
		at = t.nodes[at].parent
	}
	if at == none {
		return 0
	}
	return t.nodes[at].line
}

// relink notes what a compaction has kept: what follows these entries from now on follows its summary.
func (t *tree) relink(kept []string, anchor string) {
	if anchor == "" {
		return
	}
	if t.relinked == nil {
		t.relinked = map[identity]identity{}
	}
	for _, uuid := range kept {
		t.relinked[identify(uuid)] = identify(anchor)
	}
}
