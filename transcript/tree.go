package transcript

import (
	"slices"

	"github.com/clewdev/clew/internal/entryfacts"
)

// A tree holds the entries of one conversation and its branches, in the order of the file. Nodes
// refer to each other by index, since the list moves in memory when it grows.
type tree struct {
	// nodes are the entries in the order of the file.
	nodes []node
	// indexes are the places in nodes, by the UUID of the entry.
	indexes map[identity]int32
	hidden  map[identity]bool // UUIDs that were retracted before their entries came
	called  map[string]bool   // tools, by the IDs of their calls
	spoken  map[string]bool   // answers, by the IDs of their messages
	// relinked are entries that a compaction has kept, with the entry that they follow since.
	relinked map[identity]identity
	// cuts are the indexes of entries that a rewind removed, and how many nodes there were then.
	cuts map[int32]int
	last int32 // the last node, or none
	// visits counts the nodes that were looked at, for the tests of a tree's cost.
	visits int
}

// newTree returns a tree without entries.
func newTree() tree {
	return tree{indexes: map[identity]int32{}, called: map[string]bool{}, spoken: map[string]bool{}, last: none}
}

// has reports whether an entry with that UUID was added.
func (t *tree) has(uuid string) bool {
	_, ok := t.indexes[identify(uuid)]
	return ok
}

// add appends a node for an entry that is not there yet. It does not decide whether the entry is
// shown: see follow.
func (t *tree) add(e *Entry, n node) int32 {
	id := identify(e.UUID)
	at := int32(len(t.nodes)) //nolint:gosec // a transcript has fewer entries
	n.parent, n.path = t.parent(e), none
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
	t.indexes[id] = at
	t.nodes = append(t.nodes, n)
	t.last = at
	return at
}

