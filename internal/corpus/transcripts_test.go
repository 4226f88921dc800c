package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// madeProjects makes projects and returns their directory.
func madeProjects(t *testing.T, seed uint64, size int) (string, *Truth) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "projects")
	truth, err := Projects(dir, seed, size)
	if err != nil {
		t.Fatal(err)
	}
	return dir, truth
}

// digest hashes all files below a directory.
func digest(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		_, _ = fmt.Fprintln(sum, filepath.ToSlash(rel), len(text))
		sum.Write(bytes.ReplaceAll(text, []byte(dir), nil)) // spilled results are named by their path
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func TestProjectsDependOnSeedOnly(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	first, truth := madeProjects(t, 1, size)
	again, same := madeProjects(t, 1, size)
	other, _ := madeProjects(t, 2, size)
	if digest(t, first) != digest(t, again) || !cmp.Equal(truth, same) {
		t.Error("the same seed gives other projects")
	}
	if digest(t, first) == digest(t, other) {
		t.Error("seeds 1 and 2 give the same projects")
	}
}

// A madeEntry is a line of a transcript, as far as the tests look at it.
type madeEntry struct {
	Type, Subtype, UUID, ParentUUID, LogicalParentUUID string
	IsSidechain, IsMeta, IsCompactSummary              bool
	SessionID                                          string
	Message                                            struct{ Content json.RawMessage }
	Attachment                                         struct{ Type string }
}

func madeEntries(t *testing.T, path string) []madeEntry {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var entries []madeEntry
	for line := range bytes.Lines(text) {
		var e madeEntry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %.200s", err, line)
		}
		entries = append(entries, e)
	}
	return entries
}

// transcriptsOf returns the paths of all transcripts below a directory.
func transcriptsOf(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".jsonl") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestProjectsAreAsTheTruthSays(t *testing.T) {
	t.Parallel()
	dir, truth := madeProjects(t, 3, 2<<20)
	lines, agents, size := 0, 0, int64(0)
	kinds := map[string]int{}
	for _, path := range transcriptsOf(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		if strings.HasPrefix(filepath.Base(path), "agent-") {
			agents++
		}
		for _, e := range madeEntries(t, path) {
			lines++
			kind := e.Type
			if e.Subtype != "" {
				kind += "/" + e.Subtype
			}
			kinds[kind]++
		}
	}
	if lines != truth.Lines || size != truth.Bytes || agents != truth.Agents {
		t.Errorf("%d lines, %d bytes, %d subagents, true are %d, %d, %d", lines, size, agents, truth.Lines, truth.Bytes,
			truth.Agents)
	}
	if diff := cmp.Diff(truth.ByKind, kinds); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if truth.Naive <= truth.Tokens.Total() {
		t.Errorf("%d tokens over all lines, %d in truth", truth.Naive, truth.Tokens.Total())
	}
}

// TestConversationsAreAsTheTruthSays follows each session from its end to its beginning.
func TestConversationsAreAsTheTruthSays(t *testing.T) {
	t.Parallel()
	dir, truth := madeProjects(t, 4, 5<<20)
	all := SessionTruth{}
	for id, want := range truth.Sessions {
		byUUID := map[string]madeEntry{}
		var last madeEntry
		for _, e := range madeEntries(t, filepath.Join(dir, want.Path)) {
			if e.UUID == "" {
				continue
			}
			if e.SessionID != id {
				t.Fatalf("session %s has an entry of %s", id, e.SessionID)
			}
			byUUID[e.UUID], last = e, e
		}
		var got SessionTruth
		for e, ok := last, true; ok; e, ok = byUUID[e.ParentUUID+e.LogicalParentUUID] {
			got.see(e)
		}
		got.Path, got.Bytes, got.Tokens, got.Rewinds = want.Path, want.Bytes, want.Tokens, want.Rewinds
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("session %s (-want +got)\n%s", id, diff)
		}
		all.Queued += want.Queued
		all.Rewinds += want.Rewinds
		all.Compactions += want.Compactions
	}
	if all.Queued == 0 || all.Rewinds == 0 || all.Compactions == 0 {
		t.Errorf("something is never there: %+v", all)
	}
}

