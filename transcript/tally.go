package transcript

import (
	"cmp"
	"slices"
)

// A Tally counts each answer of the model once, however often it was written down. The agent writes one answer as
// several lines, which repeat its usage, the first of them often with a count that is not final; and it copies answers
// into the transcripts of forks and subagents. So a tally should get the lines of all transcripts before anything is
// added up.
//
// What it holds does not depend on the order in which the lines came, nor on how they were spread over tallies that
// were merged. The zero value is ready. It is for one goroutine at a time.
type Tally struct {
	answers map[string]*answer
	// unnamed are calls with neither an ID nor a UUID: nothing tells one from another.
	unnamed []Call
}

// An answer is the best copy of one answer, and the next one whose message has the same ID.
type answer struct {
	Call
	next *answer
}

// Add takes note of a call. Those with the same MessageID and RequestID are one answer, and so are those with the same
// MessageID where one has no RequestID or is a sidechain's, since a sidechain may repeat what was said before under
// a RequestID of its own. Of the copies it keeps that of the main conversation, then the one with the most tokens.
func (t *Tally) Add(c Call) {
	id := c.MessageID
	switch {
	case id == "" && c.UUID == "":
		t.unnamed = append(t.unnamed, c)
		return
	case id == "":
		id = "\x00" + c.UUID // never that of a message
	}
	if t.answers == nil {
		t.answers = map[string]*answer{}
	}
	first := t.answers[id]
	for a := first; a != nil; a = a.next {
		if a.request() == c.request() {
			if compareCopies(&c, &a.Call) < 0 {
				a.Call = c
			}
			return
		}
	}
	t.answers[id] = &answer{c, first}
}

// AddLine takes note of the answer that a line of a transcript counts for, if it counts for one. It returns an error if
// the line is not a JSON object.
func (t *Tally) AddLine(line []byte) error {
	var d CallDecoder
	c, ok, err := d.Decode(line)
	if ok {
		t.Add(c)
	}
	return err
}

// Merge adds all that o has. It leaves o as it is, and o may be nil.
func (t *Tally) Merge(o *Tally) {
	if o == nil {
		return
	}
	for _, first := range o.answers {
		for a := first; a != nil; a = a.next {
			t.Add(a.Call)
		}
	}
	t.unnamed = append(t.unnamed, o.unnamed...)
}

// Calls returns each answer once, by time, then by ID.
func (t *Tally) Calls() []Call {
	calls := t.calls()
	slices.SortFunc(calls, func(a, b Call) int {
		if order := cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.MessageID, b.MessageID)); order != 0 {
			return order
		}
		return cmp.Or(cmp.Compare(a.RequestID, b.RequestID), cmp.Compare(a.UUID, b.UUID), compareCopies(&a, &b))
	})
	return calls
}

// calls is Calls in any order.
func (t *Tally) calls() []Call {
	calls := make([]Call, 0, len(t.unnamed)+len(t.answers))
	calls = append(calls, t.unnamed...)
	for _, first := range t.answers {
		calls = first.settle(calls)
	}
	return calls
}

// Total returns the sum of all answers and how many there are.
func (t *Tally) Total() (Usage, int) {
	var sum Usage
	calls := t.calls()
	for i := range calls {
		sum.add(&calls[i].Usage)
	}
	return sum, len(calls)
}

// settle appends the answers whose message has one ID. What has no request of its own competes with the best of the
// others: that is what it may be a copy of.
func (a *answer) settle(calls []Call) []Call {
	var loose, best *answer
	for c := a; c != nil; c = c.next {
		switch {
		case c.request() == "":
			loose = c
		case best == nil || compareCopies(&c.Call, &best.Call) < 0:
			best = c
		}
	}
	for c := a; c != nil; c = c.next {
		switch {
		case best == nil, c != loose && c != best:
			calls = append(calls, c.Call)
		case c == best && loose != nil && compareCopies(&loose.Call, &best.Call) < 0:
			calls = append(calls, loose.Call)
		case c == best:
			calls = append(calls, best.Call)
		}
	}
	return calls
}

// add adds the counts of o. A sum is of no tier and no speed.
func (u *Usage) add(o *Usage) {
	u.InputTokens += o.InputTokens
	u.OutputTokens += o.OutputTokens
	u.CacheReadTokens += o.CacheReadTokens
	u.CacheCreationTokens += o.CacheCreationTokens
	u.CacheCreation5mTokens += o.CacheCreation5mTokens
	u.CacheCreation1hTokens += o.CacheCreation1hTokens
	u.ThinkingTokens += o.ThinkingTokens
	u.WebSearches += o.WebSearches
	u.WebFetches += o.WebFetches
}
