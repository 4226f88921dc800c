package transcript

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/internal/soak"
)

// grow adds a random node that hangs on an earlier node, on a missing node, or on none.
func grow(rng *rand.Rand, t *tree, number int) (at int32) {
	e := &Entry{UUID: fmt.Sprint(number)}
	switch k := rng.IntN(20); {
	case k == 0:
		e.Root = true
	case k == 1:
		e.ParentUUID = "lost"
	case k < 13:
		e.ParentUUID = fmt.Sprint(number - 1)
	default:
		e.ParentUUID = fmt.Sprint(max(0, number-1-rng.IntN(8)))
	}
	n := node{role: role(rng.IntN(4)), line: number}
	switch n.role {
	case roleAnswer:
		n.message = fmt.Sprint("m", number/3+rng.IntN(2))
		n.calls = []string{fmt.Sprint("c", number)}
	case roleResult:
		n.results = []string{fmt.Sprint("c", number-1-rng.IntN(4))}
	}
	return t.add(e, n)
}

func paths(t *tree) []int32 {
	var all []int32
	for _, n := range t.nodes {
		all = append(all, n.path)
	}
	return all
}

// Whenever the conversation is followed node by node, it is the same as if it had been traced at
// once.
func TestFollowEqualsRetrace(t *testing.T) {
	t.Parallel()
	followed := 0
	seeds := soak.Size(300, 10_000)
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 1))
		tree := newTree()
		conversation, _ := tree.retrace()
		for number := range 40 {
			if rng.IntN(20) == 0 && tree.cut(fmt.Sprint(number-1-rng.IntN(9))) {
				conversation, _ = tree.retrace()
			}
			at := grow(rng, &tree, number)
			ok := tree.follow(conversation, at)
			got := paths(&tree)
			again, _ := tree.retrace()
			if !ok {
				conversation = again
				continue
			}
			followed++
			want := paths(&tree)
			for i := range got { // a branch may have another number
				if (got[i] == 0) != (want[i] == 0) {
					t.Fatalf("seed %d, node %d: paths (-at once +followed):\n%s", seed, number, cmp.Diff(want, got))
				}
			}
			if !reflect.DeepEqual(again, conversation) {
				diff := cmp.Diff(again, conversation, cmp.AllowUnexported(branchPath{}))
				t.Fatalf("seed %d, node %d: (-at once +followed):\n%s", seed, number, diff)
			}
		}
	}
	if followed < 10*seeds {
		t.Errorf("only %d nodes were followed", followed)
	}
}

// Every node is on one path, however the tree looks.
func TestRetraceLosesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		tree := newTree()
		for number := range 200 {
			grow(rng, &tree, number)
		}
		_, number := tree.retrace()
		for i, n := range tree.nodes {
			if n.path < 0 || n.path >= number {
				t.Fatalf("seed %d: node %d is on path %d of %d", seed, i, n.path, number)
			}
		}
	}
}

