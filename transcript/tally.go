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
	// answers are the best copies.
	answers map[answerKey]*Call
	// unnamed are calls with neither an ID nor a UUID: nothing tells one from another.
	unnamed []Call
}

// An answerKey is what copies of an answer have in common. Those that may be copies of any answer with the ID have no
// request.
type answerKey struct{ id, request string }

// Add takes note of a call. Those with the same MessageID and RequestID are one answer, and so are those with the same
// MessageID where one has no RequestID or is a sidechain's, since a sidechain may repeat what was said before under
// a RequestID of its own. Of the copies it keeps that of the main conversation, then the one with the most tokens.
func (t *Tally) Add(c Call) {
	key := answerKey{c.MessageID, c.request()}
	switch {
	case c.MessageID == "" && c.UUID == "":
		t.unnamed = append(t.unnamed, c)
		return
	case c.MessageID == "":
		key.id = "\x00" + c.UUID // never that of a message
	}
	if t.answers == nil {
		t.answers = map[answerKey]*Call{}
	}
	if best := t.answers[key]; best == nil {
		t.answers[key] = &c
	} else if compareCopies(&c, best) < 0 {
		*best = c
	}
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
	for _, c := range o.answers {
		t.Add(*c)
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

// calls is Calls in any order. What has no request competes with the best of the answers that it may be a copy of, and
// takes its place.
func (t *Tally) calls() []Call {
	calls := make([]Call, 0, len(t.unnamed)+len(t.answers))
	calls = append(calls, t.unnamed...)
	rivals := t.rivals()
	for key, c := range t.answers {
		rival := rivals[key.id]
		switch {
		case rival == nil || key.request != "" && rival != c:
			calls = append(calls, *c)
		case key.request == "" && compareCopies(c, rival) < 0:
			calls = append(calls, *c)
			calls[len(calls)-1].RequestID = rival.RequestID
		case key.request == "":
			calls = append(calls, *rival)
		}
	}
	return calls
}

// rivals returns the best answer with a request for each ID of which there is a copy without.
func (t *Tally) rivals() map[string]*Call {
	best := map[string]*Call{}
	for key, c := range t.answers {
		if key.request == "" || t.answers[answerKey{id: key.id}] == nil {
			continue
		}
		if b := best[key.id]; b == nil || compareCopies(c, b) < 0 {
			best[key.id] = c
		}
	}
	return best
}

// Total returns the sum of all answers and how many there are.
func (t *Tally) Total() (UsageSum, int) {
	var sum UsageSum
	calls := t.calls()
	for i := range calls {
		sum = sum.plus(sumOf(&calls[i].Usage), 1)
	}
	return sum, len(calls)
}
