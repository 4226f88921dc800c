package rows

import (
	"strconv"

	"github.com/clewdev/clew/transcript"
)

// names makes the IDs of a transcript's rows.
type names struct {
	prefix string
	chunk  int // the index of the chunk, for those without lines
	line   int // of the last item
	number int // of the last item within its line
}

// makeNames returns the names of the rows of a subagent, or of the session if it is nil.
func makeNames(a *transcript.Agent) names {
	if a == nil {
		return names{}
	}
	return names{prefix: agentKey(a) + "/"}
}

// branchMark returns the ID of the mark of a branch, by its first chunk and its number.
func (n *names) branchMark(first *transcript.Chunk, number int) ID {
	if first.At.Line > 0 {
		return ID(n.prefix + "b" + strconv.Itoa(first.At.Line))
	}
	return ID(n.prefix + "bc" + strconv.Itoa(number))
}

// branch returns the names of a branch's rows. They equal the names in the conversation if
// lines are known, so that a row keeps its ID when a rewind removes it.
func (n names) branch(first *transcript.Chunk, number int) names {
	if first.At.Line == 0 {
		n.prefix = string(n.branchMark(first, number)) + "/"
	}
	return n
}

// item returns the ID of an item of a chunk, or the chunk's ID if i is less than 0.
func (n *names) item(c *transcript.Chunk, i int) ID {
	if i < 0 || i >= len(c.Items) {
		return ID(n.prefix + n.chunkName(c))
	}
	line := c.Items[i].At.Line
	if line == 0 {
		return ID(n.prefix + "c" + strconv.Itoa(n.chunk) + "." + strconv.Itoa(i))
	}
	first := i
	for first > 0 && c.Items[first-1].At.Line == line {
		first--
	}
	return ID(n.prefix + strconv.Itoa(line) + "." + strconv.Itoa(i-first))
}

// restart makes the next item the first one of its chunk.
func (n *names) restart() { n.line, n.number = 0, -1 }

// next is like item for all items of a chunk in order.
func (n *names) next(c *transcript.Chunk, i int) ID {
	line := c.Items[i].At.Line
	if line == 0 {
		return n.item(c, i)
	}
	if n.number++; line != n.line {
		n.line, n.number = line, 0
	}
	return ID(n.prefix + strconv.Itoa(line) + "." + strconv.Itoa(n.number))
}

func (n *names) interruption(c *transcript.Chunk) ID { return ID(n.prefix + n.chunkName(c) + ".end") }

func (n *names) chunkName(c *transcript.Chunk) string {
	switch {
	case c.At.Line > 0:
		return strconv.Itoa(c.At.Line)
	case len(c.Lines) > 0:
		return strconv.Itoa(c.Lines[0])
	}
	return "c" + strconv.Itoa(n.chunk)
}
