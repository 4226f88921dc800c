package sessions_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// measured holds the values that two ways to read a session must agree on.
type measured struct {
	Turns int
	Cost  usage.Money
	Calls int
}

// The quick way to count agrees with the conversation that Read returns: rewinds, compactions,
// commands, queued prompts, subagents of all layouts.
func TestMeasureAgreesWithRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := corpus.Projects(dir, 7, soak.Size(2_000_000, 12_000_000)); err != nil {
		t.Fatal(err)
	}
	folder := sessions.NewFolder(dir)
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: folder})
	if err != nil || len(infos) < 10 {
		t.Fatalf("%d sessions, %v", len(infos), err)
	}
	for i, f := range sessions.Measure(t.Context(), infos, nil) {
		read, err := sessions.Read(t.Context(), infos[i].ID, &sessions.ReadOptions{Store: folder})
		if err != nil || f.Err != nil {
			t.Fatal(err, f.Err)
		}
		want := measured{Calls: len(read.Calls()), Cost: usage.Cost(read.Calls(), usage.DefaultPrices()).Total}
		for k := range read.Chunks {
			if read.Chunks[k].Type == transcript.UserChunk {
				want.Turns++
			}
		}
		got := measured{f.Turns, usage.Cost(f.Calls, usage.DefaultPrices()).Total, len(f.Calls)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", infos[i].Path, diff)
		}
		if changed := len(transcript.Diffs(read.Chunks)); f.FilesChanged < changed {
			t.Errorf("%s: %d files changed, want at least %d", infos[i].Path, f.FilesChanged, changed)
		}
	}
}

const measuredID = "0b7d2c7e-5a63-4d0c-9a3c-6a1b2d9e8f10"

// measuredSession writes a session with two prompts, a changed file and subagents in both layouts.
func measuredSession(t *testing.T) (project string, info sessions.SessionInfo) {
	t.Helper()
	dir := t.TempDir()
	project = filepath.Join(dir, "-home-me-code")
	answer := func(id string, tokens string) string {
		return `{"type":"assistant","timestamp":"2026-11-15T10:00:02Z","sessionId":"` + measuredID + `","message":{"id":"` + id +
			`","model":"claude-opus-5-5","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":` + tokens + `}}}`
	}
	files := map[string][]string{
		measuredID + ".jsonl": {
			`{"type":"user","uuid":"u1","timestamp":"2026-11-15T10:00:00Z","message":{"role":"user","content":"One"}}`,
			answer("m1", "10"), answer("m1", "10"),
			`{"type":"user","uuid":"u2","toolUseResult":{"filePath":"/a.go","structuredPatch":[]},` +
				`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}`,
			`not an entry`,
			`{"type":"user","uuid":"u3","message":{"role":"user","content":"Two"}}`,
		},
		measuredID + "/subagents/agent-a1.jsonl":         {answer("m2", "20")},
		measuredID + "/subagents/agent-acompact-1.jsonl": {answer("m3", "40")},
		"agent-a2.jsonl": {answer("m4", "80")},
		"agent-a3.jsonl": {strings.ReplaceAll(answer("m5", "160"), measuredID, "another")},
	}
	for name, lines := range files {
		path := filepath.Join(project, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	info, err := sessions.Get(t.Context(), measuredID, &sessions.Options{Store: sessions.NewFolder(dir)})
	if err != nil {
		t.Fatal(err)
	}
	return project, info
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	_, info := measuredSession(t)
	f := sessions.Measure(t.Context(), []sessions.SessionInfo{info}, nil)[0]
	output := 0
	for _, c := range f.Calls {
		output += c.Usage.OutputTokens
	}
	if f.Err != nil || f.Turns != 2 || output != 10+20+80 || f.FilesChanged != 1 {
		t.Errorf("%d turns, %d tokens, %d files, %v", f.Turns, output, f.FilesChanged, f.Err)
	}
}

// The sizes of all transcripts tell whether figures are up to date.
func TestTranscriptSizes(t *testing.T) {
	t.Parallel()
	project, info := measuredSession(t)
	infos := []sessions.SessionInfo{{ID: measuredID}, info}
	measured := sessions.Measure(t.Context(), infos[1:], nil)[0].Bytes
	if diff := cmp.Diff([]int64{0, measured}, sessions.TranscriptSizes(t.Context(), infos)); diff != "" || measured <= info.Size {
		t.Errorf("%d bytes in the first transcript (-measured +sizes):\n%s", info.Size, diff)
	}
	for i, name := range []string{measuredID + "/subagents/agent-a1.jsonl", "agent-a2.jsonl"} {
		file, err := os.OpenFile(filepath.Join(project, filepath.FromSlash(name)), os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString("{}\n")
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		want := []int64{0, measured + int64(i+1)*int64(len("{}\n"))}
		if diff := cmp.Diff(want, sessions.TranscriptSizes(t.Context(), infos)); diff != "" {
			t.Errorf("after %s grew (-want +got):\n%s", name, diff)
		}
	}
}

func TestMeasureLimits(t *testing.T) {
	t.Parallel()
	project, info := measuredSession(t)
	limited := func(most int64) error {
		return sessions.Measure(t.Context(), []sessions.SessionInfo{info}, &sessions.MeasureOptions{MaxBytes: most})[0].Err
	}
	if err := limited(info.Size); !errors.Is(err, sessions.ErrNotMeasured) {
		t.Errorf("subagents do not count for the limit: %v", err)
	}
	if err := limited(1 << 20); err != nil {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if f := sessions.Measure(ended, []sessions.SessionInfo{info}, nil)[0]; !errors.Is(f.Err, context.Canceled) {
		t.Errorf("an ended context: %v", f.Err)
	}
	if err := os.RemoveAll(project); err != nil {
		t.Fatal(err)
	}
	if err := limited(0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a session that is gone: %v", err)
	}
	info.Path = ""
	if err := limited(0); err == nil {
		t.Error("a session of another store has figures")
	}
}
