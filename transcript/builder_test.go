package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// accounted returns how many lines are somewhere in a transcript.
func accounted(tr *Transcript) int {
	n := len(tr.Invalid)
	seen := map[int]bool{}
	count := func(chunks []Chunk) {
		for _, c := range chunks {
			for _, line := range c.Lines {
				if seen[line] {
					panic(fmt.Sprintf("line %d is there twice", line))
				}
				seen[line] = true
				n++
			}
		}
	}
	count(tr.Chunks)
	for _, branch := range tr.Branches {
		count(branch.Chunks)
	}
	for _, noise := range tr.Noise {
		n += noise
	}
	for _, side := range tr.Sidechains {
		n += accounted(side)
	}
	return n
}

// Each line is in one chunk, in one branch, in one sidechain, counted as noise or invalid.
func TestEveryLineOnce(t *testing.T) {
	t.Parallel()
	branches := 0
	for seed := range uint64(300) {
		text, lines := randomTranscript(seed, 120)
		tr, err := Read(bytes.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := accounted(tr); got != lines {
			t.Fatalf("seed %d: %d of %d lines", seed, got, lines)
		}
		branches += len(tr.Branches)
	}
	if branches < 300 {
		t.Errorf("only %d branches", branches)
	}
}

// A rewind leaves a prompt and what came after it behind, before anything else is said.
func TestRewound(t *testing.T) {
	t.Parallel()
	said := func(kind, uuid, parent string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"message":{"id":"m%[2]s","model":"claude","content":%[2]q}}`+"\n", kind, uuid, parent)
	}
	two := said("user", "a", "null") + said("assistant", "b", `"a"`) + said("user", "c", `"b"`) + said("assistant", "d", `"c"`)
	const back, start = `{"type":"last-prompt","rewound":true,"cutUuid":"c"}` + "\n", `{"type":"last-prompt","rewound":true,"cutUuid":"a"}` + "\n"
	for _, test := range []struct{ name, text, want string }{
		{"none", two, "a b c d"},
		{"one", two + back, "a b | c d"},
		{"to the start", two + start, " | a b c d"},
		{"and another prompt", two + back + said("user", "e", `"b"`), "a b e | c d"},
		{"one after the other", two + back + start, " | a b c d"},
		{"and back again", two + back + said("user", "e", `"d"`), "a b c d e"},
		{"of nothing", two + `{"type":"last-prompt","rewound":true,"cutUuid":"x"}`, "a b c d"},
		{"only the leaf", two + `{"type":"last-prompt","leafUuid":"b","cutUuid":"c"}`, "a b c d"},
	} {
		tr, err := Read(strings.NewReader(test.text), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := texts(tr.Chunks)
		for _, b := range tr.Branches {
			got += " | " + texts(b.Chunks)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func texts(chunks []Chunk) string {
	var all []string
	for _, c := range chunks {
		all = append(all, c.Text)
	}
	return strings.Join(all, " ")
}

// An answer that is older than the beginning of its transcript is a copy.
func TestCallsOfForks(t *testing.T) {
	t.Parallel()
	const begun = `{"type":"queue-operation","timestamp":"2026-11-15T00:00:05Z"}` + "\n"
	for _, test := range []struct {
		text   string
		forked bool
	}{{answerLine, false}, {begun + answerLine, false}, {strings.Replace(begun, "05Z", "08Z", 1) + answerLine, true}} {
		tr, err := Read(strings.NewReader(test.text), nil)
		if calls := tr.Calls(); err != nil || len(calls) != 1 || calls[0].Forked != test.forked {
			t.Errorf("%s: %+v, %v", test.text, calls, err)
		}
	}
}

var compareTranscripts = cmp.Options{
	cmpopts.IgnoreUnexported(Transcript{}),
	cmpopts.EquateEmpty(),
	cmp.Transformer("error", func(l InvalidLine) string { return fmt.Sprint(l.Position, l.Err, l.Head, l.Torn) }),
}

// Whatever the cuts, and whenever somebody looks, the transcript is the same in the end, and what has changed was told.
func checkCuts(t *testing.T, text []byte, cuts *rand.Rand) {
	t.Helper()
	want, err := Read(bytes.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(nil)
	var before []Chunk
	for rest := text; len(rest) > 0; {
		n := 1 + cuts.IntN(min(len(rest), 1+cuts.IntN(400)))
		_, _ = b.Write(rest[:n])
		rest = rest[n:]
		if cuts.IntN(3) > 0 {
			continue
		}
		first := b.Changed()
		now := b.Transcript().Chunks
		same := min(first, len(before))
		if same > 0 && !reflect.DeepEqual(before[:same], now[:same]) { // as quick as it must be here
			t.Fatalf("changed before chunk %d (-before +now):\n%s", first, cmp.Diff(before[:same], now[:same]))
		}
		before = copyChunks(now)
	}
	_ = b.Close()
	if got := b.Transcript(); !sameTranscript(want, got) {
		t.Fatalf("(-at once +in pieces):\n%s", cmp.Diff(want, got, compareTranscripts))
	}
}

// sameTranscript is quick where two transcripts are the same, as they should be.
func sameTranscript(a, b *Transcript) bool {
	same := reflect.DeepEqual(a.Chunks, b.Chunks) && len(a.Branches) == len(b.Branches) && len(a.Sidechains) == len(b.Sidechains)
	if !same || !reflect.DeepEqual(a.Noise, b.Noise) || !reflect.DeepEqual(a.Info, b.Info) {
		return cmp.Equal(a, b, compareTranscripts)
	}
	for i := range a.Branches {
		same = same && reflect.DeepEqual(a.Branches[i], b.Branches[i])
	}
	for i := range a.Sidechains {
		same = same && sameTranscript(a.Sidechains[i], b.Sidechains[i])
	}
	return same && cmp.Equal(a.Invalid, b.Invalid, compareTranscripts) && a.Drift.Equal(b.Drift)
}

// copyChunks returns chunks that the builder no longer changes.
func copyChunks(chunks []Chunk) []Chunk {
	chunks = slices.Clone(chunks)
	for i := range chunks {
		c := &chunks[i]
		c.Items, c.Lines = slices.Clone(c.Items), slices.Clone(c.Lines)
		c.ToolCalls, c.Injected = slices.Clone(c.ToolCalls), slices.Clone(c.Injected)
		for k := range c.Items {
			c.Items[k].Injected = slices.Clone(c.Items[k].Injected)
		}
		if c.Compaction != nil {
			compaction := *c.Compaction
			c.Compaction = &compaction
		}
	}
	return chunks
}

func TestPiecesEqualWhole(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		text, _ := randomTranscript(seed, 60)
		checkCuts(t, text, rand.New(rand.NewPCG(seed, 4)))
	}
}

// shortLines returns the lines of a transcript that are not long.
func shortLines(t testing.TB, path string) (text []byte) {
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(all) {
		if len(line) < 700 {
			text = append(text, line...)
		}
	}
	return text
}

func FuzzBuilder(f *testing.F) {
	for seed := range uint64(4) {
		text, _ := randomTranscript(seed, 12)
		f.Add(text, seed)
	}
	for _, path := range recordedTranscripts(f)[:4] {
		f.Add(shortLines(f, path), uint64(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, cuts uint64) {
		checkCuts(t, text, rand.New(rand.NewPCG(cuts, 5)))
		tr, _ := Read(bytes.NewReader(text), nil)
		if lines := linesIn(text); accounted(tr) != lines {
			t.Fatalf("%d of %d lines", accounted(tr), lines)
		}
		tr.Context()
		tr.Calls()
	})
}

// linesIn counts as the splitter does.
func linesIn(text []byte) (n int) {
	count := func() { n++ }
	s := NewLineSplitter(0)
	s.Feed(text, func([]byte, wire.Position) { count() }, func(InvalidLine) { count() })
	s.Flush(func([]byte, wire.Position) { count() }, func(InvalidLine) { count() })
	return n
}

// What was read before the reader failed comes with its error.
func TestReadFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	text := asks("u1", "") + replies("a1", "u1") + `{"type":"user","uuid":`
	tr, err := Read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), nil)
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the reader", err)
	}
	if got := saidIn(tr.Chunks); got != "u1 a1" || len(tr.Invalid) != 1 || !tr.Invalid[0].Torn {
		t.Errorf("chunks %q, invalid %+v", got, tr.Invalid)
	}
}

// A line that is too long costs no more than itself.
func TestReadPassesOverLongLines(t *testing.T) {
	t.Parallel()
	text := asks("u1", "") + chained("progress", "p", "u1", `"data":"`+strings.Repeat("x", 5000)+`"`) + replies("a1", "p")
	tr, err := Read(strings.NewReader(text), &ReadOptions{MaxLineBytes: 500})
	if err != nil {
		t.Fatal(err)
	}
	if got := saidIn(tr.Chunks); got != "u1 a1" || len(tr.Invalid) != 1 || !errors.Is(tr.Invalid[0].Err, ErrLineTooLong) {
		t.Errorf("chunks %q, invalid %+v", got, tr.Invalid)
	}
}

// Bookkeeping and what is attached for the model makes no chunk, and no turn longer.
func TestBookkeepingShowsNothing(t *testing.T) {
	t.Parallel()
	on := func(second int, members string) string {
		return fmt.Sprintf(`%s,"timestamp":"2026-11-15T10:00:%02dZ"`, members, second)
	}
	environment := `"attachment":{"type":"environment"}`
	speech := func(text string) string {
		return `"message":{"id":"m","content":[{"type":"text","text":"` + text + `"}]}`
	}
	text := `{"type":"summary","summary":"A title","leafUuid":"a2"}` + "\n" +
		`{"type":"file-history-snapshot","messageId":"u1","snapshot":{}}` + "\n" +
		chained("attachment", "n1", "", on(0, environment)) +
		chained("user", "u1", "n1", on(10, `"message":{"content":"Go"}`)) +
		chained("attachment", "n2", "u1", on(11, environment)) +
		chained("assistant", "a1", "n2", on(20, speech("One"))) +
		`{"type":"last-prompt","lastPrompt":"Go","leafUuid":"a1"}` + "\n" +
		chained("progress", "n3", "a1", on(22, `"data":{"type":"bash_progress"}`)) +
		chained("assistant", "a2", "n3", on(25, speech("Two"))) +
		chained("attachment", "n4", "a2", on(50, environment)) +
		chained("system", "n5", "n4", on(55, `"subtype":"turn_duration"`)) +
		`{"type":"last-prompt","lastPrompt":"Go","leafUuid":"a2"}` + "\n"
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range tr.Chunks {
		got = append(got, fmt.Sprintf("%v %q at %s, %d ms", c.Type, c.Text, c.Timestamp.Format(time.TimeOnly), c.DurationMs))
	}
	want := []string{`user "Go" at 10:00:10, 0 ms`, `ai "One\nTwo" at 10:00:20, 5000 ms`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	noise := map[string]int{
		"summary": 1, "file-history-snapshot": 1, "last-prompt": 2, "attachment:environment": 3, "progress": 1,
		"system:turn_duration": 1,
	}
	if diff := cmp.Diff(noise, tr.Noise); diff != "" {
		t.Errorf("noise (-want +got):\n%s", diff)
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	text := `{"type":"summary","summary":"Old title","leafUuid":"u1"}
{"type":"user","uuid":"u1","sessionId":"s","cwd":"/a","gitBranch":"main","version":"2.1.1","permissionMode":"plan",` +
		`"timestamp":"2026-11-15T10:00:00Z","teamName":"red","agentName":"scout","message":{"content":"Go"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","cwd":"/b","gitBranch":"fix","version":"2.1.2",` +
		`"timestamp":"2026-11-15T10:00:05Z","message":{"model":"claude-x","content":"One"}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"model":"<synthetic>","content":"No response requested."}}
{"type":"ai-title","aiTitle":"First guess"}
{"type":"ai-title","aiTitle":"Second guess"}
{"type":"custom-title","customTitle":"Mine"}
{"type":"last-prompt","lastPrompt":"Go","leafUuid":"a1"}
{"type":"last-prompt","leafUuid":"a2"}
{"type":"tag","tag":"draft"}
{"type":"tag","tag":""}
{"type":"queue-operation","operation":"enqueue","content":` +
		`"<task-notification><task-id>x1</task-id><tool-use-id>t1</tool-use-id></task-notification>"}
`
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	want := Info{
		SessionID: "s", Title: "Mine", AITitle: "Second guess", Recap: "Old title", LastPrompt: "Go", CWD: "/a",
		GitBranch: "fix", Version: "2.1.2", Model: "claude-x", PermissionMode: "plan", TeamName: "red", AgentName: "scout",
		Created: day, Modified: day.Add(5 * time.Second),
	}
	if diff := cmp.Diff(want, tr.Info); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if id, ok := TeamAgent(tr); id != "scout@red" || !ok {
		t.Errorf("teammate %q, %v", id, ok)
	}
	if diff := cmp.Diff(map[string]string{"x1": "t1"}, tr.TaskCalls); diff != "" {
		t.Errorf("calls of tasks (-want +got):\n%s", diff)
	}
}

// Subagents of older versions stand in the file of the session.
func TestSidechainsInTheSameFile(t *testing.T) {
	t.Parallel()
	aside := func(line string) string { return strings.Replace(line, `{"type"`, `{"isSidechain":true,"type"`, 1) }
	text := asks("u1", "") + callsTool("c1", "u1", "t1") + aside(asks("s1", "")) + aside(replies("s2", "s1")) +
		aside(asks("x1", "")) + aside(replies("s3", "s2")) + returns("r1", "c1", "t1") + replies("a1", "r1")
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var sides []string
	for _, side := range tr.Sidechains {
		sides = append(sides, saidIn(side.Chunks))
	}
	if diff := cmp.Diff([]string{"s1 s2\ns3", "x1"}, sides); diff != "" || saidIn(tr.Chunks) != "u1 a1 t1=r1" {
		t.Errorf("session %q, sidechains (-want +got):\n%s", saidIn(tr.Chunks), diff)
	}
}

// What was left behind was paid for, but is not in the context.
func TestCallsAndContextOfATranscript(t *testing.T) {
	t.Parallel()
	answer := func(uuid, parent string, took, gave int) string {
		return chained("assistant", uuid, parent, fmt.Sprintf(
			`"message":{"id":"m-%s","model":"claude-opus-4-6","content":[{"type":"text","text":%q}],`+
				`"usage":{"input_tokens":%d,"output_tokens":%d}}`,
			uuid[:2], uuid, took, gave))
	}
	aside := strings.Replace(answer("s1", "", 7, 2), `{"type"`, `{"isSidechain":true,"type"`, 1)
	text := asks("u1", "") + answer("a1", "u1", 100, 1) + answer("a1-more", "a1", 100, 5) +
		asks("u2", "a1-more") + answer("a2", "u2", 900, 6) + aside + asks("u3", "a1-more") + answer("a3", "u3", 300, 7)
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for _, c := range tr.Calls() {
		calls[c.MessageID] += c.Usage.TotalTokens()
	}
	if diff := cmp.Diff(map[string]int{"m-a1": 105, "m-a2": 906, "m-s1": 9, "m-a3": 307}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	var turns []int
	for _, turn := range tr.Context().Turns {
		turns = append(turns, turn.Tokens)
	}
	if diff := cmp.Diff([]int{100, 300}, turns); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
}
