package usage

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	answerLine = `{"parentUuid":"p","isSidechain":false,"message":{"model":"claude-opus-5-5","id":"msg_1","type":"message",` +
		`"content":[{"type":"text","text":"\"usage\":{}"}],"usage":{"input_tokens":3,"cache_creation_input_tokens":20,` +
		`"cache_read_input_tokens":300,"output_tokens":42,"output_tokens_details":{"thinking_tokens":5},` +
		`"server_tool_use":{"web_search_requests":1,"web_fetch_requests":2},"service_tier":"standard",` +
		`"cache_creation":{"ephemeral_1h_input_tokens":12,"ephemeral_5m_input_tokens":8},"iterations":[{"input_tokens":9}],` +
		`"inference_geo":"us","speed":"fast"}},"requestId":"req_1","type":"assistant","uuid":"u","timestamp":"2026-11-15T00:00:07.000Z",` +
		`"sessionId":"s","agentId":"a"}`
	progressLine = `{"type":"progress","isSidechain":false,"uuid":"outer","timestamp":"2026-11-15T00:00:01.000Z","sessionId":"s",` +
		`"requestId":"outer","data":{"type":"agent_progress","agentId":"a7","message":{"type":"assistant","uuid":"inner",` +
		`"timestamp":"2026-11-15T00:00:02.000Z","requestId":"req_2","message":{"id":"msg_2","model":"m","usage":{"output_tokens":6}}}}}`
)

func TestTallyAddLine(t *testing.T) {
	t.Parallel()
	var tally Tally
	for _, line := range []string{answerLine, progressLine, answerLine, `{"type":"user"}`} {
		if err := tally.AddLine([]byte(line)); err != nil {
			t.Error(err)
		}
	}
	if err := tally.AddLine([]byte(`{"type":"assistant"`)); err == nil {
		t.Error("no error for half a line")
	}
	if sum, n := tally.Total(); n != 2 || sum.OutputTokens != 48 {
		t.Errorf("%d calls, %+v", n, sum)
	}
}

// at is a time of the day on which all tests of tallies take place.
func at(second int) time.Time { return time.Date(2026, 11, 15, 0, 0, second, 0, time.UTC) }