// parent returns the index of the entry that e follows. An entry whose parent is missing follows
// the entry before it in the file, so a lost line costs no more than itself. So does a compaction,
// which has no parent.
func (t *tree) parent(e *Entry) int32 {
	if e.ParentUUID != "" {
		id := identify(e.ParentUUID)
		if to, ok := t.relinked[id]; ok {
			id = to
		}
		if at, ok := t.indexes[id]; ok {
			return at
		}
		return t.last
	}
	if at, ok := t.indexes[identify(e.LogicalParentUUID)]; ok && e.LogicalParentUUID != "" {
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

// leadOf returns the prompt or answer nearest above n, or none.
func (t *tree) leadOf(n *node) int32 {
	if n.parent == none || t.nodes[n.parent].speaks() {
		return n.parent
	}
	return t.nodes[n.parent].lead
}

// anyCalled reports whether one of the calls is in an entry that was added before.
func (t *tree) anyCalled(ids []string) bool {
	for _, id := range ids {
		if t.called[id] {
			return true
		}
	}
	return false
}

// hide retracts an entry, whether it is there or comes later. It returns the node that it has
// hidden, or nil.
func (t *tree) hide(uuid string) *node {
	id := identify(uuid)
	at, ok := t.indexes[id]
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

// cut removes an entry and everything that follows it so far from the conversation, as a rewind
// does. It reports whether the entry is there. Later entries can be part of the conversation again,
// whatever their parent.
func (t *tree) cut(uuid string) bool {
	at, ok := t.indexes[identify(uuid)]
	if !ok {
		return false
	}
	if t.cuts == nil {
		t.cuts = map[int32]int{}
	}
	t.cuts[at] = len(t.nodes)
	return true
}

// leave marks the nodes that rewinds removed: those below a cut that were there when it was made.
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

// lineAbove returns the line of the entry at which the path of a node starts, or 0.
func (t *tree) lineAbove(n *node) int {
	at := n.parent
	for at != none && t.nodes[at].path == n.path {
		t.visits++
		at = t.nodes[at].parent
	}
	if at == none {
		return 0
	}
	return t.nodes[at].line
}

// A branchPath is the part of the tree that is shown together: the nodes that lead to the last
// prompt or answer, and those beside them that belong to it. An answer with several calls has
// several entries, and each result is a child of the entry with its call, so that only one of them
// leads to the end.
//
// Path 0 is the conversation. The others are branches.
type branchPath struct {
	number   int32
	tip      int32           // where it ends, or none
	messages map[string]bool // the answers on it
	calls    map[string]bool // and the tools that they call
}

// newBranchPath returns a path without nodes.
func newBranchPath(number int32) *branchPath {
	return &branchPath{number: number, tip: none, messages: map[string]bool{}, calls: map[string]bool{}}
}

// trace finds the path through some nodes, which are in order and on no path yet, and returns the
// nodes that are not on it.
func (t *tree) trace(tr *branchPath, nodes []int32) (rest []int32) {
	for _, at := range slices.Backward(nodes) {
		t.visits++
		if n := &t.nodes[at]; n.leads() && !tr.leaves(n) {
			tr.tip = at
			break
		}
	}
	t.walk(tr)
	t.visits += len(nodes)
	for _, at := range nodes {
		if t.on(tr, at) || t.belongs(tr, at) {
			t.put(tr, at)
			continue
		}
		rest = append(rest, at)
	}
	return rest
}

// walk marks the nodes that lead to the tip.
func (t *tree) walk(tr *branchPath) {
	for at := tr.tip; at != none && t.nodes[at].path == none; at = t.nodes[at].parent {
		t.visits++
		n := &t.nodes[at]
		n.path = tr.number
		if n.role == roleAnswer && n.message != "" {
			tr.messages[n.message] = true
		}
	}
}

// put puts a node on the path.
func (t *tree) put(tr *branchPath, at int32) {
	n := &t.nodes[at]
	n.path, n.joined = tr.number, t.joins(tr, n)
	for _, call := range n.calls {
		tr.calls[call] = true
	}
}

// leaves reports whether the path is the conversation, and a rewind removed the node from it.
func (tr *branchPath) leaves(n *node) bool { return n.left && tr.number == 0 }

// on reports whether a node is on the path.
func (t *tree) on(tr *branchPath, at int32) bool { return t.nodes[at].path == tr.number }

// belongs reports whether a node belongs to the path, as it is up to the node.
func (t *tree) belongs(tr *branchPath, at int32) bool {
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

// holds reports whether the children of a node are on the path.
func (t *tree) holds(tr *branchPath, parent int32) bool { return parent == none || t.on(tr, parent) }

// joins reports whether the nodes between a node and its lead are on the path, including the lead.
func (t *tree) joins(tr *branchPath, n *node) bool {
	if n.parent == none || !t.on(tr, n.parent) {
		return false
	}
	above := &t.nodes[n.parent]
	return above.speaks() || above.joined
}

// follow puts a node that was just added on the path if it belongs there. It reports false if the
// path is or may be another one now: then the whole tree has to be traced again.
func (t *tree) follow(tr *branchPath, at int32) (ok bool) {
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

// longAnswer is the number of entries of an answer, including the entries between them, that are
// worth another look.
const longAnswer = 1000

// sameAnswer reports whether a node and the tip are parts of one answer, and every node between
// them would belong to the path even if it did not lead through it. It returns false for a long
// answer.
func (t *tree) sameAnswer(tr *branchPath, at int32) bool {
	head := t.nodes[tr.tip].head
	if t.nodes[at].head != head {
		return false
	}
	at = tr.tip
	for range longAnswer {
		t.visits++
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

// answers reports whether a node has a call's result on the path.
func (t *tree) answers(tr *branchPath, at int32) bool {
	return slices.ContainsFunc(t.nodes[at].results, func(id string) bool { return tr.calls[id] })
}

// maxBranching is the depth to which branches of branches are separated. Deeper nodes are one
// branch, in the order of the file.
const maxBranching = 32

// retrace lays out the whole tree. It returns the conversation, and how many paths there are. It
// takes time in proportion to the tree, for each level of branches.
func (t *tree) retrace() (*branchPath, int32) {
	t.visits += len(t.nodes)
	all := make([]int32, len(t.nodes))
	for i := range t.nodes {
		all[i] = int32(i) //nolint:gosec // a transcript has fewer entries
		t.nodes[i].path = none
	}
	t.leave()
	conversation := newBranchPath(0)
	paths := int32(1)
	parts := t.parts(t.trace(conversation, all))
	for depth := 0; len(parts) > 0; depth++ {
		var deeper [][]int32
		for _, part := range parts {
			branch := newBranchPath(paths)
			paths++
			if depth == maxBranching {
				t.putAll(branch, part)
				continue
			}
			deeper = append(deeper, t.parts(t.trace(branch, part))...)
		}
		parts = deeper
	}
	return conversation, paths
}

// putAll puts nodes on a path without looking at how they hang together.
func (t *tree) putAll(tr *branchPath, nodes []int32) {
	for _, at := range nodes {
		t.put(tr, at)
	}
}

// parts divides nodes that are on no path by the node at their top.
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

// relink records what a compaction has kept: entries that follow the kept ones from now on follow
// its summary.
func (t *tree) relink(p entryfacts.Preserved) {
	if p.Anchor == "" {
		return
	}
	if t.relinked == nil {
		t.relinked = map[identity]identity{}
	}
	kept := p.UUIDs
	if p.Last != "" {
		kept = []string{p.Last}
	}
	for _, uuid := range kept {
		t.relinked[identify(uuid)] = identify(p.Anchor)
	}
}

// A node is an entry of the conversation's tree.
type node struct {
	// parent is the index of the entry before it in the conversation, or none. It always comes
	// before the node in the file, so the tree has no cycles.
	parent int32
	// lead is the prompt or answer nearest above the node, or none.
	lead int32
	// head is the first entry of the answer that the node is a part of, or the node itself.
	head   int32
	role   role
	again  bool // an earlier entry is a part of the same answer
	orphan bool // the result of a call that nobody has made
	hidden bool // retracted by another entry
	left   bool // removed by a rewind
	// message is the ID of the answer that the entry is a part of, or "".
	message string
	calls   []string // the tools that it calls, by ID
	results []string // the calls whose results it has
	digest  *digest  // nil for what is not shown
	path    int32    // the number of the path that it is on, or none
	joined  bool     // and all between it and its lead is on that path
	// line is the number of the entry's line, from 1.
	line int
}

// none is the parent of a root.
const none = -1

// A role is the function of an entry in the tree.
type role uint8

const (
	// A remark is an entry beside the messages. It belongs to the entry above it.
	roleRemark role = iota
	// A prompt is a message of the user. A compaction is one as well: the conversation continues
	// from it.
	rolePrompt
	// An answer is one entry of an answer of the model.
	roleAnswer
	// A result has the tool results. It belongs to the calls.
	roleResult
)

// speaks reports whether the user or the model says something.
func (n *node) speaks() bool { return n.role == rolePrompt || n.role == roleAnswer }

// leads reports whether the conversation can end with the node.
func (n *node) leads() bool { return !n.hidden && n.speaks() }

// shows reports whether there is something to see of the node.
func (n *node) shows() bool { return n.digest != nil && !n.hidden }

// show gives what there is to see of the node to a chunker.
func (n *node) show(to *chunker) {
	if n.shows() {
		to.add(n.digest)
	}
}

// newNode returns the node of an entry, of which d is shown. An entry that shows nothing is a
// remark, whatever its type.
func newNode(e *Entry, d *digest) node {
	n := node{role: roleRemark, line: e.Position.Line, digest: d}
	switch {
	case d == nil:
	case d.answer != nil && e.Type == "assistant":
		n.role, n.message = roleAnswer, d.answer.message
		n.calls = d.answer.ids(partCall)
	case d.answer != nil && e.Type == "user":
		if n.results = d.answer.ids(partResult); n.results != nil {
			n.role = roleResult
		}
	case d.isPrompt(e):
		n.role = rolePrompt
	}
	return n
}

// isPrompt reports whether an entry that is not an answer is a prompt of the user, or a compaction.
func (d *digest) isPrompt(e *Entry) bool {
	if _, ok := d.msg.(*CompactMsg); ok {
		return true
	}
	return d.msg != nil && e.Type == "user" && !e.IsMeta
}

// ids returns the IDs of the parts of a kind.
func (a *answerDigest) ids(kind partKind) (ids []string) {
	for i := range a.parts {
		if p := &a.parts[i]; p.kind == kind {
			ids = append(ids, p.id)
		}
	}
	return ids
}
