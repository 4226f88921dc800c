package main

import (
	"bytes"
	"errors"
	"iter"
	"testing"

	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
	"github.com/clewdev/clew/wire"
)

// answers yields the messages of a load and then the others.
func answers(t *testing.T, load contest.Load, others ...wire.Message) iter.Seq2[wire.Message, error] {
	t.Helper()
	var b bytes.Buffer
	if err := load.Frames().Write(&b); err != nil {
		t.Fatal(err)
	}
	return func(yield func(wire.Message, error) bool) {
		for msg, err := range wire.NewReader(&b, nil).Messages() {
			if !yield(msg, err) {
				return
			}
		}
		for _, msg := range others {
			if !yield(msg, nil) {
				return
			}
		}
	}
}

func TestMeasureQueryReadsAllText(t *testing.T) {
	t.Parallel()
	for _, load := range []contest.Load{{Kind: contest.Events, Count: 10}, {Kind: contest.Code, Count: 2}} {
		q, err := measureQuery(answers(t, load, new(wire.ResultMessage)), textBytes)
		if err != nil {
			t.Fatal(err)
		}
		if q.Load != load.Count || q.Text != load.Count*load.TextBytes() {
			t.Errorf("%v: %d messages, %d bytes of text", load, q.Load, q.Text)
		}
	}
}

func TestMeasureQueryTimesInOrder(t *testing.T) {
	t.Parallel()
	load := contest.Load{Kind: contest.Answer, Count: 1}
	q, err := measureQuery(answers(t, load, new(wire.ResultMessage)), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if q.Assistant < q.First || q.Result < q.Assistant || q.End < q.Result {
		t.Errorf("%+v", q)
	}
}

func TestMeasureQueryRefusesHalfAnAnswer(t *testing.T) {
	t.Parallel()
	load := contest.Load{Kind: contest.Answer, Count: 1}
	if q, err := measureQuery(answers(t, load), nothing); err == nil {
		t.Errorf("without a result: %+v", q)
	}
	broken := errors.New("broken")
	failing := func(yield func(wire.Message, error) bool) { yield(nil, broken) }
	if _, err := measureQuery(failing, nothing); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
