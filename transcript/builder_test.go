package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/wire"
)

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
	seeds := soak.Size(80, 3000)
	for seed := range uint64(seeds) {
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
	if branches < seeds {
		t.Errorf("only %d branches", branches)
	}
}

var compareTranscripts = cmp.Options{
	cmpopts.IgnoreUnexported(Transcript{}),
	cmpopts.EquateEmpty(),
	cmp.Transformer("error", func(l InvalidLine) string { return fmt.Sprint(l.Position, l.Err, l.Head, l.Torn) }),
}

// The transcript does not depend on the cuts or on when it is read, and each change is reported.
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
	for seed := range uint64(soak.Size(20, 600)) {
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

// A line that is torn is bad only until its rest comes.
func TestCloseInTheMiddle(t *testing.T) {
	t.Parallel()
	line := asks("u1", "")
	b := NewBuilder(nil)
	for _, step := range []struct {
		text, want string
		torn       int
	}{{line[:9], "", 1}, {"", "", 1}, {line[9:20], "", 1}, {line[20:], "u1", 0}, {replies("a1", "u1"), "u1 a1", 0}} {
		_, _ = b.Write([]byte(step.text))
		for range 2 {
			_ = b.Close()
		}
		if tr := b.Transcript(); len(tr.Invalid) != step.torn || saidIn(tr.Chunks) != step.want {
			t.Errorf("behind %q: chunks %q, invalid %+v", step.text, saidIn(tr.Chunks), tr.Invalid)
		}
	}
}

// aside turns a line into a line of a subagent in the same file.
func aside(line string) string {
	return strings.Replace(line, `{"type"`, `{"isSidechain":true,"type"`, 1)
}

// sidesIn lists what the sidechains say.
func sidesIn(tr *Transcript) (sides []string) {
	for _, side := range tr.Sidechains {
		sides = append(sides, saidIn(side.Chunks))
	}
	return sides
}

// Subagents of older versions stand in the file of the session.
func TestSidechainsInTheSameFile(t *testing.T) {
	t.Parallel()
	sides := aside(asks("s1", "")) + aside(replies("s2", "s1")) + aside(asks("x1", "")) + aside(replies("s3", "s2"))
	for name, copies := range map[string]int{"once": 1, "each line twice": 2} {
		text := asks("u1", "") + callsTool("c1", "u1", "t1") + strings.Repeat(sides, copies) +
			returns("r1", "c1", "t1") + replies("a1", "r1")
		tr, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"s1 s2\ns3", "x1"}, sidesIn(tr)); diff != "" || saidIn(tr.Chunks) != "u1 a1 t1=r1" {
			t.Errorf("%s: session %q, sidechains (-want +got):\n%s", name, saidIn(tr.Chunks), diff)
		}
	}
}

// The entries of a subagent change nothing in the Info of its session except the times.
func TestInfoOfASessionWithSidechains(t *testing.T) {
	t.Parallel()
	answer := func(uuid, parent, members string) string {
		return chained("assistant", uuid, parent, members+`,"message":{"id":"m`+uuid+`","model":"model of `+uuid+`","content":"x"}`)
	}
	text := asks("u", "") + answer("a", "u", `"cwd":"/a","timestamp":"2026-11-15T10:00:00Z"`) +
		aside(answer("s", "", `"agentId":"7","agentName":"scout","timestamp":"2026-11-15T10:00:05Z"`))
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	first, last := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC), time.Date(2026, 11, 15, 10, 0, 5, 0, time.UTC)
	want := []Info{
		{Model: "model of a", CWD: "/a", Created: first, Modified: last},
		{Model: "model of s", AgentID: "7", AgentName: "scout", Created: last, Modified: last},
	}
	if diff := cmp.Diff(want, []Info{tr.Info, tr.Sidechains[0].Info}); diff != "" {
		t.Errorf("session and subagent (-want +got):\n%s", diff)
	}
}

// Who comes to a running session late may hear a subagent first.
func TestRunningSubagentIsNoSession(t *testing.T) {
	t.Parallel()
	speaks := func(uuid, call string) wire.Message {
		content := wire.Content{&wire.TextBlock{Text: uuid}}
		return &wire.AssistantMessage{
			UUID: uuid, ParentToolUseID: call, APIMessage: wire.APIMessage{ID: "m-" + uuid, Model: "claude", Content: content},
		}
	}
	b := NewBuilder(nil)
	for _, msg := range []wire.Message{speaks("s1", "t1"), speaks("a1", ""), speaks("s2", "t1")} {
		b.AddMessage(msg, time.Time{})
	}
	tr := b.Transcript()
	if diff := cmp.Diff([]string{"s1\ns2"}, sidesIn(tr)); diff != "" || saidIn(tr.Chunks) != "a1" {
		t.Errorf("session %q, sidechains (-want +got):\n%s", saidIn(tr.Chunks), diff)
	}
}

