package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

func TestRename(t *testing.T) {
	t.Parallel()
	s := sessions.NewMemory()
	mustAppend(t, s, keyA, user("1", ""))
	opts := &sessions.Options{Store: s}
	for _, title := range []string{"", " \t\n"} {
		if err := sessions.Rename(t.Context(), idA, title, opts); err == nil {
			t.Errorf("%q is a title", title)
		}
	}
	if err := sessions.Rename(t.Context(), idA, "  <My> \"title\"\n", opts); err != nil {
		t.Fatal(err)
	}
	checkLoad(t, s, keyA, user("1", ""),
		`{"type":"custom-title","customTitle":"<My> \"title\"","sessionId":"`+idA+`"}`)
}

func TestTag(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"work":                     "work",
		"  two words ":             "two words",
		"":                         "",
		"a\u200bb\u202ec\ufeff":    "abc",
		"\ue000private\U000e0041":  "private",
		"\u0378undefined":          "undefined",
		"red\x1b[31m\x07":          "red[31m",
		"line\nbreak":              "line break",
		"grüße 😀":                  "grüße 😀",
		"\u200b \u200b visible \r": "visible",
	}
	for tag, want := range tests {
		s := sessions.NewMemory()
		mustAppend(t, s, keyA, user("1", ""))
		if err := sessions.Tag(t.Context(), idA, tag, &sessions.Options{Store: s}); err != nil {
			t.Fatalf("%q: %v", tag, err)
		}
		info, err := sessions.Get(t.Context(), idA, &sessions.Options{Store: s})
		if err != nil || info.Tag != want {
			t.Errorf("%q: got %q, %v, want %q", tag, info.Tag, err, want)
		}
		last := mustLoad(t, s, keyA)[1]
		if want := wire.JSON(`{"type":"tag","tag":"` + want + `","sessionId":"` + idA + `"}`); last != want {
			t.Errorf("got %s, want %s", last, want)
		}
	}
	s := sessions.NewMemory()
	mustAppend(t, s, keyA, user("1", ""))
	if err := sessions.Tag(t.Context(), idA, "\u200b", &sessions.Options{Store: s}); err == nil {
		t.Error("a tag that can't be seen was accepted")
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sessions.Store{"memory": sessions.NewMemory(), "folder": sessions.NewFolder(t.TempDir())} {
		mustAppend(t, s, keyA, user("1", ""))
		mustAppend(t, s, keyAgent, user("1", ""))
		opts := &sessions.Options{Store: s}
		if err := sessions.Delete(t.Context(), idA, opts); err != nil {
			t.Fatal(err)
		}
		checkLoad(t, s, keyA)
		checkLoad(t, s, keyAgent)
		if err := sessions.Delete(t.Context(), idA, opts); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%s: got %v, want ErrNotFound", name, err)
		}
	}
}

// A forked entry has the members that the tests check.
type forked struct {
	Type, UUID, ParentUUID, LogicalParentUUID, SessionID, Timestamp string
	TeamName, Slug, CustomTitle                                     string
	SourceToolAssistantUUID                                         string
	IsSidechain                                                     bool
	ForkedFrom                                                      struct{ SessionID, MessageUUID string }
	Replacements                                                    []string
}

// mustFork forks the session of keyA, and returns the entries of the fork.
func mustFork(t *testing.T, s sessions.Store, opts sessions.ForkOptions) (string, []forked) {
	t.Helper()
	opts.Store = s
	fork, err := sessions.Fork(t.Context(), idA, &opts)
	if err != nil {
		t.Fatal(err)
	}
	var entries []forked
	for _, entry := range mustLoad(t, s, wire.SessionKey{Project: keyA.Project, SessionID: fork}) {
		var f forked
		if err := entry.Decode(&f); err != nil {
			t.Fatal(err)
		}
		if f.SessionID != fork {
			t.Errorf("an entry has session %q, want %q", f.SessionID, fork)
		}
		entries = append(entries, f)
	}
	return fork, entries
}

// chainOf returns the entries of a fork, by their old UUIDs, each with its parent.
func chainOf(entries []forked) string {
	old := map[string]string{}
	var shown []string
	for _, e := range entries {
		if e.UUID == "" {
			continue
		}
		old[e.UUID] = e.ForkedFrom.MessageUUID
		shown = append(shown, e.ForkedFrom.MessageUUID+"<"+old[e.ParentUUID])
	}
	return strings.Join(shown, " ")
}

