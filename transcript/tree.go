package transcript

// A tree holds the entries of one conversation, with all that was left behind, in the order of the file.
type tree struct {
	nodes  []node
	places map[identity]int32
	hidden map[identity]bool // UUIDs that were taken back before they came
	called map[string]bool   // tools, by the IDs of their calls
	spoken map[string]bool   // answers, by the IDs of their messages
	// relinked are entries that a compaction has kept, with the entry that they follow since.
	relinked map[identity]identity
	// cuts are the places of entries that a rewind has left behind, and how many nodes there were then.
	cuts map[int32]int
	last int32 // the last node, or none
}

func newTree() tree {
	return tree{places: map[identity]int32{}, called: map[string]bool{}, spoken: map[string]bool{}, last: none}
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
	n.lead = t.leadOf(&n)
	n.head = t.headOf(at, &n)
	n.hidden = t.hidden[id]
	n.orphan = n.role == roleResult && !t.anyCalled(n.results)
	for _, call := range n.calls {
		t.called[call] = true
	}
	if n.role == roleAnswer && n.message != "" {
		n.again = t.spoken[n.message]
		t.spoken[n.message] = true
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
	if n.lead != none && t.nodes[n.lead].role == roleAnswer && t.nodes[n.lead].message == n.message {
		return t.nodes[n.lead].head
	}
	return at
}

func (t *tree) leadOf(n *node) int32 {
	if n.parent == none || t.nodes[n.parent].speaks() {
		return n.parent
	}
	return t.nodes[n.parent].lead
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
