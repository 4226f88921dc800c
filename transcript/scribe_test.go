package transcript

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A scribe writes random transcripts: with rewinds, calls at the same time, subagents in the same file, compactions, lines
// that were lost, come twice or are broken, and entries that take others back.
type scribe struct {
	rng   *rand.Rand
	to    bytes.Buffer
	uuids []string
	calls []string
	lines int
}

func (s *scribe) uuid() string {
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", len(s.uuids), s.rng.Uint32())
	s.uuids = append(s.uuids, id)
	return id
}

// some returns one of the last UUIDs.
func (s *scribe) some(within int) string {
	if len(s.uuids) == 0 {
		return "lost"
	}
	return s.uuids[max(0, len(s.uuids)-1-s.rng.IntN(within))]
}

func (s *scribe) parent() string {
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

func (s *scribe) put(line string) {
	s.to.WriteString(line + "\n")
	if strings.TrimSpace(line) != "" {
		s.lines++
	}
}

// entry writes an entry of the tree with some members.
func (s *scribe) entry(kind, members string) {
	parent, side := s.parent(), s.rng.IntN(25) == 0
	s.put(fmt.Sprintf(`{"parentUuid":%s,"isSidechain":%v,"type":%q,%s,"uuid":%q,"timestamp":"2026-11-15T10:%02d:%02d.000Z"}`,
		parent, side, kind, members, s.uuid(), s.lines/60%60, s.lines%60))
}

func (s *scribe) answer(block string) {
	s.entry("assistant", fmt.Sprintf(`"message":{"id":"m%d","model":"claude","role":"assistant","content":[%s],"usage":{"output_tokens":3}}`,
		s.lines/3, block))
}

func (s *scribe) line() {
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

func (s *scribe) rare() {
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
	s := scribe{rng: rand.New(rand.NewPCG(seed, 3))}
	for range lines {
		s.line()
	}
	return s.to.Bytes(), s.lines
}
