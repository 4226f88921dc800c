package transcripts_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	real "github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A scene is a session with the agent, whose chunks are built while it runs.
type scene struct {
	*clew.Session
	live   *transcript.Builder
	result *wire.ResultMessage // the last one
}

// over returns options for Claude Code over a model.
var over = real.Options

func sceneOptions(t *testing.T, model *clewtest.Model) *clew.Options {
	t.Helper()
	return over(t, model, &clew.Options{
		PermissionMode: clew.PermissionModeBypassPermissions, ForwardSubagentText: true,
	})
}

func play(t *testing.T, opts *clew.Options) *scene {
	t.Helper()
	s, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &scene{Session: s, live: transcript.NewBuilder(nil)}
}

// say runs a turn, and passes its messages to act, which may be nil. It returns the error of the
// turn.
func (s *scene) say(t *testing.T, prompt *wire.UserMessage, act func(wire.Message)) error {
	t.Helper()
	s.tell(prompt)
	for msg, err := range s.Turn(t.Context(), prompt) {
		if err != nil {
			return err
		}
		s.hear(msg)
		if act != nil {
			act(msg)
		}
	}
	return nil
}

// prompts counts the prompts of this process.
var prompts atomic.Int64

// tell records a prompt that will be sent. Its ID is unique, so that messages about it can be
// matched. The agent compares the first digits of IDs.
func (s *scene) tell(prompt *wire.UserMessage) {
	prompt.UUID = fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(prompts.Add(1)), os.Getpid())
	s.live.AddMessage(prompt, time.Now())
}

func (s *scene) hear(msg wire.Message) {
	s.live.AddMessage(msg, time.Now())
	if r, ok := msg.(*wire.ResultMessage); ok {
		s.result = r
	}
}

// ask runs turns that have to succeed.
func (s *scene) ask(t *testing.T, prompts ...string) {
	t.Helper()
	for _, prompt := range prompts {
		if err := s.say(t, clew.Text(prompt), nil); err != nil {
			t.Fatalf("%s: %v", prompt, err)
		}
	}
}

// wait reads until the next result.
func (s *scene) wait(t *testing.T) {
	t.Helper()
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		s.hear(msg)
		if _, ok := msg.(*wire.ResultMessage); ok {
			return
		}
	}
}

// end closes the session and returns its ID.
func (s *scene) end(t *testing.T) string {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.ID()
}

// untilGo is a command that waits for letGo.
const untilGo = "until [ -e go ]; do sleep 0.02; done"

func letGo(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// projects returns the directory in which the agent keeps its sessions.
func projects(model *clewtest.Model) *sessions.Folder {
	return sessions.NewFolder(filepath.Join(model.ConfigDir(), "projects"))
}

// recorded reads a session from disk. Everything in it must be there and known.
func recorded(t *testing.T, model *clewtest.Model, id string) *transcript.Transcript {
	t.Helper()
	opts := sessions.Options{Store: projects(model)}
	s, err := sessions.Open(t.Context(), id, &opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tr, err := s.Read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Unlinked) > 0 {
		t.Errorf("subagents without a call: %+v", tr.Unlinked)
	}
	wantWhole(t, tr, s.Path())
	for id, agent := range agentsOf(tr) {
		wantWhole(t, agent.Transcript, filepath.Join(strings.TrimSuffix(s.Path(), ".jsonl"), "subagents", "agent-"+id+".jsonl"))
	}
	return tr
}

// wantWhole checks that each line of a transcript is shown once, and that everything in it is
// known.
func wantWhole(t *testing.T, tr *transcript.Transcript, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[int]int{}
	found := len(tr.Invalid) + countLines(shown, tr.Chunks)
	for _, b := range tr.Branches {
		found += countLines(shown, b.Chunks)
	}
	for _, n := range tr.Noise {
		found += n
	}
	if lines := bytes.Count(text, []byte("\n")); found != lines || len(tr.Invalid) > 0 {
		t.Errorf("%s: %d of %d lines, %d invalid", path, found, lines, len(tr.Invalid))
	}
	for line, n := range shown {
		if n != 1 {
			t.Errorf("%s: line %d is shown %d times", path, line, n)
		}
	}
	for _, f := range tr.Drift.Findings() {
		t.Errorf("%s: not known: %+v", path, f)
	}
}

// countLines counts the lines of chunks, and how often each line is shown.
func countLines(shown map[int]int, chunks []transcript.Chunk) (lines int) {
	for _, c := range chunks {
		for _, line := range c.Lines {
			shown[line]++
		}
		lines += len(c.Lines)
	}
	return lines
}

// agentsOf returns the subagents at the items of a transcript, at any depth, by ID.
func agentsOf(tr *transcript.Transcript) map[string]*transcript.Agent {
	all := map[string]*transcript.Agent{}
	for _, chunks := range allChunks(tr) {
		for _, c := range chunks {
			for _, item := range c.Items {
				for _, agent := range item.Agents {
					all[agent.ID] = agent
					maps.Copy(all, agentsOf(agent.Transcript))
				}
			}
		}
	}
	return all
}

// allChunks returns the chunks of the conversation and of its abandoned branches.
func allChunks(tr *transcript.Transcript) [][]transcript.Chunk {
	all := [][]transcript.Chunk{tr.Chunks}
	for _, b := range tr.Branches {
		all = append(all, b.Chunks)
	}
	return all
}

// notStreamed ignores what a stream does not contain, or not at the same time: when prompts were
// sent, what an answer has used and why it ended, the exact text of an API error before a retry,
// and the real name of a command.
var notStreamed = cmp.Options{
	cmpopts.IgnoreFields(transcript.Chunk{}, "Timestamp", "DurationMs", "Usage", "StopReason", "PermissionMode", "At", "Lines"),
	cmpopts.IgnoreFields(transcript.TaskReport{}, "Time"),
	cmpopts.IgnoreFields(transcript.DisplayItem{}, "Timestamp", "DurationMs", "At", "ResultAt", "Permission", "Sandboxed"),
	cmp.FilterPath(inUserChunk, cmp.Ignore()),
	cmp.Transformer("agent", func(a *transcript.Agent) []transcript.Chunk { return a.Transcript.Chunks }),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Text" }, cmp.Transformer("text", func(s string) string {
		if s == "/cost" {
			return "/usage"
		}
		return apiReason.ReplaceAllString(s, "$1 ...$2")
	})),
}

// inUserChunk reports what the agent adds to a prompt: the text of a command, the path of a
// picture.
func inUserChunk(p cmp.Path) bool {
	if p.Last().String() != ".Injected" || len(p) < 2 {
		return false
	}
	a, b := p.Index(-2).Values()
	return a.Type() == reflect.TypeFor[transcript.Chunk]() && a.Interface().(transcript.Chunk).Type == transcript.UserChunk &&
		b.Interface().(transcript.Chunk).Type == transcript.UserChunk
}

var apiReason = regexp.MustCompile(`^(API error \d+:).*( \(retry)`)
