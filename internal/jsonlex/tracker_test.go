package jsonlex

import (
	"encoding/json"
	"testing"
)

func TestTrackerFollowsPieces(t *testing.T) {
	whole := `{"a":[1,-2.5e+3,"x\u00e9\n\"",null,true,{"b":{}},[]],"c":"日本"}`
	for size := 1; size <= len(whole); size++ {
		var tr Tracker
		status := Open
		for i := 0; i < len(whole); i += size {
			piece := whole[i:min(i+size, len(whole))]
			var n int
			n, status = tr.Feed([]byte(piece))
			if n != len(piece) {
				t.Fatalf("pieces of %d: %d bytes of %q taken, %v", size, n, piece, status)
			}
		}
		if status != Complete {
			t.Fatalf("pieces of %d: status %v", size, status)
		}
	}
}

func TestTrackerStopsAtTheEnd(t *testing.T) {
	var tr Tracker
	if n, status := tr.Feed([]byte(`{"a":1} {"b":2}`)); n != 7 || status != Complete {
		t.Errorf("%d bytes, %v", n, status)
	}
	tr.Reset()
	if n, status := tr.Feed([]byte(`{}`)); n != 2 || status != Complete {
		t.Errorf("after Reset: %d bytes, %v", n, status)
	}
}

func TestTrackerFindsWhatCannotBeContinued(t *testing.T) {
	for _, test := range []struct {
		data string
		at   int
	}{
		{`[`, 0}, {`x`, 0}, {`{x`, 1}, {`{"a"x`, 4}, {`{"a":}`, 5}, {`{"a":1,}`, 7}, {`{"a":1]`, 6}, {`{"a":[}`, 6},
		{`{"a":"b"c`, 8}, {`{"a":"b{"type`, 9}, {"{\"a\":\"\x01", 6}, {`{"a":"\x`, 7}, {`{"a":"\u00g`, 10}, {`{"a":1:`, 6}, {`{,`, 1}, {`{"a":[,`, 6}, {`{"a":1"`, 6},
	} {
		var tr Tracker
		if n, status := tr.Feed([]byte(test.data)); n != test.at || status != Broken {
			t.Errorf("Feed(%q) = %d, %v, want %d, broken", test.data, n, status, test.at)
		}
	}
}

// An object that encoding/json accepts is complete at its last byte, however it is cut, and a
// tracker never says Broken of a prefix that can be continued.
func FuzzTracker(f *testing.F) {
	for _, s := range samples {
		if len(s) < 1000 {
			f.Add([]byte(s), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		var whole, cut Tracker
		n, status := whole.Feed(data)
		if cutN, cutStatus := feedCut(&cut, data, int(size%16)+1); cutN != n || cutStatus != status {
			t.Fatalf("whole: %d, %v; in pieces: %d, %v", n, status, cutN, cutStatus)
		}
		if err := Valid(data); err == nil && status != Complete && data[skipSpace(data, 0)] == '{' {
			t.Fatalf("a valid object is %v at %d", status, n)
		}
		if status == Broken && json.Valid(data[:n]) {
			t.Fatalf("broken behind a complete object")
		}
	})
}

func feedCut(tr *Tracker, data []byte, size int) (int, Status) {
	total, status := 0, Open
	for len(data) > 0 && status == Open {
		piece := data[:min(size, len(data))]
		var n int
		n, status = tr.Feed(piece)
		total += n
		data = data[len(piece):]
	}
	return total, status
}
