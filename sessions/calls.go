package sessions

import (
	"slices"

	"github.com/clewdev/clew/internal/jsonlex"
)

// calls are the calls of tools in a message, and the results that it brings, by the IDs of the calls.
type calls struct {
	message string // the ID of the answer, which its parts share
	made    []string
	results []string
}

func readCalls(message []byte) calls {
	c := calls{message: unquoted(jsonlex.Lookup(message, 0, "id"))}
	var l jsonlex.Lexer
	content := jsonlex.Lookup(message, 0, "content")
	if len(content) == 0 || content[0] != '[' {
		return c
	}
	l.Reset(content)
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		block := l.Skip()
		switch unquoted(jsonlex.Lookup(block, 0, "type")) {
		case "tool_use":
			c.made = append(c.made, unquoted(jsonlex.Lookup(block, 0, "id")))
		case "tool_result":
			c.results = append(c.results, unquoted(jsonlex.Lookup(block, 0, "tool_use_id")))
		}
	}
	return c
}

// completed returns a path with what belongs to its messages but hangs beside it. An answer with several calls has
// several entries, and each result hangs at the entry of its call: a path leads through one of them only.
func (c *chain) completed(path []*node) []*node {
	taken := map[string]bool{} // UUIDs
	answered := map[string]bool{}
	last := map[string]*node{} // of the entries of an answer
	for _, n := range path {
		taken[n.uuid] = true
		for _, id := range n.calls.results {
			answered[id] = true
		}
		if n.calls.message != "" && n.kind == "assistant" {
			last[n.calls.message] = n
		}
	}
	beside := map[*node][]*node{}
	called := map[string]*node{}
	for _, n := range c.nodes {
		anchor := last[n.calls.message]
		if n.kind != "assistant" || anchor == nil || n.sidechain != anchor.sidechain {
			continue
		}
		for _, id := range n.calls.made {
			called[id] = anchor
		}
		if !taken[n.uuid] {
			taken[n.uuid] = true
			beside[anchor] = append(beside[anchor], n)
		}
	}
	for _, n := range c.nodes {
		if anchor := missing(n, called, answered); anchor != nil && !taken[n.uuid] {
			beside[anchor] = append(beside[anchor], n)
		}
	}
	return spliced(path, beside)
}

// missing returns the end of the answer whose calls n has results of, if nothing else has. It notes that n has them.
func missing(n *node, called map[string]*node, answered map[string]bool) *node {
	if n.kind != "user" || len(n.calls.results) == 0 {
		return nil
	}
	anchor := called[n.calls.results[0]]
	known := slices.ContainsFunc(n.calls.results, func(id string) bool { return answered[id] })
	if anchor == nil || known || n.sidechain != anchor.sidechain {
		return nil
	}
	for _, id := range n.calls.results {
		answered[id] = true
	}
	return anchor
}

func spliced(path []*node, beside map[*node][]*node) []*node {
	if len(beside) == 0 {
		return path
	}
	var all []*node
	for _, n := range path {
		all = append(all, n)
		all = append(all, beside[n]...)
	}
	return all
}
