package cli

import (
	"strconv"
	"strings"
	"testing"

	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
)

func TestTallyNames(t *testing.T) {
	var counts tally[string]
	for i, name := range []string{"seldom", "often", "b", "a", "often", "heavy"} {
		size := int64(10)
		if name == "heavy" {
			size = 1000
		}
		counts.add(name, wire.Position{Line: i + 1, Bytes: size})
	}
	want := []string{"often", "heavy", "a", "b", "seldom"}
	if diff := cmp.Diff(want, counts.names(strings.Compare)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got, want := *counts.stats["often"], (stat{count: 2, bytes: 20, largest: 10, line: 2}); got != want {
		t.Errorf("stat = %+v, want %+v", got, want)
	}
}

func TestTallyIsBounded(t *testing.T) {
	var counts tally[string]
	for i := range maxNames + 7 {
		counts.add(strconv.Itoa(i), wire.Position{Line: i + 1, Bytes: 2})
	}
	counts.add("0", wire.Position{Bytes: 2})
	if len(counts.stats) != maxNames || counts.rest.count != 7 || counts.stats["0"].count != 2 {
		t.Errorf("%d names, %d beyond, %d of the first; want %d, 7, 2",
			len(counts.stats), counts.rest.count, counts.stats["0"].count, maxNames)
	}
}

func TestNotesAreBounded(t *testing.T) {
	var remarks notes
	for i := range maxNotes + 5 {
		remarks.add(wire.Position{Line: i + 1}, strings.Repeat("long", maxText))
	}
	if len(remarks.kept) != maxNotes || remarks.total.count != maxNotes+5 || len(remarks.kept[0].text) > maxText+3 {
		t.Errorf("%d kept of %d, %d bytes each", len(remarks.kept), remarks.total.count, len(remarks.kept[0].text))
	}
}
