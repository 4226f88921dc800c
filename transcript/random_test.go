package transcript

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// A lineWriter writes the lines of random transcripts: with rewinds, calls at the same time,
// subagents in the same file, compactions, lines that were lost, come twice or are broken, and
// entries that take others back.
type lineWriter struct {
	rng   *rand.Rand
	to    bytes.Buffer
	uuids []string
	calls []string
	lines int
}

func (s *lineWriter) uuid() string {
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", len(s.uuids), s.rng.Uint32())
	s.uuids = append(s.uuids, id)
	return id
}

// some returns one of the last UUIDs.
func (s *lineWriter) some(within int) string {
	if len(s.uuids) == 0 {
		return "lost"
	}
	return s.uuids[max(0, len(s.uuids)-1-s.rng.IntN(within))]
}

func (s *lineWriter) parent() string {
	switch k := s.rng.IntN(40); {
	case k == 0 || len(s.uuids) == 0:
		return "null"
	case k == 1:
		return `"lost"`
	case k < 6:
		return `"` + s.some(12) + `"`
	}
	return `"` + s.some(1) + `"`
}

func (s *lineWriter) put(line string) {
	s.to.WriteString(line + "\n")
	if strings.TrimSpace(line) != "" {
		s.lines++
	}
}

// entry writes an entry of the tree with some members.
func (s *lineWriter) entry(kind, members string) {
	parent, side := s.parent(), s.rng.IntN(25) == 0
	s.put(fmt.Sprintf(`{"parentUuid":%s,"isSidechain":%v,"type":%q,%s,"uuid":%q,"timestamp":"2026-11-15T10:%02d:%02d.000Z"}`,
		parent, side, kind, members, s.uuid(), s.lines/60%60, s.lines%60))
}

func (s *lineWriter) answer(block string) {
	s.entry("assistant", fmt.Sprintf(`"message":{"id":"m%d","model":"claude","role":"assistant","content":[%s],"usage":{"output_tokens":3}}`,
		s.lines/3, block))
}

func (s *lineWriter) line() {
	switch s.rng.IntN(16) {
	case 0, 1:
		s.entry("user", fmt.Sprintf(`"message":{"role":"user","content":"prompt %d"}`, s.lines))
	case 2, 3:
		s.answer(fmt.Sprintf(`{"type":"text","text":"answer %d"}`, s.lines))
	case 4, 5:
		id := fmt.Sprint("call", s.lines)
		s.calls = append(s.calls, id)
		s.answer(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"ls"}}`, id))
	case 6, 7:
		id := "nobody's"
		if n := len(s.calls); n > 0 {
			id = s.calls[max(0, n-1-s.rng.IntN(3))]
		}
		s.entry("user", fmt.Sprintf(`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"out %d"}]},"toolUseResult":{"stdout":"x"}`, id, s.lines))
	case 8:
		s.entry("attachment", `"attachment":{"type":"queued_command","prompt":"and this","commandMode":"prompt"}`)
	case 9:
		s.entry("progress", `"data":{"type":"bash_progress"}`)
	case 10:
		s.entry("system", `"subtype":"turn_duration","durationMs":5`)
	case 11:
		s.put(fmt.Sprintf(`{"type":"last-prompt","lastPrompt":"p","leafUuid":%q}`, s.some(5)))
	case 12:
		s.rare()
	case 13:
		s.entry("user", `"isMeta":true,"message":{"role":"user","content":"for the model"}`)
	case 14:
		s.entry("user", `"message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}`)
	case 15:
		s.entry("attachment", `"attachment":{"type":"environment"}`)
	}
}

func (s *lineWriter) rare() {
	switch s.rng.IntN(7) {
	case 6:
		s.put(fmt.Sprintf(`{"type":"last-prompt","rewound":true,"cutUuid":%q}`, s.some(9)))
	case 0:
		s.put(`{"type":"user","uuid":`)
	case 1:
		s.put("  ")
	case 2:
		s.entry("system", fmt.Sprintf(`"subtype":"compact_boundary","logicalParentUuid":%q,"compactMetadata":{"trigger":"auto"}`, s.some(1)))
		s.entry("user", `"isCompactSummary":true,"message":{"role":"user","content":"in short"}`)
	case 3:
		s.entry("assistant", fmt.Sprintf(`"supersedesUuids":[%q],"message":{"id":"s%d","model":"claude","content":"again"}`, s.some(4), s.lines))
	case 4:
		if lines := bytes.Split(bytes.TrimSpace(s.to.Bytes()), []byte("\n")); len(lines) > 1 {
			s.put(string(lines[s.rng.IntN(len(lines))]))
		}
	case 5:
		s.put(`{"type":"novelty","uuid":"x"}`)
	}
}

func randomTranscript(seed uint64, lines int) (text []byte, written int) {
	s := lineWriter{rng: rand.New(rand.NewPCG(seed, 3))}
	for range lines {
		s.line()
	}
	return s.to.Bytes(), s.lines
}

// A file that is not a transcript, or is malicious, does not fill the memory: names and bad lines
// are kept up to a limit, and counted beyond it.
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
