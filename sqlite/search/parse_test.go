package search

import (
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// Only words that were typed count against the limit. Parts of names and joined words fill what is left.
func TestParseLimit(t *testing.T) {
	t.Parallel()
	list := func(format string, n int) string {
		var words []string
		for i := range n {
			words = append(words, fmt.Sprintf(format, i))
		}
		return strings.Join(words, " ")
	}
	for _, test := range []struct{ query, err string }{
		{list("word%d", 55), ""},
		{list("word%d", maxTerms), ""},
		{list("word%d", maxTerms) + " the word0", ""},
		{list("internal/file%d.go", 50), ""},
		{list("word%d", 60) + list(" -draft%d", 4), ""},
		{list("word%d", maxTerms+1), "search: the query contains 65 words, and at most 64 can be searched for at once"},
		{list("word%d", 60) + list(" -draft%d", 5), "search: the query contains 65 words, and at most 64 can be searched for at once"},
		{"-draft ?", "search: the query contains no words to find"},
	} {
		q, err := Parse(test.query)
		if got := fmt.Sprint(err); err != nil && got != test.err || err == nil && test.err != "" {
			t.Errorf("%.60q: error %q, want %q", test.query, got, test.err)
		}
		if err == nil && len(q.phrases) > maxTerms {
			t.Errorf("%.60q has %d terms", test.query, len(q.phrases))
		}
	}
}

// A turn is left out if one of its texts has an excluded phrase, and not if it has only the pairs of
// its words. A turn that is left out does not count for the others.
func TestExcludedPhrases(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	texts := []string{
		"apple with error handling, and handling code", "apple with error handling code", "apple and pear and plum with error handling code",
		"apple with errors, handled in code", "apple: handling code",
	}
	var lines strings.Builder
	for i, text := range texts {
		lines.WriteString(promptLine(i+1, text))
	}
	d.write(deskSession+".jsonl", lines.String(), os.O_APPEND)
	for query, want := range map[string][]string{
		`apple -"error handling code"`:           {texts[0], texts[3], texts[4]},
		`apple pear plum -"error handling code"`: {texts[0], texts[3], texts[4]},
		`apple -"error handling cod"*`:           {texts[0], texts[3], texts[4]},
		`apple -"handling code"`:                 {texts[3]},
		`"apple with error" -"handling code"`:    nil,
		`"apple with error"`:                     {texts[0], texts[1]},
	} {
		for name, search := range d.bothSearches() {
			for _, perTurn := range []int{1, 3} {
				q := parsed(t, query)
				q.Order, q.Now, q.PerTurn = Relevance, rankNow, perTurn
				result, err := search(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				found := map[string]bool{}
				for _, h := range result.Hits {
					found[h.Text] = true
				}
				var got []string
				for _, text := range texts {
					if found[text] {
						got = append(got, text)
					}
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s, %d of each turn (-want +got):\n%s", query, name, perTurn, diff)
				}
			}
		}
	}
}

// A turn with more texts than are read for its phrases does not have an excluded phrase in one of the others.
func TestExcludedPhraseBehindMany(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	answers := make([]string, maxOthers+4)
	for i := range answers {
		answers[i] = fmt.Sprintf("The connection pool has %d of them.", i)
	}
	answers[1] = "It waits in a dead lock."
	d.write(deskSession+".jsonl", said(Prompt, 1, "What hangs?")+said(Answer, 1, answers...), os.O_APPEND)
	for name, search := range d.bothSearches() {
		for query, want := range map[string]int{`"connection pool"`: 1, `"connection pool" -"dead lock"`: 0} {
			q := parsed(t, query)
			q.Order, q.Now = Relevance, rankNow
			result, err := search(t.Context(), q)
			if err != nil || len(result.Hits) != want {
				t.Errorf("%s, %s: %d hits, error %v, want %d", query, name, len(result.Hits), err, want)
			}
		}
	}
}
