package transcript

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
