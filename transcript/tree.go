package transcript

import (
	"slices"

	"github.com/clewdev/clew/internal/entryfacts"
)

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
	// visits counts the nodes that were looked at, for the tests of what a tree costs.
	visits int
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
		t.visits++
		at = t.nodes[at].parent
	}
	if at == none {
		return 0
	}
	return t.nodes[at].line
}

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

// walk marks the way to the tip.
func (t *tree) walk(tr *trail) {
	for at := tr.tip; at != none && t.nodes[at].trail == none; at = t.nodes[at].parent {
		t.visits++
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

// answers reports whether a node has the result of a call on the trail.
func (t *tree) answers(tr *trail, at int32) bool {
	return slices.ContainsFunc(t.nodes[at].results, func(id string) bool { return tr.calls[id] })
}

// maxBranching is how deep branches of branches are told apart. What is deeper is one branch, in the order of the file.
const maxBranching = 32

// retrace lays out the whole tree. It returns the conversation, and how many trails there are.
func (t *tree) retrace() (*trail, int32) {
	t.visits += len(t.nodes)
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

// relink records what a compaction has kept: entries that follow the kept ones from now on follow its summary.
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
	// parent is the index of the entry before it in the conversation, or none. It always comes before the node in the
	// file: so there are no cycles.
	parent int32
	// lead is the prompt or answer nearest above the node, or none.
	lead int32
	// head is the first entry of the answer that the node is a part of, or the node itself.
	head    int32
	role    role
	again   bool // an earlier entry is a part of the same answer
	orphan  bool // the result of a call that nobody has made
	hidden  bool // taken back by another entry
	left    bool // a rewind has left it behind
	message string
	calls   []string // the tools that it calls, by ID
	results []string // the calls whose results it has
	digest  *digest  // nil for what is not shown
	trail   int32    // the number of the trail that it is on, or none
	joined  bool     // and all between it and its lead is on that trail
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

// shows reports whether there is something to see of the node.
func (n *node) shows() bool { return n.digest != nil && !n.hidden }

// show gives what there is to see of the node to a chunker.
func (n *node) show(to *chunker) {
	if n.shows() {
		to.add(n.digest)
	}
}

// newNode returns the node of an entry, of which d is shown.
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

// isPrompt reports whether an entry that is no answer is what the user said, or a compaction.
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
