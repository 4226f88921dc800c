package transcript

import (
	"bytes"
	"math/rand/v2"
	"os"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/usage"
)

// A keptSnapshot is a snapshot with its original content.
type keptSnapshot struct {
	snapshot, then *Transcript
	calls          []usage.Call
	context        ContextReport
}

// keep returns a snapshot of the transcript so far, with the properties of a transcript that is
// read at once.
func keep(t *testing.T, b *Builder, last *Transcript, written []byte) keptSnapshot {
	t.Helper()
	first := b.Changed()
	then := NewBuilder(nil)
	_, _ = then.Write(written)
	k := keptSnapshot{b.Transcript().Snapshot(last, first), then.Transcript(), nil, ContextReport{}}
	k.calls, k.context = k.then.Calls(), k.then.Context()
	return k
}

// check compares a snapshot with its original content.
func (k *keptSnapshot) check(t *testing.T) {
	t.Helper()
	if !sameTranscript(k.then, k.snapshot) {
		t.Errorf("(-then +now):\n%s", cmp.Diff(k.then, k.snapshot, compareTranscripts))
	}
	if !reflect.DeepEqual(k.calls, k.snapshot.Calls()) {
		t.Errorf("calls (-then +now):\n%s", cmp.Diff(k.calls, k.snapshot.Calls()))
	}
	if !reflect.DeepEqual(k.context, k.snapshot.Context()) {
		t.Errorf("context (-then +now):\n%s", cmp.Diff(k.context, k.snapshot.Context()))
	}
}

// Snapshots stay as they are while the builder continues, and other goroutines may read them. That
// is checked in transcripts with rewinds, branches and sidechains, and in recorded ones.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	var texts [][]byte
	for seed := range uint64(soak.Size(8, 200)) {
		text, _ := randomTranscript(seed, 120)
		texts = append(texts, text)
	}
	for _, name := range recordedFiles(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	for seed, text := range texts {
		cuts := rand.New(rand.NewPCG(uint64(seed), 0))
		b := NewBuilder(nil)
		var kept []keptSnapshot
		var last *Transcript
		var readers sync.WaitGroup
		for at := 0; at < len(text); {
			n := 1 + cuts.IntN(1+len(text)/12)
			n = min(n, len(text)-at)
			_, _ = b.Write(text[at : at+n])
			at += n
			k := keep(t, b, last, text[:at])
			kept, last = append(kept, k), k.snapshot
			readers.Go(func() { k.check(t) })
		}
		readers.Wait()
		for i := range kept {
			kept[i].check(t)
		}
		if t.Failed() {
			t.Fatalf("transcript %d", seed)
		}
	}
}

// A snapshot shares the chunks that have not changed.
func TestSnapshotShares(t *testing.T) {
	t.Parallel()
	text := treePrompt("1", "") + treeAnswer("2", "1", "m1", 5, "call")
	b := NewBuilder(nil)
	_, _ = b.Write([]byte(text))
	b.Changed()
	one := b.Transcript().Snapshot(nil, 0)
	_, _ = b.Write([]byte(treePrompt("3", "2")))
	two := b.Transcript().Snapshot(one, b.Changed())
	if len(one.Chunks) != 2 || len(two.Chunks) != 3 || &one.Chunks[1].Items[0] != &two.Chunks[1].Items[0] {
		t.Errorf("%d and %d chunks", len(one.Chunks), len(two.Chunks))
	}
	if &b.Transcript().Chunks[1].Items[0] == &one.Chunks[1].Items[0] {
		t.Error("a snapshot has the builder's items")
	}
	empty := new(Transcript).Snapshot(two, 7)
	if !bytes.Equal([]byte(listing(empty)), []byte(listing(new(Transcript)))) {
		t.Errorf("got %+v", empty)
	}
}

func BenchmarkSnapshot(b *testing.B) {
	msgs, _ := toolRounds(300)
	t := &Transcript{Chunks: BuildChunks(msgs)}
	last := t.Snapshot(nil, 0)
	b.ReportAllocs()
	for b.Loop() {
		t.Snapshot(last, len(t.Chunks)-1)
	}
}