// out is a call that used so many tokens.
func out(id, request string, tokens int, change ...func(*Call)) Call {
	c := Call{MessageID: id, RequestID: request, Usage: Usage{OutputTokens: tokens}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func sidechain(c *Call) { c.Sidechain = true }

func forked(c *Call) { c.Forked = true }

func fast(c *Call) { c.Usage.Fast = true }

func in(session string) func(*Call) { return func(c *Call) { c.SessionID = session } }

func on(second int) func(*Call) { return func(c *Call) { c.Time = at(second) } }

func withUUID(uuid string) func(*Call) { return func(c *Call) { c.UUID = uuid } }

func ofProject(name string) func(*Call) { return func(c *Call) { c.Project = name } }

func TestTallyCountsAnAnswerOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		add, want []Call
	}{
		{"lines of one answer: the final count", []Call{out("m", "r", 3, on(1)), out("m", "r", 90, on(2)),
			out("m", "r", 1, on(3))},
			[]Call{out("m", "r", 90, on(2))}},
		{"lines with the same count: the last", []Call{out("m", "r", 9, on(1)), out("m", "r", 9, on(3)),
			out("m", "r", 9, on(2))},
			[]Call{out("m", "r", 9, on(3))}},
		{"other messages", []Call{out("a", "r", 1), out("b", "r", 2)}, []Call{out("a", "r", 1), out("b", "r", 2)}},
		{"an ID again with another request", []Call{out("m", "r1", 1), out("m", "r2", 2)},
			[]Call{out("m", "r1", 1), out("m", "r2", 2)}},
		{"a sidechain repeats under another request", []Call{out("m", "r1", 5), out("m", "r2", 9, sidechain)},
			[]Call{out("m", "r1", 5)}},
		{"sidechains alone", []Call{out("m", "r1", 5, sidechain), out("m", "r2", 9, sidechain)},
			[]Call{out("m", "r2", 9, sidechain)}},
		{"no request at all", []Call{out("m", "", 5), out("m", "", 9)}, []Call{out("m", "", 9)}},
		{"one copy without a request, and better", []Call{out("m", "r", 5), out("m", "", 9)}, []Call{out("m", "r", 9)}},
		{"one copy without a request, and worse", []Call{out("m", "r", 9), out("m", "", 5)}, []Call{out("m", "r", 9)}},
		{"two requests and a better copy without", []Call{out("m", "r1", 5), out("m", "r2", 7), out("m", "", 9)},
			[]Call{out("m", "r1", 5), out("m", "r2", 9)}},
		{"two requests and a sidechain", []Call{out("m", "r1", 5), out("m", "r2", 7), out("m", "r3", 9, sidechain)},
			[]Call{out("m", "r1", 5), out("m", "r2", 7)}},
		{"the fast one of two", []Call{out("m", "r", 5, on(9)), out("m", "r", 5, fast, on(1))},
			[]Call{out("m", "r", 5, fast, on(1))}},
		{"a fork", []Call{out("m", "r", 5, in("a"), forked), out("m", "r", 5, in("b"))}, []Call{out("m", "r", 5, in("b"))}},
		{"a copy that does not say so", []Call{out("m", "r", 5, in("b")), out("m", "r", 5, in("a"))},
			[]Call{out("m", "r", 5, in("a"))}},
		{"in two projects", []Call{out("m", "r", 5, ofProject("b"), in("a")), out("m", "r", 5, ofProject("a"), in("b"))},
			[]Call{out("m", "r", 5, ofProject("a"), in("b"))}},
		{"no ID: by UUID", []Call{out("", "", 5, withUUID("u")), out("", "", 5, withUUID("u")),
			out("", "", 5, withUUID("v"))},
			[]Call{out("", "", 5, withUUID("u")), out("", "", 5, withUUID("v"))}},
		{"neither ID nor UUID", []Call{out("", "", 5), out("", "", 5)}, []Call{out("", "", 5), out("", "", 5)}},
		{"by time", []Call{out("a", "", 1, on(2)), out("b", "", 1, on(1))},
			[]Call{out("b", "", 1, on(1)), out("a", "", 1, on(2))}},
	}
	for _, tt := range tests {
		for name, got := range addedInBothOrders(tt.add) {
			if diff := cmp.Diff(tt.want, got.Calls()); diff != "" {
				t.Errorf("%s, %s (-want +got)\n%s", tt.name, name, diff)
			}
		}
	}
}

func addedInBothOrders(calls []Call) map[string]*Tally {
	var forward, backward Tally
	for i := range calls {
		forward.Add(calls[i])
		backward.Add(calls[len(calls)-1-i])
	}
	return map[string]*Tally{"in order": &forward, "in reverse": &backward}
}

