package transcript

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
