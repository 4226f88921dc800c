package sessions

import (
	"slices"

	"github.com/clewdev/clew/internal/jsonlex"
)

// preserved are the messages that a compaction has kept: they hang behind an anchor, which is its summary, though their
// own entries still name what was before it.
type preserved struct {
	anchor string
	uuids  []string // in order, if all are named
	first  string   // otherwise the ends of the part that was kept
	last   string
}

func readPreserved(compaction []byte) preserved {
	if kept := jsonlex.Lookup(compaction, 0, "preservedMessages"); kept != nil {
		return preserved{
			anchor: unquoted(jsonlex.Lookup(kept, 0, "anchorUuid")),
			uuids:  texts(jsonlex.Lookup(kept, 0, "uuids")),
		}
	}
	kept := jsonlex.Lookup(compaction, 0, "preservedSegment")
	return preserved{
		anchor: unquoted(jsonlex.Lookup(kept, 0, "anchorUuid")),
		first:  unquoted(jsonlex.Lookup(kept, 0, "headUuid")),
		last:   unquoted(jsonlex.Lookup(kept, 0, "tailUuid")),
	}
}

// relink hangs what a compaction has kept behind its anchor. What else hung there hangs behind the last of them then.
// Nothing changes if a part of it is missing.
func (c *chain) relink(p preserved) {
	kept := c.segment(p)
	if anchor := c.byUUID[p.anchor]; anchor == nil || slices.Contains(kept, anchor) || len(kept) == 0 {
		return
	}
	moved := map[*node]bool{}
	parent := p.anchor
	for _, n := range kept {
		n.parent, parent = parent, n.uuid
		moved[n] = true
	}
	for _, n := range c.nodes {
		if n.parent == p.anchor && !moved[n] {
			n.parent = parent
		}
	}
}

// segment returns the entries that a compaction has kept, in order, or none.
func (c *chain) segment(p preserved) []*node {
	if len(p.uuids) == 0 && p.first != "" {
		return c.between(p.first, p.last)
	}
	var kept []*node
	for _, uuid := range p.uuids {
		n := c.byUUID[uuid]
		if n == nil {
			return nil
		}
		kept = append(kept, n)
	}
	return kept
}

// between returns the entries from first to last, by parents, or none if last is not below first.
func (c *chain) between(first, last string) []*node {
	path := c.path(c.byUUID[last])
	for i, n := range path {
		if n.uuid == first {
			return path[i:]
		}
	}
	return nil
}
