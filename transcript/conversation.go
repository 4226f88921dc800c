package transcript

import "github.com/clewdev/clew/internal/entryfacts"

// A conversation is the tree of what was said, and the chunks of it.
type conversation struct {
	tree     tree
	trail    *trail // nil while it has to be traced anew
	chunker  chunker
	branches []Branch
	branched bool // branches have changed
	rebuilt  bool // since the last call of changed
}

// add takes an entry that is not there yet, and what is shown of it, or nil. It returns how many entries are not shown
// from now on since they were taken back.
func (c *conversation) add(e *Entry, d *digest) (superseded int) {
	at := c.tree.add(e, newNode(e, d))
	if n := &c.tree.nodes[at]; n.hidden && d != nil {
		superseded++
	}
	for _, uuid := range e.Supersedes {
		if n := c.tree.hide(uuid); n != nil {
			c.trail = nil
			if n.digest != nil {
				superseded++
			}
		}
	}
	if e.Subtype == "compact_boundary" && len(e.CompactMetadata) > 0 {
		c.tree.relink(entryfacts.ReadPreserved(e.CompactMetadata))
	}
	c.follow(at)
	return superseded
}

// rewind leaves an entry and all that follows it so far behind.
func (c *conversation) rewind(uuid string) {
	if c.tree.cut(uuid) {
		c.trail = nil
	}
}

// follow goes on with the conversation, if it does go on with the new node.
func (c *conversation) follow(at int32) {
	switch n := &c.tree.nodes[at]; {
	case c.trail == nil:
	case !c.tree.follow(c.trail, at):
		c.trail = nil
	case n.trail == none:
		c.branched = true
	default:
		n.show(&c.chunker)
	}
}

// show returns the chunks of the conversation, and what was left behind.
func (c *conversation) show() ([]Chunk, []Branch) {
	c.settle()
	return c.chunker.chunks(), c.branches
}

// changed returns the index of the first chunk that is new or has changed since the last call, or the number of chunks.
func (c *conversation) changed() int {
	c.settle()
	first := c.chunker.changed()
	if c.rebuilt {
		first = 0
	}
	c.rebuilt = false
	return first
}

// shownLines returns a test of whether the entry of a line is part of the conversation.
func (c *conversation) shownLines() func(line int) bool {
	c.settle()
	left := map[int]bool{}
	for i := range c.tree.nodes {
		if n := &c.tree.nodes[i]; n.trail != 0 || n.hidden {
			left[n.line] = true
		}
	}
	return func(line int) bool { return !left[line] }
}

// settle makes the chunks anew if the conversation has taken another way, and the branches if one of them has changed.
func (c *conversation) settle() {
	another := c.trail == nil
	if !another && !c.branched {
		return
	}
	var trails int32
	c.trail, trails = c.tree.retrace()
	if another {
		c.chunker = chunker{}
		for i := range c.tree.nodes {
			if n := &c.tree.nodes[i]; n.trail == 0 {
				n.show(&c.chunker)
			}
		}
		c.rebuilt = true
	}
	c.branches = c.tree.branches(trails)
	c.branched = false
}

// branches returns what is on all trails but the conversation's.
func (t *tree) branches(trails int32) []Branch {
	chunkers := make([]*chunker, trails)
	var branches []Branch
	var numbers []int32
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.trail == 0 || !n.shows() {
			continue
		}
		if chunkers[n.trail] == nil {
			chunkers[n.trail] = new(chunker)
			branches = append(branches, Branch{FromLine: t.lineAbove(n)})
			numbers = append(numbers, n.trail)
		}
		n.show(chunkers[n.trail])
	}
	for i, number := range numbers {
		branches[i].Chunks = chunkers[number].chunks()
	}
	return branches
}
