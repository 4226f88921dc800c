package transcript

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A file that is no transcript, or was made to do harm, does not fill the memory: names and bad lines are kept up to a
// limit, and counted beyond it.
func TestReadKeepsLittleOfWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	const lines = 3000
	long := strings.Repeat("x", 1000)
	for name, line := range map[string]string{
		"types":          `{"type":"novelty%d"}`,
		"long types":     `{"type":"%d` + long + `"}`,
		"attachments":    `{"type":"attachment","uuid":"%[1]d","attachment":{"type":"novelty%[1]d"}}`,
		"subtypes":       `{"type":"system","uuid":"%[1]d","subtype":"novelty%[1]d"}`,
		"versions":       `{"type":"user","uuid":"%[1]d","version":"%[1]d` + long + `","novelty":1}`,
		"members":        `{"type":"user","uuid":"%[1]d","novelty%[1]d` + long + `":1}`,
		"what is broken": `%d` + long,
	} {
		var text bytes.Buffer
		for i := range lines {
			fmt.Fprintf(&text, line+"\n", i)
		}
		tr, err := Read(&text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := accounted(tr); got != lines {
			t.Errorf("%s: %d of %d lines", name, got, lines)
		}
		if n := max(len(tr.Noise), len(tr.Invalid), len(tr.Drift.Findings())); n > 1001 {
			t.Errorf("%s: %d are kept", name, n)
		}
		longest := 0
		for noise := range tr.Noise {
			longest = max(longest, len(noise))
		}
		for _, f := range tr.Drift.Findings() {
			longest = max(longest, len(f.Name), len(f.Version))
		}
		if longest > maxNameLen+len("…") {
			t.Errorf("%s: a name is %d bytes long", name, longest)
		}
	}
}

// A line with many unknown members or blocks does not either.
func TestEntryNotesSomeOfWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	var members strings.Builder
	for i := range 3 * maxFindings {
		fmt.Fprintf(&members, `,"novelty%d":1`, i)
	}
	for name, line := range map[string]string{
		"members": `{"type":"user"` + members.String() + `}`,
		"blocks":  `{"type":"user","message":{"content":[{}` + strings.Repeat(`,{"type":"novelty"}`, 3*maxFindings) + `]}}`,
	} {
		e, err := DecodeEntry([]byte(line))
		if err != nil || len(e.Unknown) != maxFindings {
			t.Errorf("%s: %d are noted, %v", name, len(e.Unknown), err)
		}
	}
}

// Many subagents in one file take some kilobytes each.
func TestSidechainsTakeLittleMemory(t *testing.T) {
	const count = 2000
	text := bytes.NewBufferString(asks("u", ""))
	for i := range count {
		text.WriteString(aside(asks(fmt.Sprint(i), "")))
	}
	used := func() int {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	before := used()
	tr, err := Read(text, nil)
	if each := (used() - before) / count; err != nil || len(tr.Sidechains) != count || each > 4<<10 {
		t.Errorf("%d sidechains of %d bytes, %v", len(tr.Sidechains), each, err)
	}
}
