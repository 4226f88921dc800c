package search

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// rankNow is the time of the searches in tests of the order.
var rankNow = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// said returns the lines of a session: one with each text, which a role said so many days ago.
func said(role Role, days int, texts ...string) string {
	var b strings.Builder
	at := rankNow.AddDate(0, 0, -days).Format(time.RFC3339)
	for i, text := range texts {
		member := `"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"` + text + `"}]}`
		switch role {
		case Prompt:
			member = `"type":"user","message":{"role":"user","content":"` + text + `"}`
		case Thinking:
			member = `"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"` + text + `"}]}`
		case Title:
			member = `"type":"ai-title","aiTitle":"` + text + `"`
		case Tool:
			member = `"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"` + text + `"}]}`
		}
		fmt.Fprintf(&b, `{"uuid":"%v%d","timestamp":"%s",%s}`+"\n", role, i, at, member)
	}
	return b.String()
}

// ranked returns the first texts of the sessions that both ways to search find for words, in their
// order.
func (d *fixture) ranked(q *Query) []string {
	d.t.Helper()
	q.Order, q.Now = Relevance, rankNow
	var last []string
	for name, search := range d.bothSearches() {
		result, err := search(d.t.Context(), q)
		if err != nil {
			d.t.Fatal(err)
		}
		var texts []string
		at := 0
		for _, g := range result.Groups {
			texts = append(texts, result.Hits[at].Text)
			at += g.Hits
		}
		if diff := gocmp.Diff(last, texts); last != nil && diff != "" {
			d.t.Errorf("%s differs:\n%s", name, diff)
		}
		last = texts
	}
	return last
}

func TestRelevance(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 400)
	for _, test := range []struct {
		name     string
		query    []string
		sessions []string // the best first
		want     []string // of each session the beginning of the best text
	}{
		{
			"titles, prompts, answers, then others", []string{"apple"},
			[]string{said(Title, 9, "an apple"), said(Prompt, 9, "apple prompt"), said(Answer, 9, "apple answer"), said(Tool, 9, "apple tool")},
			[]string{"an apple", "apple prompt", "apple answer", "apple tool"},
		},
		{
			"new before old", []string{"apple"},
			[]string{said(Prompt, 0, "today's apple"), said(Prompt, 7, "last week's apple"), said(Prompt, 300, "an old apple")},
			[]string{"today's apple", "last week's apple", "an old apple"},
		},
		{
			"an old prompt before new output", []string{"apple"},
			[]string{said(Prompt, 60, "apple prompt"), said(Tool, 0, "apple "+long)},
			[]string{"apple prompt", "apple word"},
		},
		{
			"short before long", []string{"apple"},
			[]string{said(Answer, 9, "an apple"), said(Answer, 9, "apple "+long)},
			[]string{"an apple", "apple word"},
		},
		{
			"phrase, another order, near, far", []string{"apple", "pear"},
			[]string{
				said(Answer, 9, "an apple pear "+long+" x x"), said(Answer, 9, "a pear apple "+long+" x x"),
				said(Answer, 9, "apple and a pear "+long+" x"), said(Answer, 9, "apple "+long+" x x x pear"),
			},
			[]string{"an apple pear", "a pear apple", "apple and a pear", "apple word"},
		},
		{
			"several hits in a session", []string{"apple"},
			[]string{said(Answer, 9, "apple one", "apple two", "apple three"), said(Answer, 9, "apple alone")},
			[]string{"apple three", "apple alone"},
		},
		{
			"phrases of a query near each other", []string{"red apple", "pear"},
			[]string{said(Answer, 9, "red apple pear "+long), said(Answer, 9, "red apple "+long+" pear")},
			[]string{"red apple pear", "red apple word"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			for i, text := range test.sessions {
				d.write(fmt.Sprintf("%08d-2222-4333-8444-555555555555.jsonl", len(test.sessions)-i), text, os.O_APPEND)
			}
			got := d.ranked(words(t, test.query...))
			if len(got) != len(test.want) {
				t.Fatalf("found %q", got)
			}
			for i, text := range got {
				if !strings.HasPrefix(text, test.want[i]) {
					t.Errorf("session %d has %.40q, want %q", i, text, test.want[i])
				}
			}
		})
	}
}