// see counts an entry of the conversation.
func (s *SessionTruth) see(e madeEntry) {
	content := string(e.Message.Content)
	switch {
	case e.Type == "user" && !e.IsMeta && !e.IsCompactSummary && !strings.Contains(content, `"tool_result"`):
		s.Prompts++
	case e.Attachment.Type == "queued_command":
		s.Queued++
	case e.Subtype == "compact_boundary":
		s.Compactions++
	}
}

func TestProjectsHaveEveryKind(t *testing.T) {
	t.Parallel()
	dir, truth := madeProjects(t, 1, 8<<20)
	for _, kind := range strings.Fields(`user assistant attachment progress queue-operation last-prompt ai-title mode permission-mode
		file-history-snapshot atis-latch tools-used cost-state api-request api-request-shape api-request-blob
		system/turn_duration system/local_command system/api_error system/compact_boundary`) {
		if truth.ByKind[kind] == 0 {
			t.Errorf("no line of kind %s", kind)
		}
	}
	var all strings.Builder
	for _, path := range transcriptsOf(t, dir) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(path)
		all.Write(text)
	}
	for _, want := range []string{"/subagents/agent-acompact-", "/subagents/agent-aside_question-", `"forkedFrom":{`,
		`"sessionKind":"bg"`,
		`"<synthetic>"`, `"agent_progress"`, "<persisted-output>", `"speed":"fast"`, `"prompt_snapshot"`, `"rendered":[`} {
		if !strings.Contains(filepath.ToSlash(all.String()), want) {
			t.Errorf("no %s", want)
		}
	}
	if truth.Spills == 0 {
		t.Error("no spilled result")
	}
	checkSidecars(t, dir)
}

// checkSidecars fails unless there are subagents of subagents.
func checkSidecars(t *testing.T, dir string) {
	t.Helper()
	deepest := 0
	for _, path := range transcriptsOf(t, dir) {
		text, err := os.ReadFile(strings.TrimSuffix(path, ".jsonl") + ".meta.json")
		if err != nil {
			continue
		}
		var meta struct {
			ToolUseID, ParentAgentID string
			SpawnDepth               int
		}
		if err := json.Unmarshal(text, &meta); err != nil {
			t.Fatal(err)
		}
		if meta.ToolUseID == "" || (meta.ParentAgentID != "") != (meta.SpawnDepth > 1) {
			t.Errorf("%s: %+v", path, meta)
		}
		deepest = max(deepest, meta.SpawnDepth)
	}
	if deepest != 2 {
		t.Errorf("subagents are %d deep", deepest)
	}
}

func TestHugeProject(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	dir := t.TempDir()
	truth, err := HugeProject(dir, 1, size)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, truth.Largest))
	if err != nil {
		t.Fatal(err)
	}
	if len(file) < size || len(file) > size+8<<20 || bytes.Count(file, []byte("\n")) != truth.Lines {
		t.Errorf("%d bytes, %d lines, true are %d lines", len(file), bytes.Count(file, []byte("\n")), truth.Lines)
	}
	uuids, nuls := map[string]bool{}, 0
	for line := range bytes.Lines(file) {
		var e madeEntry
		nuls += bytes.Count(line, []byte{0})
		if err := json.Unmarshal(bytes.TrimLeft(line, "\x00"), &e); err != nil {
			t.Fatalf("%v in %.200q", err, line)
		}
		if e.ParentUUID != "" && !uuids[e.ParentUUID] {
			t.Fatalf("no parent %s", e.ParentUUID)
		}
		uuids[e.UUID] = true
	}
	if nuls == 0 {
		t.Error("no NUL bytes")
	}
}

func TestProjectsReportWriteError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Projects(file, 1, 1<<20); err == nil {
		t.Error("no error")
	}
}
