package index

import (
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func pairsOf(text string) []pair {
	var v vocabulary
	v.of(text)
	return v.pairs.list
}

// A filter has the pairs of its text, and few others.
func TestPairFilter(t *testing.T) {
	t.Parallel()
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("a%d b%d c%d a%d b%d", i, i, i, i, i))
	}
	whole := newPairFilter(pairsOf(strings.Join(texts, " ")))
	wrong := 0
	for i, text := range texts {
		q := words(t, text)
		if !whole.mayHave(q.pairs()) || !newPairFilter(pairsOf(text)).mayHave(q.pairs()) {
			t.Fatalf("the filter lacks %q", text)
		}
		if whole.mayHave(words(t, fmt.Sprintf("b%d a%d", i, i)).pairs()) {
			wrong++
		}
	}
	if wrong > len(texts)/10 {
		t.Errorf("the filter has %d of %d pairs that it was not given", wrong, len(texts))
	}
	if newPairFilter(nil).mayHave(pairsOf("a b")) {
		t.Error("the empty filter has a pair")
	}
	if got := pairsOf("a b a b a b"); len(got) != 2 {
		t.Errorf("%d pairs, want 2", len(got))
	}
}

func TestPairFiltersAreKept(t *testing.T) {
	t.Parallel()
	want := []pairFilter{newPairFilter(pairsOf("a b c")), {}, newPairFilter(pairsOf("x y"))}
	got, err := decodeFilters(encodeFilters(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := decodeFilters([]byte{9, 1}); err == nil {
		t.Error("filters that were cut off are taken")
	}
}

// Passages with the words of a phrase in another order are not even counted.
func TestPhraseOfCommonWordsIsFoundByItsPairs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var text strings.Builder
	for n := range 50 {
		text.WriteString(promptLine(n, "the apple of the tree"))
	}
	text.WriteString(promptLine(51, "tree of the apple") + promptLine(52, "a tree of it"))
	d.write(deskSession+".jsonl", text.String(), os.O_APPEND)
	q := words(t, "tree of")
	q.Limit = 1
	got, err := d.index.Search(t.Context(), filesBelow(t, d.dir), q)
	if err != nil || len(got.Hits) != 1 || got.Hits[0].Line != 52 || got.More != 1 {
		t.Errorf("result %+v, error %v", got, err)
	}
}
