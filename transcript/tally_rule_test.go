package transcript

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