func TestTallyMergeLeavesTheOther(t *testing.T) {
	t.Parallel()
	var a, b Tally
	a.Add(out("m", "r", 5))
	b.Add(out("m", "r", 9))
	a.Merge(&b)
	a.Merge(nil)
	a.Add(out("m", "r", 20))
	if diff := cmp.Diff([]Call{out("m", "r", 9)}, b.Calls()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTallyTotal(t *testing.T) {
	t.Parallel()
	one := Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheCreationTokens: 11, CacheCreation5mTokens: 5,
		CacheCreation1hTokens: 6, ThinkingTokens: 7, WebSearches: 8, WebFetches: 9, Fast: true, ServiceTier: "standard"}
	var tally Tally
	for i := range 4 {
		tally.Add(Call{MessageID: fmt.Sprint(i / 2), Usage: one})
	}
	want := Sum{InputTokens: 2, OutputTokens: 4, CacheReadTokens: 6, CacheCreationTokens: 22, CacheCreation5mTokens: 10,
		CacheCreation1hTokens: 12, ThinkingTokens: 14, WebSearches: 16, WebFetches: 18}
	got, n := tally.Total()
	if diff := cmp.Diff(want, got); diff != "" || n != 2 {
		t.Errorf("%d calls (-want +got)\n%s", n, diff)
	}
	if got, n := new(Tally).Total(); got != (Sum{}) || n != 0 {
		t.Errorf("an empty tally has %+v in %d calls", got, n)
	}
}

func TestUsageSums(t *testing.T) {
	t.Parallel()
	u := &Usage{
		InputTokens: 1, OutputTokens: 20, CacheReadTokens: 300, CacheCreationTokens: 4000,
		CacheCreation5mTokens: 4000, ThinkingTokens: 20, WebSearches: 7,
	}
	if total, context := u.TotalTokens(), u.ContextTokens(); total != 4321 || context != 4301 {
		t.Errorf("total %d, context %d, want 4321, 4301", total, context)
	}
	u = nil
	if total, context := u.TotalTokens(), u.ContextTokens(); total != 0 || context != 0 {
		t.Errorf("of nothing: total %d, context %d", total, context)
	}
}

// randomCall is one of few, so that many are copies of each other.
func randomCall(rng *rand.Rand) Call {
	oneOf := func(list ...string) string { return list[rng.IntN(len(list))] }
	coin := func() bool { return rng.IntN(2) == 0 }
	c := Call{
		MessageID: oneOf("", "a", "b"), RequestID: oneOf("", "r", "s", "t"), Model: oneOf("x", "y"),
		Time: at(rng.IntN(2)),
		Usage: Usage{
			InputTokens: rng.IntN(2), OutputTokens: rng.IntN(3), ThinkingTokens: rng.IntN(2),
			CacheReadTokens: rng.IntN(2), CacheCreationTokens: rng.IntN(2), CacheCreation5mTokens: rng.IntN(2),
			CacheCreation1hTokens: rng.IntN(2), WebSearches: rng.IntN(2), WebFetches: rng.IntN(2),
			Fast: coin(), InferenceUS: coin(), ServiceTier: oneOf("", "batch"),
		},
		Sidechain: coin(), Forked: coin(),
		Project: oneOf("p", "q"), SessionID: oneOf("1", "2"), AgentID: oneOf("", "g"), CostUSD: float64(rng.IntN(2)),
	}
	if c.MessageID == "" {
		c.UUID = oneOf("", "u", "v")
	}
	return c
}

func randomCopies(rng *rand.Rand) []Call {
	calls := make([]Call, 1+rng.IntN(9))
	for i := range calls {
		calls[i] = randomCall(rng)
	}
	return calls
}

func tallyOf(calls []Call) *Tally {
	var t Tally
	for _, c := range calls {
		t.Add(c)
	}
	return &t
}

func TestTallyDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		calls := randomCopies(rng)
		want := tallyOf(calls).Calls()
		rng.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		if got := mergedAtRandom(rng, calls).Calls(); !slices.Equal(want, got) {
			t.Fatalf("%v (-want +got)\n%s", calls, cmp.Diff(want, got))
		}
		if got := tallyOf(want).Calls(); !slices.Equal(want, got) {
			t.Fatalf("%v, counted again (-want +got)\n%s", calls, cmp.Diff(want, got))
		}
	}
}

// Two copies that differ in any field are ordered, so that the one that counts is not chosen by
// chance.
func TestCopiesAreInTotalOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		a := randomCall(rng)
		b := a
		switch one := randomCall(rng); rng.IntN(3) { // they differ in little
		case 0:
			b.Usage = one.Usage
		case 1:
			b.Usage.Fast, b.Usage.InferenceUS, b.Usage.ServiceTier = one.Usage.Fast, one.Usage.InferenceUS, one.Usage.ServiceTier
		case 2:
			b = one
			b.MessageID, b.UUID = a.MessageID, a.UUID
		}
		if order := compareCopies(&a, &b); (order == 0) != (a == b) || order != -compareCopies(&b, &a) {
			t.Fatalf("%+v and %+v: %d", a, b, order)
		}
	}
}