// A longTranscript is a reader of turns without end: a prompt, a call, a queued prompt, and the
// result of the call.
func longTranscript(turns, size int) io.Reader {
	var readers []io.Reader
	for turn := range turns {
		readers = append(readers, &turnReader{turn: turn, size: size})
	}
	return io.MultiReader(readers...)
}

// A turnReader makes the text of a turn when it is read.
type turnReader struct {
	turn, size int
	text       *strings.Reader
}

func (r *turnReader) Read(p []byte) (int, error) {
	if r.text == nil {
		r.text = strings.NewReader(turnText(r.turn, r.size))
	}
	return r.text.Read(p)
}

func turnText(turn, size int) string {
	parent := "null"
	if turn > 0 {
		parent = fmt.Sprintf(`"r%d"`, turn-1)
	}
	return fmt.Sprintf(`{"type":"user","uuid":"u%[1]d","parentUuid":%[2]s,"message":{"role":"user","content":"prompt %[1]d"}}
{"type":"assistant","uuid":"a%[1]d","parentUuid":"u%[1]d","message":{"id":"m%[1]d","content":[{"type":"tool_use","id":"c%[1]d","name":"Bash","input":{}}]}}
{"type":"attachment","uuid":"q%[1]d","parentUuid":"a%[1]d","attachment":{"type":"queued_command","prompt":"and"}}
{"type":"user","uuid":"r%[1]d","parentUuid":"q%[1]d","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%[1]d","content":"%[3]s"}]}}
`, turn, parent, strings.Repeat("x", size))
}

func TestStreamEqualsRead(t *testing.T) {
	t.Parallel()
	for _, turns := range []int{0, 1, 20, 21, 22, 300} {
		want, err := Read(longTranscript(turns, 10), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []Chunk
		for chunk, err := range Stream(iotest.HalfReader(longTranscript(turns, 10)), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, *chunk)
		}
		if diff := cmp.Diff(want.Chunks, got); diff != "" {
			t.Errorf("%d turns (-read +stream):\n%s", turns, diff)
		}
	}
}

// So do the recorded transcripts without branches and retracted entries.
func TestStreamEqualsReadOfRecorded(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, path := range recordedTranscripts(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := readFile(t, path, nil)
		if len(want.Branches) > 0 || want.Noise["superseded"]+want.Noise["duplicate"] > 0 {
			continue
		}
		compared++
		var got []Chunk
		for chunk := range Stream(bytes.NewReader(text), nil) {
			got = append(got, *chunk)
		}
		if diff := cmp.Diff(want.Chunks, got); diff != "" {
			t.Errorf("%s (-read +stream):\n%s", path, diff)
		}
	}
	if compared < 10 {
		t.Errorf("only %d transcripts were compared", compared)
	}
}

// 40 MB of conversation take the memory of some dozen turns.
func TestStreamHoldsLittle(t *testing.T) {
	var most uint64
	chunks := 0
	for _, err := range Stream(longTranscript(800, 50_000), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if chunks++; chunks%500 == 0 {
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
	}
	if chunks != 2400 {
		t.Errorf("%d chunks", chunks)
	}
	if most > 20<<20 {
		t.Errorf("%d MB are in use", most>>20)
	}
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	text := []byte(turnText(0, 10))
	var got []string
	for chunk, err := range Stream(io.MultiReader(bytes.NewReader(text), iotest.ErrReader(broken)), nil) {
		if chunk != nil {
			got = append(got, chunk.Type.String())
		}
		if err != nil {
			got = append(got, err.Error())
		}
	}
	if diff := cmp.Diff([]string{"user", "ai", "user", "broken"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range Stream(longTranscript(300, 10), nil) {
		break
	}
	cut := fmt.Errorf("line is dead: %w", io.EOF)
	got = nil
	for _, err := range Stream(iotest.ErrReader(cut), nil) {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff([]string{cut.Error()}, got); diff != "" {
		t.Errorf("an end that is an error (-want +got):\n%s", diff)
	}
}