func TestForkLinks(t *testing.T) {
	t.Parallel()
	conversation := []wire.JSON{
		user("1", ""), entry("progress", "p", "1", ""), entry("progress", "q", "p", ""), assistant("2", "q"),
		entry("user", "x", "2", `,"isSidechain":true`), user("3", "2"), assistant("4", "3"),
	}
	calls := []wire.JSON{
		user("1", ""), call("a", "1", "m", "t1"), call("b", "a", "m", "t2"), result("ra", "a", "t1"), result("rb", "b", "t2"),
		assistant("2", "rb"),
	}
	both := []wire.JSON{
		user("1", ""),
		entry("assistant", "ab", "1", `,"message":{"content":[{"type":"tool_use","id":"a"},{"type":"tool_use","id":"b"}]}`),
		result("ra", "ab", "a"), result("rb", "ra", "b"),
	}
	running := append(slices.Clone(conversation), call("c", "4", "m", "t"))
	tests := map[string]struct {
		entries []wire.JSON
		upTo    string
		want    string
	}{
		"all":                      {conversation, "", "1< 2<1 3<2 4<3"},
		"up to a message":          {conversation, "3", "1< 2<1 3<2"},
		"up to the first":          {conversation, "1", "1<"},
		"calls":                    {calls, "", "1< a<1 b<a ra<a rb<b 2<rb"},
		"a cut before any result":  {calls, "a", "1<"},
		"a cut between two":        {calls, "ra", "1< a<1 ra<a"},
		"a cut behind the results": {calls, "rb", "1< a<1 b<a ra<a rb<b"},
		"a cut between two of one": {both, "ra", "1<"},
		"a call that still runs":   {running, "", "1< 2<1 3<2 4<3"},
		"a parent that is missing": {[]wire.JSON{user("1", "gone")}, "", "1<"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sessions.NewMemory()
			mustAppend(t, s, keyA, tt.entries...)
			_, entries := mustFork(t, s, sessions.ForkOptions{UpTo: tt.upTo})
			if got := chainOf(entries); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestForkEntries(t *testing.T) {
	t.Parallel()
	s := sessions.NewMemory()
	const old = "2026-01-01T00:00:00Z"
	mustAppend(t, s, keyA,
		entry("user", "1", "", `,"timestamp":"`+old+`","teamName":"t","slug":"s","big":12345678901234567890`),
		entry("system", "2", "", `,"logicalParentUuid":"1","timestamp":"`+old+`"`),
		entry("user", "3", "2", `,"timestamp":"`+old+`","sourceToolAssistantUUID":"1"`),
		`{"type":"content-replacement","sessionId":"`+idA+`","replacements":["a"]}`,
		`{"type":"content-replacement","sessionId":"`+idA+`","replacements":["b","c"]}`,
		`{"type":"content-replacement","sessionId":"other","replacements":["d"]}`,
		`{"type":"tag","tag":"x"}`,
	)
	mustAppend(t, s, keyAgent, user("9", ""))
	fork, got := mustFork(t, s, sessions.ForkOptions{})
	if len(got) != 5 {
		t.Fatalf("got %d entries: %+v", len(got), got)
	}
	ids := map[string]bool{"1": true, "2": true, "3": true}
	for _, e := range got[:3] {
		if ids[e.UUID] || e.ForkedFrom.SessionID != idA || e.TeamName+e.Slug+e.SourceToolAssistantUUID != "" {
			t.Errorf("got %+v", e)
		}
		ids[e.UUID] = true
	}
	if got[1].LogicalParentUUID != got[0].UUID {
		t.Errorf("the logical parent is %q, want %q", got[1].LogicalParentUUID, got[0].UUID)
	}
	if got[0].Timestamp != old || got[1].Timestamp != old || got[2].Timestamp <= old {
		t.Errorf("got times %q, %q, %q", got[0].Timestamp, got[1].Timestamp, got[2].Timestamp)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got[3].Replacements); diff != "" {
		t.Errorf("replacements (-want +got):\n%s", diff)
	}
	if want := "1 (fork)"; got[4].CustomTitle != want {
		t.Errorf("got title %q, want %q", got[4].CustomTitle, want)
	}
	raw := mustLoad(t, s, wire.SessionKey{Project: "p", SessionID: fork})[0]
	if !strings.Contains(string(raw), `"big":12345678901234567890`) {
		t.Errorf("got %s", raw)
	}
	agents, err := sessions.Subagents(t.Context(), fork, &sessions.Options{Store: s})
	if err != nil || len(agents) != 0 {
		t.Errorf("the fork has subagents %v, %v", agents, err)
	}
}

func TestForkTitle(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entries []wire.JSON
		title   string
		want    string
	}{
		"given":      {[]wire.JSON{prompt(`"x"`)}, "Given", "Given"},
		"custom":     {[]wire.JSON{`{"type":"custom-title","customTitle":"Mine"}`}, "", "Mine (fork)"},
		"the agents": {[]wire.JSON{`{"type":"ai-title","aiTitle":"Its"}`}, "", "Its (fork)"},
		"none":       {nil, "", "Forked session (fork)"},
	}
	for name, tt := range tests {
		s := sessions.NewMemory()
		mustAppend(t, s, keyA, append(tt.entries, assistant("1", ""))...)
		_, entries := mustFork(t, s, sessions.ForkOptions{Title: tt.title})
		if got := entries[len(entries)-1].CustomTitle; got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestForkRefused(t *testing.T) {
	t.Parallel()
	s := sessions.NewMemory()
	mustAppend(t, s, keyA, user("1", ""), entry("user", "x", "1", `,"isSidechain":true`))
	for _, upTo := range []string{"none", "x"} {
		_, err := sessions.Fork(t.Context(), idA, &sessions.ForkOptions{Store: s, UpTo: upTo})
		if !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("up to %q: got %v, want ErrNotFound", upTo, err)
		}
	}
	mustAppend(t, s, wire.SessionKey{Project: "p", SessionID: idB}, entry("system", "1", "", ""))
	if _, err := sessions.Fork(t.Context(), idB, &sessions.ForkOptions{Store: s}); err == nil {
		t.Error("a session without messages was forked")
	}
	if found, _ := s.Sessions(t.Context(), "p"); len(found) != 2 {
		t.Errorf("there are %d sessions, want 2", len(found))
	}
}

func TestForkRecorded(t *testing.T) {
	t.Parallel()
	s := sessions.NewFolder(t.TempDir())
	from := recorded()
	if err := sessions.Import(t.Context(), s, recordedAgent, &sessions.ImportOptions{Store: from.Store}); err != nil {
		t.Fatal(err)
	}
	fork, err := sessions.Fork(t.Context(), recordedAgent, &sessions.ForkOptions{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	want := lines(t, sessions.Messages(t.Context(), recordedAgent, from))
	if diff := cmp.Diff(want, lines(t, sessions.Messages(t.Context(), fork, &sessions.Options{Store: s}))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// The messages that a compaction has kept are also found in a fork, where they have other UUIDs.
func TestForkKeepsWhatACompactionKept(t *testing.T) {
	t.Parallel()
	s := sessions.NewMemory()
	mustAppend(t, s, keyA,
		user("1", ""), assistant("2", "1"), user("3", "2"), assistant("4", "3"),
		entry("system", "c", "", `,"compactMetadata":{"preTokens":12345678901234567,`+
			`"preservedMessages":{"anchorUuid":"s","uuids":["3","4"]}}`),
		entry("user", "s", "c", `,"isCompactSummary":true`), user("5", "4"),
		entry("assistant", "6", "5", `,"supersedesUuids":["4"]`),
	)
	id, err := sessions.Fork(t.Context(), idA, &sessions.ForkOptions{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for msg, err := range sessions.Messages(t.Context(), id, &sessions.Options{Store: s}) {
		if err != nil {
			t.Fatal(err)
		}
		var f forked
		if err := wire.JSON(msg.Raw()).Decode(&f); err != nil {
			t.Fatal(err)
		}
		got = append(got, f.ForkedFrom.MessageUUID)
	}
	if diff := cmp.Diff([]string{"s", "3", "5", "6"}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	fork := wire.SessionKey{Project: keyA.Project, SessionID: id}
	if all := fmt.Sprint(mustLoad(t, s, fork)); !strings.Contains(all, `"preTokens":12345678901234567`) {
		t.Error("a number is not as it was")
	}
}

// unansweredChain returns n answers, each with the result of the call before it and another call.
// The last call has no result, so the first answer depends on the last.
func unansweredChain(n int) []wire.JSON {
	entries := []wire.JSON{user("first", "")}
	for i := range n {
		entries = append(entries, entry("assistant", fmt.Sprint("a", i), "first", fmt.Sprintf(
			`,"message":{"content":[{"type":"tool_result","tool_use_id":"t%d"},{"type":"tool_use","id":"t%d"}]}`, i, i+1)))
	}
	return append(entries, entry("assistant", "c", "first", `,"message":{"content":[{"type":"tool_use","id":"t0"}]}`))
}

// Forking a session with n calls that all lack a result takes memory in proportion to n.
func TestForkGrowth(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	var perCall []uint64
	for n := 250; n <= soak.Size(1000, 32000); n *= 2 {
		s := sessions.NewMemory()
		mustAppend(t, s, keyA, unansweredChain(n)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := sessions.Fork(t.Context(), idA, &sessions.ForkOptions{Store: s}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		perCall = append(perCall, (after.TotalAlloc-before.TotalAlloc)/uint64(n))
	}
	soak.Figure(t, "bytes for each call, as calls double: %d", perCall)
	if first, last := perCall[0], perCall[len(perCall)-1]; last > 2*first {
		t.Errorf("bytes for each call: %d", perCall)
	}
}

// endingStore ends a context when a session was loaded, and appends without looking at it.
type endingStore struct {
	sessions.Store
	end func()
}

func (s *endingStore) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		defer s.end()
		s.Store.Load(ctx, key)(yield)
	}
}

func (s *endingStore) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	return s.Store.Append(context.WithoutCancel(ctx), key, entries)
}

func TestForkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	memory := sessions.NewMemory()
	mustAppend(t, memory, keyA, unansweredChain(10)...)
	ctx, cancel := context.WithCancel(t.Context())
	s := &endingStore{Store: memory, end: cancel}
	if _, err := sessions.Fork(ctx, idA, &sessions.ForkOptions{Store: s, ProjectName: "p"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if found, _ := memory.Sessions(t.Context(), "p"); len(found) != 1 {
		t.Errorf("there are %d sessions, want 1", len(found))
	}
}