// At most so many hits of a session are in a result, unless there are too few others. Hits that are
// not in it are counted.
func TestHitsPerSession(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+".jsonl", said(Answer, 1, strings.Split(strings.Repeat("an apple,", 9)+"an apple", ",")...), os.O_APPEND)
	d.write("22222222-2222-4333-8444-555555555555.jsonl", said(Answer, 2, "one apple", "two apples, one apple"), os.O_APPEND)
	d.write("33333333-2222-4333-8444-555555555555.jsonl", said(Thinking, 300, "an apple"), os.O_APPEND)
	for _, test := range []struct {
		limit, perSession int
		want              string
	}{
		{6, 3, "[3+7 2+0 1+0] 7 more, in 0 other sessions"},
		{4, 3, "[3+7 1+1] 9 more, in 1 other sessions"},
		{8, 3, "[5+5 2+0 1+0] 5 more, in 0 other sessions"},
		{20, 3, "[10+0 2+0 1+0] 0 more, in 0 other sessions"},
		{4, 0, "[4+6] 9 more, in 2 other sessions"},
		{0, 2, "[2+8 2+0 1+0] 8 more, in 0 other sessions"},
		{0, 0, "[10+0 2+0 1+0] 0 more, in 0 other sessions"},
	} {
		for name, search := range d.bothSearches() {
			q := words(t, "apple")
			q.Order, q.Now, q.Limit, q.PerSession = Relevance, rankNow, test.limit, test.perSession
			result, err := search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			var groups []string
			for _, g := range result.Groups {
				groups = append(groups, fmt.Sprintf("%d+%d", g.Hits, g.More))
			}
			if got := fmt.Sprintf("%v %d more, in %d other sessions", groups, result.More, result.MoreSessions); got != test.want {
				t.Errorf("%s, limit %d, %d of each: %s, want %s", name, test.limit, test.perSession, got, test.want)
			}
		}
	}
}

// A search can be limited to sessions, including a subagent of theirs beside them.
func TestSessionsOfQuery(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+".jsonl", promptLine(1, "apple"), os.O_APPEND)
	d.write("agent-abc.jsonl", promptLine(2, "apple"), os.O_APPEND)
	d.write("22222222-2222-4333-8444-555555555555.jsonl", said(Answer, 2, "one apple"), os.O_APPEND)
	for name, search := range d.bothSearches() {
		for _, order := range []Order{Newest, Relevance} {
			q := words(t, "apple")
			q.Order, q.Sessions = order, map[string]bool{deskSession: true}
			result, err := search(t.Context(), q)
			if err != nil || len(result.Hits) != 2 || result.Hits[0].SessionID != deskSession || result.Hits[1].SessionID != deskSession {
				t.Errorf("%s, order %d: %+v, error %v", name, order, result, err)
			}
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query []string
		text  string
		want  int
	}{
		{[]string{"a", "b"}, "a b", 2},
		{[]string{"a", "b"}, "b a", 3},
		{[]string{"a", "b"}, "a x x b x a x b", 3},
		{[]string{"a", "b", "c"}, "a a b x c b a", 4},
		{[]string{"a b", "c"}, "a x b a b x c", 4},
		{[]string{"a", "a"}, "x a", 1},
		{[]string{"al*", "b"}, "alpha b", 2},
	} {
		var c tokenizer
		if got := words(t, test.query...).window(&c, test.text); got != test.want {
			t.Errorf("%q in %q: %d words, want %d", test.query, test.text, got, test.want)
		}
	}
}

// The turns of a rewound transcript are as the index stores them.
func TestStoredTurns(t *testing.T) {
	t.Parallel()
	want := map[int]int{1: 1, 2: 1, 4: 1, 5: 2, 6: 2, 900: 7}
	if got, ok := decodeTurns(encodeTurns(want)); !ok || gocmp.Diff(want, got) != "" {
		t.Errorf("%v, %v", got, ok)
	}
	for _, data := range [][]byte{nil, {2}, {2, 1, 2}, encodeTurns(want)[:4]} {
		if got, ok := decodeTurns(data); ok {
			t.Errorf("%v is %v", data, got)
		}
	}
}
