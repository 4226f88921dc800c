package transcript

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
