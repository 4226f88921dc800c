package transcript

import (
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

func TestCallOf(t *testing.T) {
	t.Parallel()
	full := Call{
		MessageID: "msg_1", RequestID: "req_1", Model: "claude-opus-5-5", Time: at(7), SessionID: "s", AgentID: "a",
		Usage: Usage{InputTokens: 3, OutputTokens: 42, CacheReadTokens: 300, CacheCreationTokens: 20,
			CacheCreation5mTokens: 8,
			CacheCreation1hTokens: 12, ThinkingTokens: 5, WebSearches: 1, WebFetches: 2, Fast: true,
			InferenceUS: true, ServiceTier: "standard"},
	}
	six := Usage{OutputTokens: 6}
	tests := []struct {
		name, line string
		want       *Call
	}{
		{"an answer", answerLine, &full},
		{"the progress of a subagent", progressLine,
			&Call{MessageID: "msg_2", RequestID: "req_2", Model: "m", Time: at(2), Usage: six, Sidechain: true, Forked: true,
				SessionID: "s", AgentID: "a7"}},
		{"progress without a time of its own",
			`{"type":"progress","timestamp":"2026-11-15T00:00:01Z","data":{"message":{"message":{"id":"m","usage":{"output_tokens":6}}}}}`,
			&Call{MessageID: "m", Time: at(1), Usage: six, Sidechain: true, Forked: true}},
		{"progress of another kind", `{"type":"progress","message":{"usage":{}},"data":{"output":"x"}}`, nil},
		{"a sidechain", `{"type":"assistant","isSidechain":true,"message":{"id":"m","usage":{"output_tokens":6}}}`,
			&Call{MessageID: "m", Usage: six, Sidechain: true}},
		{"no ID", `{"type":"assistant","uuid":"u","message":{"usage":{"output_tokens":6}}}`, &Call{UUID: "u", Usage: six}},
		{"a fork", `{"type":"assistant","forkedFrom":{"sessionId":"o"},"message":{"id":"m","usage":{"output_tokens":6}}}`,
			&Call{MessageID: "m", Usage: six, Forked: true}},
		{"a fork in the background",
			`{"type":"assistant","sessionKind":"bg","message":{"id":"m","usage":{"output_tokens":6}}}`,
			&Call{MessageID: "m", Usage: six, Forked: true}},
		{"an old agent's own cost", `{"type":"assistant","costUSD":0.25,"message":{"id":"m","usage":{"output_tokens":6}}}`,
			&Call{MessageID: "m", Usage: six, CostUSD: 0.25}},
		{"absurd counts", `{"type":"assistant","message":{"id":"m","usage":{"output_tokens":6,"input_tokens":-7,"cache_read_input_tokens":9e18,"cache_creation_input_tokens":"x"}}}`,
			&Call{MessageID: "m", Usage: six}},
		{"a count with a point", `{"type":"assistant","message":{"id":"m","usage":{"output_tokens":6.0}}}`,
			&Call{MessageID: "m", Usage: six}},
		{"escaped names", `{"type":"assist\u0061nt","mess\u0061ge":{"id":"m","us\u0061ge":{"output_tokens":6}}}`,
			&Call{MessageID: "m", Usage: six}},
		{"made up by the agent",
			`{"type":"assistant","message":{"id":"m","model":"<synthetic>","usage":{"output_tokens":6}}}`, nil},
		{"no usage", `{"type":"assistant","message":{"id":"m"}}`, nil},
		{"usage of another type", `{"type":"assistant","message":{"id":"m","usage":null}}`, nil},
		{"a result of a tool", `{"type":"user","message":{"id":"m","usage":{"output_tokens":6}}}`, nil},
	}
	for _, tt := range tests {
		c, ok, err := new(CallDecoder).Decode([]byte(tt.line))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got *Call
		if ok {
			got = &c
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
		checkScan(t, []byte(tt.line))
	}
}

// checkScan fails unless a line counts for the same when it is decoded in full. It uses a decoder that has seen others.
func checkScan(t *testing.T, line []byte) {
	t.Helper()
	e, wantErr := DecodeEntry(line)
	var want Call
	wantOK := false
	if wantErr == nil {
		want, wantOK = CallOf(&e)
	}
	var d CallDecoder
	for _, other := range []string{answerLine, progressLine} {
		if _, ok, err := d.Decode([]byte(other)); !ok || err != nil {
			t.Fatal("no call", err)
		}
	}
	got, ok, err := d.Decode(line)
	if (err == nil) != (wantErr == nil) || ok != wantOK {
		t.Fatalf("%q: got %v, %v, want %v, %v", line, ok, err, wantOK, wantErr)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q (-want +got)\n%s", line, diff)
	}
}

func FuzzScanEqualsDecode(f *testing.F) {
	for _, line := range []string{
		answerLine, progressLine, "", "null", "{", `{"type":"assistant","message":{"usage":{}}}x`,
		`{"type":"assistant","message":{"usage":{"input_tokens":1,"input_tokens":2.0,"input_tokens":[]}},"message":7}`,
		`{"type":"progress","data":{"message":{"message":{"usage":{}}},"message":3},"data":{"message":{"uuid":"x"}},"timestamp":4}`,
		`{"type":"progress","data":{"message":{"message":{"usage":{}}}},"data":null}`,
		`{"type":"assistant","isSidechain":true,"isSidechain":1,"message":{"usage":{"input_tokens":1,"input_tokens":[]}}}`,
		`{"timestamp":"2026-11-15T00:00:00","timestamp":null,"type":"assistant","message":{"model":"\ud800","usage":{"speed":"f\u0061st","speed":1}}}`,
		`{"forkedFrom":null,"sessionKind":"b\u0067","costUSD":-1,"costUSD":"x","type":"assistant","message":{"usage":{"cache_creation":[1]}}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { checkScan(t, line) })
}

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

// callingLine is a line of an answer that may call for a subagent.
func callingLine(id, call, more string) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"u-%s","timestamp":"2026-11-15T00:00:00Z",`+
		`"message":{"id":%[1]q,"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Agent","input":{}}],`+
		`"usage":{"output_tokens":1}}%s}`+"\n", id, call, more)
}

func TestCallsOfSubagents(t *testing.T) {
	t.Parallel()
	read := func(text string) *Transcript {
		tr, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	agent := func(id, call string) *Agent {
		return &Agent{ID: id, Meta: AgentMeta{ToolUseID: call}, Transcript: read(callingLine("of "+id, "call of "+id, ""))}
	}
	session := read(callingLine("main", "t1", "") + callingLine("inline", "t2", `,"isSidechain":true,"parentUuid":null`))
	agents := append(InlineAgents(session), agent("one", "t1"), agent("nested", "call of one"), agent("lost", "?"),
		agent("acompact-1", "t1"), agent("mate@team", "t1"), &Agent{ID: "none", Meta: AgentMeta{ToolUseID: "t1"}})
	ids := func() []string {
		var ids []string
		for _, c := range session.Calls() {
			ids = append(ids, c.MessageID)
		}
		return ids
	}
	if diff := cmp.Diff([]string{"inline", "main"}, ids()); diff != "" {
		t.Errorf("before they were linked (-want +got):\n%s", diff)
	}
	session.Unlinked = Link(session, agents)
	if diff := cmp.Diff([]string{"inline", "main", "of lost", "of nested", "of one"}, ids()); diff != "" {
		t.Errorf("linked (-want +got):\n%s", diff)
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
func forked(c *Call)    { c.Forked = true }
func fast(c *Call)      { c.Usage.Fast = true }

func in(session string) func(*Call)     { return func(c *Call) { c.SessionID = session } }
func on(second int) func(*Call)         { return func(c *Call) { c.Time = at(second) } }
func withUUID(uuid string) func(*Call)  { return func(c *Call) { c.UUID = uuid } }
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
	want := UsageSum{InputTokens: 2, OutputTokens: 4, CacheReadTokens: 6, CacheCreationTokens: 22, CacheCreation5mTokens: 10,
		CacheCreation1hTokens: 12, ThinkingTokens: 14, WebSearches: 16, WebFetches: 18}
	got, n := tally.Total()
	if diff := cmp.Diff(want, got); diff != "" || n != 2 {
		t.Errorf("%d calls (-want +got)\n%s", n, diff)
	}
	if got, n := new(Tally).Total(); got != (UsageSum{}) || n != 0 {
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

// Two copies that differ in anything are told apart, so that it is not by chance which one counts.
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

// countedPlainly counts answers as the rule says, copy by copy: copies of one message with the same request are one
// answer, and one without a request, or of a sidechain, is a copy of any answer with that ID.
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
