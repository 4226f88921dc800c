package transcript

import "github.com/clewdev/clew/internal/entryfacts"

// A conversation is the tree of the entries, and the chunks of the path that is shown. Chunks are
// built as entries come, as long as they continue the path; otherwise again from the tree, at the
// next show.
type conversation struct {
	// tree has all entries, also those that are not shown.
	tree tree
	path *branchPath // nil while it has to be traced again
	// chunker has the chunks of the path.
	chunker chunker
	// branches are all other paths, as of the last settle.
	branches []Branch
	branched bool // branches have changed
	rebuilt  bool // since the last call of changed
}

// add adds an entry that is not in the tree yet. d is shown of it, or nothing if d is nil. It
// returns how many entries are no longer shown because the entry retracts them.
func (c *conversation) add(e *Entry, d *digest) (superseded int) {
	at := c.tree.add(e, newNode(e, d))
	if n := &c.tree.nodes[at]; n.hidden && d != nil {
		superseded++
	}
	for _, uuid := range e.Supersedes {
		if n := c.tree.hide(uuid); n != nil {
			c.path = nil
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

// rewind removes an entry and everything that follows it so far from the conversation.
func (c *conversation) rewind(uuid string) {
	if c.tree.cut(uuid) {
		c.path = nil
	}
}

// follow continues the conversation with the new node, if it is part of it. If the node changes the
// path, the path is traced again later, once for any number of such nodes.
func (c *conversation) follow(at int32) {
	switch n := &c.tree.nodes[at]; {
	case c.path == nil:
	case !c.tree.follow(c.path, at):
		c.path = nil
	case n.path == none:
		c.branched = true
	default:
		n.show(&c.chunker)
	}
}

// show returns the chunks of the conversation, and its branches.
func (c *conversation) show() ([]Chunk, []Branch) {
	c.settle()
	return c.chunker.chunks(), c.branches
}

// changed returns the index of the first chunk that is new or has changed since the last call, or
// the number of chunks.
func (c *conversation) changed() int {
	c.settle()
	first := c.chunker.changed()
	if c.rebuilt {
		first = 0
	}
	c.rebuilt = false
	return first
}

// shownLines returns a test of whether the entry of a line is part of the conversation. It takes
// time in proportion to the tree.
func (c *conversation) shownLines() func(line int) bool {
	c.settle()
	left := map[int]bool{}
	for i := range c.tree.nodes {
		if n := &c.tree.nodes[i]; n.path != 0 || n.hidden {
			left[n.line] = true
		}
	}
	return func(line int) bool { return !left[line] }
}

// settle builds the chunks again if the conversation has taken another path, and the branches if
// one of them has changed.
func (c *conversation) settle() {
	another := c.path == nil
	if !another && !c.branched {
		return
	}
	var paths int32
	c.path, paths = c.tree.retrace()
	if another {
		c.chunker = chunker{}
		for i := range c.tree.nodes {
			if n := &c.tree.nodes[i]; n.path == 0 {
				n.show(&c.chunker)
			}
		}
		c.rebuilt = true
	}
	c.branches = c.tree.branches(paths)
	c.branched = false
}

// branches returns the chunks of all paths except the conversation's.
func (t *tree) branches(paths int32) []Branch {
	chunkers := make([]*chunker, paths)
	var branches []Branch
	var numbers []int32
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.path == 0 || !n.shows() {
			continue
		}
		if chunkers[n.path] == nil {
			chunkers[n.path] = new(chunker)
			branches = append(branches, Branch{FromLine: t.lineAbove(n)})
			numbers = append(numbers, n.path)
		}
		n.show(chunkers[n.path])
	}
	for i, number := range numbers {
		branches[i].Chunks = chunkers[number].chunks()
	}
	return branches
}
