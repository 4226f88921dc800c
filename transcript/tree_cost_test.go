package transcript

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// A grower adds nodes to a tree, and follows the conversation as a builder does when somebody looks at it.
type grower struct {
	tree
	conversation *trail
}

func (g *grower) add(uuid, parent string, n node) {
	e := &Entry{UUID: uuid, ParentUUID: parent, Root: parent == ""}
	at := g.tree.add(e, n)
	if g.conversation == nil {
		g.conversation, _ = g.retrace()
		return
	}
	g.follow(g.conversation, at)
}

// chain adds nodes that hang on each other below a prompt, and returns the last.
func (g *grower) chain(length int, n node) (last string) {
	g.add("0", "", node{role: rolePrompt})
	for i := range length {
		last = fmt.Sprint(i + 1)
		g.add(last, fmt.Sprint(i), n)
	}
	return last
}

// The cost of a node does not depend on how far it is from what was said before it. Trees eight times as large take
// eight times as long, or so, where the square would be 64.
func TestTreesTakeTheTimeOfTheirNodes(t *testing.T) {
	answer := node{role: roleAnswer, message: "m"}
	for name, build := range map[string]func(g *grower, size int){
		"answers below many remarks": func(g *grower, size int) {
			last := g.chain(size, node{role: roleRemark})
			for i := range size {
				g.add(fmt.Sprint("a", i), last, answer)
			}
		},
		"answers below many results": func(g *grower, size int) {
			last := g.chain(size, node{role: roleResult, results: []string{"nobody's"}})
			for i := range size {
				g.add(fmt.Sprint("a", i), last, answer)
			}
		},
		"an answer that goes on at both of its ends": func(g *grower, size int) {
			last := g.chain(size, answer)
			for i := range size {
				g.add(fmt.Sprint("a", i), []string{"1", last}[i%2], answer)
			}
		},
		"rewinds to the same prompt": func(g *grower, size int) {
			for range size {
				g.add(fmt.Sprint(len(g.nodes)), "0", node{role: rolePrompt})
			}
			g.retrace()
		},
		"rewinds inside of rewinds": func(g *grower, size int) {
			for range size {
				n := len(g.nodes)
				g.add(fmt.Sprint(n), fmt.Sprint(max(0, n-1-n%2)), node{role: rolePrompt})
				g.cut(fmt.Sprint(n))
			}
			g.retrace()
		},
	} {
		t.Run(name, func(t *testing.T) {
			took := func(size int) float64 {
				start := time.Now()
				build(&grower{tree: newTree()}, size)
				return time.Since(start).Seconds()
			}
			const size, tries = 1500, 5
			small, large := math.Inf(1), math.Inf(1)
			for range tries { // what else runs makes it longer, never shorter
				small, large = min(small, took(size)), min(large, took(8*size))
				if large < 30*small {
					return
				}
			}
			t.Errorf("%.1f times as long for a tree eight times as large", large/small)
		})
	}
}
