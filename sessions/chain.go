package sessions

import (
	"iter"
	"slices"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// A node is an entry that names its parent.
type node struct {
	head
	entry wire.JSON // "" unless it is a message
	calls calls
	place int  // in the transcript
	left  bool // a rewind has left it behind

	passed bool  // by lastSpoken
	above  *node // the message that it has found
}

// visible reports whether the node is a message of the conversation between the user and the agent.
func (n *node) visible() bool { return n.spoken() && n.main() }

// main reports whether the node belongs to the session itself.
func (n *node) main() bool { return !n.sidechain && !n.meta && n.team == "" }

func (n *node) message() *Message {
	return &Message{
		Message:        wire.Decode([]byte(n.entry)),
		UUID:           n.uuid,
		Time:           n.created(),
		CompactSummary: n.compactSummary,
	}
}

// A chain is what of a transcript hangs together by parents.
type chain struct {
	nodes     []*node
	byUUID    map[string]*node
	kept      []preserved     // by compactions, in their order
	takenBack map[string]bool // UUIDs of entries that are not shown any more
	cuts      map[string]int  // UUIDs of entries that a rewind has left behind, and how many nodes there were then

	parentToolUse, parentAgent string // of a subagent
}

func loadChain(entries iter.Seq2[wire.JSON, error]) (*chain, error) {
	c := &chain{byUUID: map[string]*node{}, takenBack: map[string]bool{}, cuts: map[string]int{}}
	for entry, err := range entries {
		if err != nil {
			return nil, err
		}
		c.add(entry)
	}
	for _, p := range c.kept {
		c.relink(p)
	}
	return c, nil
}

func (c *chain) add(entry wire.JSON) {
	h, ok := readHead([]byte(entry))
	if !ok || !h.chained() {
		if toolUse, agent, ok := parents(entry); ok {
			c.parentToolUse, c.parentAgent = toolUse, agent
		}
		if h.kind == "last-prompt" && string(jsonlex.Lookup([]byte(entry), 0, "rewound")) == "true" {
			c.cuts[unquoted(jsonlex.Lookup([]byte(entry), 0, "cutUuid"))] = len(c.nodes)
		}
		return
	}
	n := &node{head: h, place: len(c.nodes)}
	if h.spoken() {
		n.entry, n.calls = entry, readCalls(h.message)
	}
	if len(h.compaction) > 0 {
		c.kept = append(c.kept, readPreserved(h.compaction))
	}
	for _, uuid := range h.takenBack {
		c.takenBack[uuid] = true
	}
	n.head.message, n.head.compaction, n.head.toolResult = nil, nil, nil
	c.nodes = append(c.nodes, n)
	c.byUUID[h.uuid] = n
}

// leave marks what rewinds have left behind: the nodes below a cut that were there when it was made. What came later
// counts again, wherever it hangs.
func (c *chain) leave() {
	if len(c.cuts) == 0 {
		return
	}
	until := make([]int, len(c.nodes))
	for i, n := range c.nodes {
		until[i] = c.cuts[n.uuid]
		if above := c.byUUID[n.parent]; above != nil && above.place < i {
			until[i] = max(until[i], until[above.place])
		}
		n.left = i < until[i]
	}
}

// conversation returns what leads to the last message of the session itself, in order.
func (c *chain) conversation() []*node {
	c.leave()
	named := map[string]bool{}
	for _, n := range c.nodes {
		if !n.left {
			named[n.parent] = true
		}
	}
	var leaf *node
	for _, n := range c.nodes {
		if named[n.uuid] || n.left {
			continue
		}
		if last := c.lastSpoken(n); last != nil && better(last, leaf) {
			leaf = last
		}
	}
	if leaf == nil { // every node has a child, and there is a cycle; or all was left behind
		return c.wholeConversation()
	}
	return c.completed(c.path(leaf))
}

// better reports whether a rather than b is the end of the conversation.
func better(a, b *node) bool {
	if b == nil || a.main() != b.main() {
		return b == nil || a.main()
	}
	return a.place > b.place
}

// wholeConversation returns what leads to the last message, whoever said it.
func (c *chain) wholeConversation() []*node {
	for _, n := range slices.Backward(c.nodes) {
		if n.spoken() && !n.left {
			return c.completed(c.path(n))
		}
	}
	return nil
}

// lastSpoken returns the message at n or nearest above it, or nil. It passes over a node once only, however many nodes
// are below that.
func (c *chain) lastSpoken(n *node) *node {
	var passed []*node
	for n != nil && !n.spoken() && !n.passed {
		n.passed = true
		passed = append(passed, n)
		n = c.byUUID[n.parent]
	}
	if n != nil && n.passed {
		n = n.above
	}
	for _, p := range passed {
		p.above = n
	}
	return n
}

// path returns the nodes from the root to n.
func (c *chain) path(n *node) []*node {
	up := c.upwards(n)
	slices.Reverse(up)
	return up
}

// upwards returns n and the nodes above it. It ends where a parent is not there, or comes for the second time.
func (c *chain) upwards(n *node) []*node {
	var up []*node
	seen := map[*node]bool{}
	for n != nil && !seen[n] {
		seen[n] = true
		up = append(up, n)
		n = c.byUUID[n.parent]
	}
	return up
}
