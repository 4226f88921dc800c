package transcript

import "slices"

// A trail is what is shown of a part of the tree: the way to the last prompt or answer, and what belongs to it but hangs
// beside it. An answer with several calls has several entries, and each result hangs at the entry of its call: the way
// leads through one of them only.
//
// The conversation is trail 0. The others are branches, which were left behind.
type trail struct {
	number   int32
	tip      int32           // where it ends, or none
	messages map[string]bool // the answers on it
	calls    map[string]bool // and the tools that they call
}

func newTrail(number int32) *trail {
	return &trail{number: number, tip: none, messages: map[string]bool{}, calls: map[string]bool{}}
}

// trace finds the trail through some nodes, which are in order and on none so far, and returns those that are not on it.
func (t *tree) trace(tr *trail, nodes []int32) (rest []int32) {
	for _, at := range slices.Backward(nodes) {
		if n := &t.nodes[at]; n.leads() && !tr.leaves(n) {
			tr.tip = at
			break
		}
	}
	t.walk(tr)
	for _, at := range nodes {
		if t.on(tr, at) || t.belongs(tr, at) {
			t.put(tr, at)
			continue
		}
		rest = append(rest, at)
	}
	return rest
}

// walk marks the way to the tip.
func (t *tree) walk(tr *trail) {
	for at := tr.tip; at != none && t.nodes[at].trail == none; at = t.nodes[at].parent {
		n := &t.nodes[at]
		n.trail = tr.number
		if n.role == roleAnswer && n.message != "" {
			tr.messages[n.message] = true
		}
	}
}

// put puts a node on the trail.
func (t *tree) put(tr *trail, at int32) {
	n := &t.nodes[at]
	n.trail, n.joined = tr.number, t.joins(tr, n)
	for _, call := range n.calls {
		tr.calls[call] = true
	}
}

// leaves reports whether the trail is the conversation, and a rewind has taken the node out of it.
func (tr *trail) leaves(n *node) bool { return n.left && tr.number == 0 }

func (t *tree) on(tr *trail, at int32) bool { return t.nodes[at].trail == tr.number }

// belongs reports whether a node belongs to the trail, as it is up to the node.
func (t *tree) belongs(tr *trail, at int32) bool {
	n := &t.nodes[at]
	if tr.tip == none {
		return !tr.leaves(n)
	}
	switch n.role {
	case rolePrompt:
		return false
	case roleAnswer:
		return tr.messages[n.message]
	case roleResult:
		return t.answers(tr, at) || n.orphan && t.holds(tr, n.parent)
	}
	return t.holds(tr, n.parent)
}

// holds reports whether what hangs on the place is on the trail.
func (t *tree) holds(tr *trail, parent int32) bool { return parent == none || t.on(tr, parent) }

// joins reports whether all between a node and its lead is on the trail, and the lead too.
func (t *tree) joins(tr *trail, n *node) bool {
	if n.parent == none || !t.on(tr, n.parent) {
		return false
	}
	above := &t.nodes[n.parent]
	return above.speaks() || above.joined
}

// follow puts a node that was just added on the trail if it belongs there. It reports false if the trail is another one
// now, or may be: then all has to be traced anew.
func (t *tree) follow(tr *trail, at int32) (ok bool) {
	n := &t.nodes[at]
	if !n.leads() {
		if t.belongs(tr, at) {
			t.put(tr, at)
		}
		return true
	}
	if tr.tip == none || !t.joins(tr, n) || n.again && !tr.messages[n.message] {
		return false
	}
	if n.lead != tr.tip && !t.sameAnswer(tr, n.lead) {
		return false
	}
	tr.tip = at
	if n.role == roleAnswer && n.message != "" {
		tr.messages[n.message] = true
	}
	t.put(tr, at)
	return true
}

// longAnswer is how many entries of an answer, with what is between them, are worth being looked at again.
const longAnswer = 1000

// sameAnswer reports whether a node and the tip are parts of one answer, with nothing between them that would not belong
// to the trail if the way did not lead through it. Of a long answer it does not know.
func (t *tree) sameAnswer(tr *trail, at int32) bool {
	head := t.nodes[tr.tip].head
	if t.nodes[at].head != head {
		return false
	}
	at = tr.tip
	for range longAnswer {
		if at == head {
			return true
		}
		if t.nodes[at].role == roleResult && !t.answers(tr, at) {
			return false
		}
		at = t.nodes[at].parent
	}
	return false
}

// answers reports whether a node has the result of a call on the trail.
func (t *tree) answers(tr *trail, at int32) bool {
	return slices.ContainsFunc(t.nodes[at].results, func(id string) bool { return tr.calls[id] })
}

// maxBranching is how deep branches of branches are told apart. What is deeper is one branch, in the order of the file.
const maxBranching = 32

// retrace lays out the whole tree. It returns the conversation, and how many trails there are.
func (t *tree) retrace() (*trail, int32) {
	all := make([]int32, len(t.nodes))
	for i := range t.nodes {
		all[i] = int32(i) //nolint:gosec // a transcript has fewer entries
		t.nodes[i].trail = none
	}
	t.leave()
	conversation := newTrail(0)
	trails := int32(1)
	parts := t.parts(t.trace(conversation, all))
	for depth := 0; len(parts) > 0; depth++ {
		var deeper [][]int32
		for _, part := range parts {
			branch := newTrail(trails)
			trails++
			if depth == maxBranching {
				t.putAll(branch, part)
				continue
			}
			deeper = append(deeper, t.parts(t.trace(branch, part))...)
		}
		parts = deeper
	}
	return conversation, trails
}

func (t *tree) putAll(tr *trail, nodes []int32) {
	for _, at := range nodes {
		t.put(tr, at)
	}
}

// parts divides nodes that are on no trail by the node at their top.
func (t *tree) parts(nodes []int32) [][]int32 {
	var parts [][]int32
	part := make(map[int32]int, len(nodes))
	for _, at := range nodes {
		parent := t.nodes[at].parent
		number, ok := part[parent]
		if !ok || parent == none {
			number = len(parts)
			parts = append(parts, nil)
		}
		part[at] = number
		parts[number] = append(parts[number], at)
	}
	return parts
}