// chained returns a line with its place in the tree. A parent "" is null.
func chained(kind, uuid, parent, members string) string {
	place := "null"
	if parent != "" {
		place = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,%s}`, kind, uuid, place, members) + "\n"
}

// asks is a prompt that says its own UUID.
func asks(uuid, parent string) string {
	return chained("user", uuid, parent, `"message":{"content":"`+uuid+`"}`)
}

// replies is a separate answer with its UUID as text.
func replies(uuid, parent string) string {
	return chained("assistant", uuid, parent,
		`"message":{"id":"of `+uuid+`","content":[{"type":"text","text":"`+uuid+`"}]}`)
}

func callsTool(uuid, parent, id string) string {
	return chained("assistant", uuid, parent,
		`"message":{"id":"m1","content":[{"type":"tool_use","id":"`+id+`","name":"Bash"}]}`)
}

func returns(uuid, parent, id string) string {
	return chained("user", uuid, parent,
		`"message":{"content":[{"type":"tool_result","tool_use_id":"`+id+`","content":"`+uuid+`"}]}`)
}

// saidIn lists what chunks say, in order.
func saidIn(chunks []Chunk) string {
	var texts []string
	for _, c := range chunks {
		if c.Type == CompactChunk {
			texts = append(texts, "compact")
		}
		if c.Text != "" {
			texts = append(texts, c.Text)
		}
		for _, item := range c.Items {
			if item.ToolID != "" {
				texts = append(texts, item.ToolID+"="+item.ToolResult)
			}
		}
	}
	return strings.Join(texts, " ")
}

func TestConversation(t *testing.T) {
	t.Parallel()
	past := asks("u1", "") + replies("a1", "u1")
	boundary := chained("system", "b", "", `"subtype":"compact_boundary","logicalParentUuid":"a1"`)
	summary := chained("user", "s", "b", `"isCompactSummary":true,"message":{"content":"short"}`)
	tests := []struct {
		name, text string
		want       string   // of the conversation
		branches   []string // with the line that each hangs on
		noise      map[string]int
	}{
		{name: "nothing"},
		{name: "one way", text: past + asks("u2", "a1") + replies("a2", "u2"), want: "u1 a1 u2 a2"},
		{
			name: "a rewind", text: past + asks("u2", "a1") + replies("a2", "u2") + asks("u3", "a1") + replies("a3", "u3"),
			want: "u1 a1 u3 a3", branches: []string{"2: u2 a2"},
		},
		{
			name: "a rewind that waits for its answer", text: past + asks("u2", "a1") + replies("a2", "u2") + asks("u3", "a1"),
			want: "u1 a1 u3", branches: []string{"2: u2 a2"},
		},
		{
			name: "a rewind to the start", text: past + asks("u2", "") + replies("a2", "u2"),
			want: "u2 a2", branches: []string{"0: u1 a1"},
		},
		{
			name: "a rewind, and back again",
			text: past + asks("u2", "a1") + asks("u3", "a1") + replies("a3", "u3") + replies("a2", "u2"),
			want: "u1 a1 u2 a2", branches: []string{"2: u3 a3"},
		},
		{
			name: "a rewind in a branch",
			text: past + asks("u2", "a1") + replies("a2", "u2") + asks("u3", "a2") + asks("u4", "a2") + asks("u5", "a1"),
			want: "u1 a1 u5", branches: []string{"2: u2 a2 u4", "4: u3"},
		},
		{
			name: "an answer that was tried again", text: asks("u1", "") + replies("a1", "u1") + replies("a2", "u1"),
			want: "u1 a2", branches: []string{"1: a1"},
		},
		{
			name: "calls at the same time",
			text: asks("u1", "") + callsTool("c1", "u1", "x") + callsTool("c2", "c1", "y") +
				returns("rx", "c1", "x") + returns("ry", "c2", "y") + replies("a1", "ry"),
			want: "u1 a1 x=rx y=ry",
		},
		{
			name: "a chain through what shows nothing",
			text: asks("u1", "") + chained("attachment", "n1", "u1", `"attachment":{"type":"environment"}`) +
				chained("progress", "n2", "n1", `"data":{"type":"bash_progress"}`) + replies("a1", "n2") +
				chained("system", "n3", "a1", `"subtype":"turn_duration"`) + asks("u2", "n3"),
			want:  "u1 a1 u2",
			noise: map[string]int{"attachment:environment": 1, "progress": 1, "system:turn_duration": 1},
		},
		{
			name: "what the agent adds to an old entry does not take the way back",
			text: past + asks("u2", "a1") + replies("a2", "u2") +
				chained("user", "n1", "u1", `"isMeta":true,"message":{"content":"for the model"}`),
			want: "u1 a1 u2 a2",
		},
		{
			name: "a parent that is not there", text: past + asks("u2", "lost") + replies("a2", "u2"), want: "u1 a1 u2 a2",
		},
		{
			name: "a parent that comes later", text: asks("u1", "a1") + replies("a1", "u1") + asks("u2", "a1"),
			want: "u1 a1 u2",
		},
		{name: "its own parent", text: asks("u1", "u1") + replies("a1", "a1"), want: "u1 a1"},
		{name: "a line that comes twice", text: past + past, want: "u1 a1", noise: map[string]int{"duplicate": 2}},
		{
			name: "an answer that takes another's place",
			text: past + chained("assistant", "a2", "a1", `"supersedesUuids":["a1"],"message":{"content":"a2"}`),
			want: "u1 a2", noise: map[string]int{"superseded": 1},
		},
		{
			name: "messages that were retracted",
			text: past + asks("u2", "a1") + replies("a2", "u2") +
				chained("system", "n", "a2", `"subtype":"init","retractedMessageUuids":["a2"],"refusedUserMessageUuid":"u2"`),
			want: "u1 a1", noise: map[string]int{"superseded": 2, "system:init": 1},
		},
		{
			name: "retracted before it came",
			text: chained("system", "n", "", `"subtype":"init","retractedMessageUuids":["a1"]`) + past,
			want: "u1", noise: map[string]int{"superseded": 1, "system:init": 1},
		},
		{name: "a compaction", text: past + boundary + summary + asks("u2", "s"), want: "u1 a1 compact short u2"},
		{
			name: "a compaction that kept messages",
			text: past + asks("u2", "a1") + replies("a2", "u2") +
				chained("system", "b", "", `"subtype":"compact_boundary","logicalParentUuid":"a2",`+
					`"compactMetadata":{"preservedMessages":{"anchorUuid":"s","uuids":["u2","a2"]}}`) +
				summary + asks("u3", "a2"),
			want: "u1 a1 u2 a2 compact short u3",
		},
		{
			name: "a compaction that kept a segment",
			text: past + asks("u2", "a1") + replies("a2", "u2") +
				chained("system", "b", "", `"subtype":"compact_boundary","logicalParentUuid":"a2",`+
					`"compactMetadata":{"preservedSegment":{"headUuid":"u2","anchorUuid":"s","tailUuid":"a2"}}`) +
				summary + asks("u3", "a2"),
			want: "u1 a1 u2 a2 compact short u3",
		},
		{
			name: "a rewind to before a compaction", text: past + boundary + summary + asks("u2", "s") + asks("u3", "a1"),
			want: "u1 a1 u3", branches: []string{"2: compact short u2"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tr, err := Read(strings.NewReader(test.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := saidIn(tr.Chunks); got != test.want {
				t.Errorf("conversation %q, want %q", got, test.want)
			}
			var branches []string
			for _, b := range tr.Branches {
				branches = append(branches, fmt.Sprintf("%d: %s", b.FromLine, saidIn(b.Chunks)))
			}
			if diff := cmp.Diff(test.branches, branches); diff != "" {
				t.Errorf("branches (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.noise, tr.Noise, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("noise (-want +got):\n%s", diff)
			}
		})
	}
}

// A rewind removes a prompt and everything after it, before the next prompt.
func TestRewound(t *testing.T) {
	t.Parallel()
	said := func(kind, uuid, parent string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"message":{"id":"m%[2]s","model":"claude","content":%[2]q}}`+"\n", kind, uuid, parent)
	}
	two := said("user", "a", "null") + said("assistant", "b", `"a"`) + said("user", "c", `"b"`) + said("assistant", "d", `"c"`)
	const back, start = `{"type":"last-prompt","rewound":true,"cutUuid":"c"}` + "\n", `{"type":"last-prompt","rewound":true,"cutUuid":"a"}` + "\n"
	for _, test := range []struct{ name, text, want string }{
		{"none", two, "a b c d"},
		{"one", two + back, "a b | c d"},
		{"to the start", two + start, " | a b c d"},
		{"and another prompt", two + back + said("user", "e", `"b"`), "a b e | c d"},
		{"one after the other", two + back + start, " | a b c d"},
		{"and back again", two + back + said("user", "e", `"d"`), "a b c d e"},
		{"of nothing", two + `{"type":"last-prompt","rewound":true,"cutUuid":"x"}`, "a b c d"},
		{"only the leaf", two + `{"type":"last-prompt","leafUuid":"b","cutUuid":"c"}`, "a b c d"},
	} {
		tr, err := Read(strings.NewReader(test.text), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := texts(tr.Chunks)
		for _, b := range tr.Branches {
			got += " | " + texts(b.Chunks)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func texts(chunks []Chunk) string {
	var all []string
	for _, c := range chunks {
		all = append(all, c.Text)
	}
	return strings.Join(all, " ")
}

// A grower adds nodes to a tree, and follows the conversation as a builder does when somebody looks
// at it.
type grower struct {
	tree
	conversation *branchPath
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

// The cost of a node does not depend on how far it is from the prompt or answer before it. A tree
// eight times as large takes about eight times as many visits of nodes, where the square would be
// 64.
func TestTreesCostAsMuchAsTheirNodes(t *testing.T) {
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
			visits := func(size int) int {
				g := &grower{tree: newTree()}
				build(g, size)
				return g.visits + len(g.nodes)
			}
			const size = 1500
			if small, large := visits(size), visits(8*size); large > 16*small {
				t.Errorf("%d visits of nodes, and %d in a tree eight times as large", small, large)
			}
		})
	}
}
