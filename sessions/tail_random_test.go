package sessions_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A randomWriter writes a session and its subagents at random: subagents of subagents, in
// workflows, with and without metadata, rewinds, compactions, notices and broken lines.
type randomWriter struct {
	rng   *rand.Rand
	file  string
	paths []string
	texts map[string]*strings.Builder
	count int
	piece int // the length of the longest piece
}

func newTroupe(seed uint64, file string) *randomWriter {
	tr := &randomWriter{rng: rand.New(rand.NewPCG(seed, 6)), file: file, texts: map[string]*strings.Builder{}, piece: 700}
	tr.writeAgent(file, "", 0)
	return tr
}

func (tr *randomWriter) id(prefix string) string {
	tr.count++
	return fmt.Sprint(prefix, tr.count)
}

// writeAgent writes the transcript of an agent, "" for the session itself.
func (tr *randomWriter) writeAgent(path, agent string, depth int) {
	text := new(strings.Builder)
	tr.texts[path] = text
	tr.paths = append(tr.paths, path)
	uuids := []string{""}
	line := func(kind, content, more string) {
		uuid, parent := tr.id("u"), uuids[len(uuids)-1]
		if tr.rng.IntN(15) == 0 {
			parent = uuids[tr.rng.IntN(len(uuids))]
		}
		if agent != "" {
			more += fmt.Sprintf(`,"isSidechain":true,"agentId":%q`, agent)
		}
		text.WriteString(said(kind, uuid, parent, content, more))
		uuids = append(uuids, uuid)
	}
	line("user", `"begin `+tr.id("")+`"`, "")
	for range 3 + tr.rng.IntN(25) {
		switch tr.rng.IntN(9) {
		case 0:
			line("user", `"ask `+tr.id("")+`"`, "")
		case 1, 2:
			line("assistant", `[{"type":"text","text":"say `+tr.id("")+`"}]`, "")
		case 3, 4:
			call := tr.id("t")
			line("assistant", `[{"type":"tool_use","id":"`+call+`","name":"Bash","input":{"command":"ls"}}]`, "")
			line("user", `[{"type":"tool_result","tool_use_id":"`+call+`","content":"out"}]`, `,"toolUseResult":"out"`)
		case 5, 6:
			if depth < 3 && tr.count < 400 {
				tr.spawn(agent, depth, line)
			}
		case 7:
			text.WriteString("{\"broken\n\n" + `{"type":"summary","summary":"In short"}` + "\n")
		case 8:
			line("system", `""`, `,"subtype":"compact_boundary","compactMetadata":{"trigger":"auto"}`)
		}
	}
}

// spawn makes an agent start another one.
func (tr *randomWriter) spawn(parent string, depth int, line func(kind, content, more string)) {
	call, id := tr.id("t"), tr.id("a")
	path, tool := agentPath(tr.file, id), "Agent"
	if tr.rng.IntN(4) == 0 {
		path, tool = filepath.Join(filepath.Dir(path), "workflows", "run"+call, filepath.Base(path)), "Workflow"
	}
	prompt := `"prompt":"begin ` + fmt.Sprint(tr.count+1) + `"`
	line("assistant", `[{"type":"tool_use","id":"`+call+`","name":"`+tool+`","input":{`+prompt+`}}]`, "")
	if tr.rng.IntN(3) > 0 {
		meta := new(strings.Builder)
		fmt.Fprintf(meta, `{"toolUseId":%q,"parentAgentId":%q,"agentType":"Explore","finished":true}`, call, parent)
		beside := strings.TrimSuffix(path, ".jsonl") + ".meta.json"
		tr.texts[beside], tr.paths = meta, append(tr.paths, beside)
	}
	tr.writeAgent(path, id, depth+1)
	switch tr.rng.IntN(3) {
	case 0:
		line("user", `[{"type":"tool_result","tool_use_id":"`+call+`","content":"done"}]`,
			fmt.Sprintf(`,"toolUseResult":{"status":"completed","agentId":%q,"runId":"run%s"}`, id, call))
	case 1:
		line("user", `"<task-notification>\n<task-id>`+id+`</task-id>\n<tool-use-id>`+call+
			`</tool-use-id>\n</task-notification>"`, "")
	}
}

// writeAll writes all files in pieces, in turns.
func (tr *randomWriter) writeAll(t *testing.T) {
	rest := map[string]string{}
	for path, text := range tr.texts {
		rest[path] = text.String()
	}
	for len(tr.paths) > 0 {
		i := tr.rng.IntN(len(tr.paths))
		path := tr.paths[i]
		n := min(len(rest[path]), 1+tr.rng.IntN(tr.piece))
		if err := writePiece(path, rest[path][:n]); err != nil {
			t.Error(err)
			return
		}
		if rest[path] = rest[path][n:]; rest[path] == "" {
			tr.paths = append(tr.paths[:i], tr.paths[i+1:]...)
		}
	}
}

