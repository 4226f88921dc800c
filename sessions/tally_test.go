package sessions

import (
	"os"
	"testing"

	"github.com/clewdev/clew/wire"
)

// A very long file is not forgotten for its own sake, nor because others are read.
func TestTalliesKeepTheLast(t *testing.T) {
	t.Parallel()
	file, err := os.Stat(".")
	if err != nil {
		t.Fatal(err)
	}
	var ts tallies
	long, short := wire.SessionKey{SessionID: "long"}, wire.SessionKey{SessionID: "short"}
	grow := func(key wire.SessionKey, uuids uint64) {
		tally := ts.take(key)
		tally.file, tally.uuids = file, map[uuidHash]bool{}
		for i := range uuids {
			tally.uuids[uuidHash{i}] = true
		}
		ts.release(key, tally)
	}
	grow(short, 1)
	grow(long, maxTallied+1)
	if ts.byKey[long] == nil || ts.byKey[short] != nil {
		t.Errorf("after a long file: got %v", ts.byKey)
	}
	ts.release(short, ts.take(short)) // as a load does
	if ts.byKey[long] == nil || len(ts.byKey) != 1 {
		t.Errorf("after a load: got %v", ts.byKey)
	}
	grow(short, 1)
	if ts.byKey[short] == nil || ts.byKey[long] != nil || ts.total != 2 {
		t.Errorf("after another file: got %v, %d in all", ts.byKey, ts.total)
	}
}