// countedPlainly counts answers as the rule says, copy by copy: copies of one message with the same
// request are one answer, and one without a request, or of a sidechain, is a copy of any answer
// with that ID.
func countedPlainly(calls []Call) (answers, tokens int) {
	better := func(a, b Call) bool {
		if a.Sidechain != b.Sidechain {
			return b.Sidechain
		}
		return a.Usage.TotalTokens() > b.Usage.TotalTokens()
	}
	byID := map[string][]Call{}
	var best []Call
	for _, c := range calls {
		switch {
		case c.MessageID != "":
			byID[c.MessageID] = append(byID[c.MessageID], c)
		case c.UUID != "":
			byID["UUID "+c.UUID] = append(byID["UUID "+c.UUID], c)
		default:
			best = append(best, c)
		}
	}
	for _, copies := range byID {
		byRequest := map[string]Call{}
		var loose []Call
		for _, c := range copies {
			if c.Sidechain || c.RequestID == "" {
				loose = append(loose, c)
			} else if other, ok := byRequest[c.RequestID]; !ok || better(c, other) {
				byRequest[c.RequestID] = c
			}
		}
		answers := slices.SortedFunc(maps.Values(byRequest), func(a, b Call) int {
			return b.Usage.TotalTokens() - a.Usage.TotalTokens()
		})
		for _, c := range loose {
			switch {
			case len(answers) == 0:
				answers = append(answers, c)
			case better(c, answers[0]):
				answers[0] = c
			}
		}
		best = append(best, answers...)
	}
	for _, c := range best {
		tokens += c.Usage.TotalTokens()
	}
	return len(best), tokens
}

func TestTallyFollowsTheRule(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		calls := randomCopies(rng)
		answers, tokens := countedPlainly(calls)
		got, sum := tallyOf(calls).Calls(), 0
		for i := range got {
			sum += got[i].Usage.TotalTokens()
		}
		if len(got) != answers || sum != tokens {
			t.Fatalf("%v: %d tokens in %d answers, want %d in %d", calls, sum, len(got), tokens, answers)
		}
	}
}

// mergedAtRandom spreads calls over tallies and merges those in any order.
func mergedAtRandom(rng *rand.Rand, calls []Call) *Tally {
	parts := make([]*Tally, 3)
	for i := range parts {
		parts[i] = new(Tally)
	}
	for _, c := range calls {
		parts[rng.IntN(len(parts))].Add(c)
	}
	for len(parts) > 1 {
		i := rng.IntN(len(parts) - 1)
		parts[i].Merge(parts[i+1])
		parts = append(parts[:i+1], parts[i+2:]...)
	}
	return parts[0]
}

// Some gateways give all answers the same ID. To compare each with all others would take minutes.
func TestTallyOfOneID(t *testing.T) {
	t.Parallel()
	var tally Tally
	for i := range 200_000 {
		tally.Add(Call{MessageID: "m", RequestID: strconv.Itoa(i), Usage: Usage{InputTokens: 1}})
	}
	if sum, n := tally.Total(); n != 200_000 || sum.InputTokens != n {
		t.Errorf("%d tokens in %d answers", sum.InputTokens, n)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	const text = `{"input_tokens":3,"output_tokens":4,"cache_creation":{"ephemeral_1h_input_tokens":5}}`
	if diff := cmp.Diff(&Usage{InputTokens: 3, OutputTokens: 4, CacheCreation1hTokens: 5}, Decode([]byte(text))); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "null", "7", "{", "{}{}"} {
		if u := Decode([]byte(text)); u != nil {
			t.Errorf("usage of %q: %+v", text, u)
		}
	}
}

// searchLines are the lines of a session that searches with the tool WebSearch.
func searchLines(own int, results ...string) []string {
	lines := []string{
		fmt.Sprintf(`{"type":"assistant","uuid":"a1","sessionId":"s","timestamp":"2026-11-16T08:00:00Z","requestId":"r1","message":{"id":"m1",`+
			`"model":"claude-opus-5-5","usage":{"input_tokens":100,"output_tokens":10,"server_tool_use":{"web_search_requests":%d}}}}`, own),
	}
	for i, result := range results {
		lines = append(lines, fmt.Sprintf(`{"type":"user","uuid":"r%d","sessionId":"s","timestamp":"2026-11-16T08:00:0%dZ",`+
			`"message":{"content":[{"type":"tool_result","tool_use_id":"t%d","content":"found"}]},"toolUseResult":%s}`, i, i+1, i, result))
	}
	return append(lines, `{"type":"assistant","uuid":"a2","sessionId":"s","timestamp":"2026-11-16T08:00:30Z","requestId":"r2","message":{"id":"m2",`+
		`"model":"claude-opus-5-5","usage":{"input_tokens":200,"output_tokens":20}}}`)
}