func writePiece(path, piece string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteString(piece)
	return err
}

// However a session is written, the updates end with the same result as Read, and each update names
// the changes.
func TestTailRandom(t *testing.T) {
	t.Parallel()
	agents := 0
	seeds := soak.Size(8, 100)
	for seed := range uint64(seeds) {
		file := filepath.Join(t.TempDir(), idA+".jsonl")
		opts := &sessions.TailOptions{PollInterval: time.Duration(seed%2) * time.Millisecond}
		tr := newTroupe(seed, file)
		agents += len(tr.paths)
		f := follow(t, file, opts)
		var wg sync.WaitGroup
		wg.Go(func() {
			tr.writeAll(t)
			put(t, agentPath(file, "last"), agentLine("last", ""))
		})
		for agentID(f.next()) != "last" {
		}
		wg.Wait()
		f.settle()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if agents < 4*seeds {
		t.Errorf("only %d files", agents)
	}
}

// The same for sessions that the agent wrote.
func TestTailCorpus(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	if _, err := corpus.Projects(from, 5, 1<<20); err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(from, "*", "*-*-*-*-*.jsonl"))
	if err != nil || len(sources) < 8 {
		t.Fatalf("%d sessions, %v", len(sources), err)
	}
	for i, source := range sources {
		file := filepath.Join(t.TempDir(), "p", filepath.Base(source))
		tr := &randomWriter{rng: rand.New(rand.NewPCG(uint64(i), 7)), texts: map[string]*strings.Builder{}, piece: 64 << 10}
		tr.copy(t, source, file)
		tr.copy(t, filepath.Join(strings.TrimSuffix(source, ".jsonl"), "subagents"),
			filepath.Join(strings.TrimSuffix(file, ".jsonl"), "subagents"))
		f := follow(t, file, nil)
		var wg sync.WaitGroup
		wg.Go(func() { tr.writeAll(t) })
		f.next()
		wg.Wait()
		f.settle()
	}
}

// copy reads existing files, to be written elsewhere.
func (tr *randomWriter) copy(t *testing.T, from, to string) {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if len(content) > 0 {
			path = to + strings.TrimPrefix(path, from)
			tr.paths, tr.texts[path] = append(tr.paths, path), new(strings.Builder)
			tr.texts[path].Write(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// peakHeap returns by how many bytes the heap has grown at most while f ran. It collects garbage often, however
// GOGC is set.
func peakHeap(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := int64(m.HeapAlloc)
	var peak atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), int64(m.HeapAlloc)-before))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	f()
	close(stop)
	<-done
	return peak.Load()
}

// grow makes a file longer by a hole, which reads as NUL bytes.
func grow(t *testing.T, file string, by int64) {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	must(t, os.Truncate(file, info.Size()+by))
}

// appendLong appends a line of progress of some MiB.
func appendLong(t *testing.T, path string, mebibytes int) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteString(`{"type":"progress","uuid":"long","parentUuid":"1","data":{"type":"agent_progress","text":"`)
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range mebibytes {
		_, e := file.Write(piece)
		err = errors.Join(err, e)
	}
	_, e := file.WriteString("\"}}\n")
	must(t, errors.Join(err, e, file.Close()))
}

// Lines longer than the limit, and NUL bytes that a crash left, are skipped in bounded memory.
func TestTailLongLines(t *testing.T) { // not parallel: it measures the heap
	file := filepath.Join(t.TempDir(), idA+".jsonl")
	put(t, file, ask("1", ""))
	for _, test := range []struct {
		name  string
		opts  sessions.TailOptions
		limit int64
	}{
		{"default", sessions.TailOptions{}, 160 << 20},
		{"low limit", sessions.TailOptions{Read: &transcript.ReadOptions{MaxLineBytes: 8 << 20}}, 32 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			put(t, file, ask("1", ""))
			f := follow(t, file, &test.opts)
			f.want("", "ask 1")
			appendLong(t, file, 140)
			peak := peakHeap(func() { f.want("") })
			if peak > test.limit {
				t.Errorf("the heap has grown by %d MiB", peak>>20)
			}
			if bad := f.main.Invalid; len(bad) != 1 || !errors.Is(bad[0].Err, transcript.ErrLineTooLong) {
				t.Errorf("got %+v", bad)
			}
			grow(t, file, 8<<20)
			appendTo(t, file, ask("2", "1"))
			peak = peakHeap(func() {
				for len(f.main.Chunks) < 2 {
					f.next()
				}
			})
			if peak > 16<<20 {
				t.Errorf("with NUL bytes, the heap has grown by %d MiB", peak>>20)
			}
		})
	}
}