// The searches of a tool count for the answer that asked for them, once.
func TestTallySearches(t *testing.T) {
	t.Parallel()
	const found = `{"query":"go","results":[],"durationSeconds":1,"searchCount":2}`
	for name, tt := range map[string]struct {
		lines []string
		want  []int
	}{
		"one result":         {searchLines(0, found), []int{2, 0}},
		"two results":        {searchLines(0, found, found), []int{4, 0}},
		"counted before":     {searchLines(2, found), []int{2, 0}},
		"lines twice":        {append(searchLines(0, found), searchLines(0, found)...), []int{2, 0}},
		"no number":          {searchLines(0, `{"searchCount":"2"}`, `{"searchCount":-2}`, `"searchCount"`, `{"other":{"searchCount":3}}`), []int{0, 0}},
		"without an answer":  {searchLines(0, found)[1:2], []int{2}},
		"in another session": {[]string{searchLines(0)[0], strings.Replace(searchLines(0, found)[1], `"sessionId":"s"`, `"sessionId":"x"`, 1)}, []int{0, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var forward, backward, all Tally
			for i := range tt.lines {
				if err := errors.Join(forward.AddLine([]byte(tt.lines[i])), backward.AddLine([]byte(tt.lines[len(tt.lines)-1-i]))); err != nil {
					t.Fatal(err)
				}
			}
			all.Merge(&forward)
			all.Merge(&backward)
			for _, tally := range []*Tally{&forward, &backward, &all} {
				var got []int
				sum, n := tally.Total()
				for _, call := range tally.Calls() {
					got = append(got, call.Usage.WebSearches)
					sum.WebSearches -= call.Usage.WebSearches
				}
				if diff := cmp.Diff(tt.want, got); diff != "" || sum.WebSearches != 0 || n != len(got) {
					t.Errorf("searches (-want +got), %d too many in the sum of %d:\n%s", sum.WebSearches, n, diff)
				}
			}
		})
	}
}

// A search has the price that the table has for the model.
func TestSearchesCost(t *testing.T) {
	t.Parallel()
	cost := func(lines []string) Money {
		var tally Tally
		for _, line := range lines {
			if err := tally.AddLine([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		return Cost(tally.Calls(), DefaultPrices()).Total
	}
	with, without := cost(searchLines(0, `{"searchCount":1}`)), cost(searchLines(0))
	if with-without != Dollar/100 {
		t.Errorf("a search costs %v", with-without)
	}
}

// A call counts once, wherever its copies and its result are.
func TestToolTally(t *testing.T) {
	t.Parallel()
	const call = `{"type":"assistant","timestamp":"2026-11-01T12:00:00Z","message":{"content":[{"type":"text","text":"x"},` +
		`{"type":"tool_use","id":"t1","name":"mcp__git__log","input":{"n":1}}]}}`
	const result = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"12345678"}]}}`
	const stray = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"x"}]}}`
	want := []ToolCall{{
		ID: "t1", Name: "mcp__git__log", Time: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), InputTokens: 2, ResultTokens: 3, Failed: true,
	}}
	for _, lines := range [][]string{{call, result, call, stray}, {result, stray, result, call}, {"", "{", "[]", call, result, `{"message":7}`}} {
		var first, second ToolTally
		for i, line := range lines {
			if i%2 == 0 {
				first.AddLine([]byte(line))
			} else {
				second.AddLine([]byte(line))
			}
		}
		first.Merge(&second)
		if diff := cmp.Diff(want, first.Calls()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", lines, diff)
		}
	}
	if server, tool, ok := want[0].MCP(); server != "git" || tool != "log" || !ok {
		t.Errorf("server %q, tool %q, %t", server, tool, ok)
	}
}
