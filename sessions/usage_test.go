package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// usageOf is a line with an answer that used a number of tokens.
func usageOf(id string, tokens int) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"%s-%d","requestId":"r-%[1]s","sessionId":"in-the-line",`+
		`"timestamp":"2026-11-15T00:00:%02[2]dZ",`+
		`"message":{"id":"%[1]s","model":"m","usage":{"output_tokens":%[2]d}}}`, id, tokens)
}

// usageRoot makes a directory of settings with files in its projects, as lines by path.
func usageRoot(t *testing.T, files map[string][]string) string {
	t.Helper()
	root := t.TempDir()
	for name, lines := range files {
		path := filepath.Join(root, "projects", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// counted lists what a scan counted: project, session, subagent, message and tokens.
func counted(r *sessions.UsageScan) []string {
	var list []string
	for _, c := range r.Tally.Calls() {
		list = append(list, strings.Join([]string{c.Project, c.SessionID, c.AgentID, c.MessageID,
			fmt.Sprint(c.Usage.OutputTokens)}, " "))
	}
	return list
}

func readUsage(t *testing.T, opts *sessions.UsageOptions) *sessions.UsageScan {
	t.Helper()
	r, err := sessions.ScanUsage(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var usageFiles = map[string][]string{
	"p/one.jsonl": {`{"type":"mode"}`, usageOf("a", 2), usageOf("a", 9), usageOf("b", 5),
		""},
	"p/one/subagents/agent-x.jsonl":             {usageOf("c", 7)},
	"p/one/subagents/workflows/w/agent-y.jsonl": {usageOf("d", 11), usageOf("b", 50)}, // repeats answers of the session
	"p/one/tool-results/z.jsonl":                {usageOf("no", 1)},
	"p/one/subagents/agent-acompact-1.jsonl":    {usageOf("no", 1)},
	"p/agent-old.jsonl":                         {usageOf("e", 13)},
	"p/one/subagents/agent-x.meta.json":         {usageOf("no", 1)},
	"p/empty.jsonl":                             nil,
	"q/fork.jsonl":                              {usageOf("a", 9), usageOf("f", 17)},
	"q/gone/subagents/agent-z.jsonl":            {usageOf("g", 19)},
	"stray.jsonl":                               {usageOf("no", 1)},
}

// An answer belongs to the session that it was given in, whatever the IDs say: a fork starts with a
// new line, and copies of older lines come after it.
func TestUsageOfForks(t *testing.T) {
	t.Parallel()
	const begun = `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-15T00:00:30Z"}`
	padding := `{"type":"progress","data":"` + strings.Repeat("x", 5<<20) + `"}` // the copies are in a separate segment
	files := map[string][]string{
		"p/b.jsonl": {usageOf("one", 1), usageOf("two", 2)},
		"p/a.jsonl": {`{"type":"mode"}`, begun, usageOf("one", 1), usageOf("two", 2), usageOf("three", 33)},
		"p/0.jsonl": {begun, padding, usageOf("one", 1), usageOf("two", 2), usageOf("four", 44)},
	}
	want := []string{"p b  one 1", "p b  two 2", "p a  three 33", "p 0  four 44"}
	if diff := cmp.Diff(want, counted(readUsage(t, &sessions.UsageOptions{Roots: []string{usageRoot(t, files)}}))); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
	store := sessions.NewMemory()
	for name, lines := range files {
		key := wire.SessionKey{Project: "p", SessionID: strings.TrimSuffix(filepath.Base(name), ".jsonl")}
		for _, line := range lines {
			if err := store.Append(t.Context(), key, []wire.JSON{wire.JSON(line)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(want, counted(readUsage(t, &sessions.UsageOptions{Store: store}))); diff != "" {
		t.Errorf("store (-want +got)\n%s", diff)
	}
}

func TestUsageCountsEachAnswerOnce(t *testing.T) {
	t.Parallel()
	roots := []string{usageRoot(t, usageFiles), filepath.Join(t.TempDir(), "absent")}
	r := readUsage(t, &sessions.UsageOptions{Roots: roots})
	want := []string{"p one  b 5", "p one x c 7", "p one  a 9", "p one y d 11", "p in-the-line old e 13", "q fork  f 17",
		"q gone z g 19"}
	if diff := cmp.Diff(want, counted(r)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if r.Files != 6 || r.BadLines != 0 || r.Unread != nil {
		t.Errorf("%d files, %d bad lines, unread %v", r.Files, r.BadLines, r.Unread)
	}
}

func TestUsageOfProjectAndTime(t *testing.T) {
	t.Parallel()
	root := usageRoot(t, usageFiles)
	second := func(n int) time.Time { return time.Date(2026, 11, 15, 0, 0, n, 0, time.UTC) }
	tests := []struct {
		name string
		opts sessions.UsageOptions
		want []string
	}{
		{"a project", sessions.UsageOptions{ProjectName: "q"}, []string{"q fork  a 9", "q fork  f 17", "q gone z g 19"}},
		{"another", sessions.UsageOptions{ProjectName: "none"}, nil},
		{"some", sessions.UsageOptions{ProjectNames: []string{"q", "none"}, ProjectName: "p"}, []string{"q fork  a 9", "q fork  f 17", "q gone z g 19"}},
		{"a span", sessions.UsageOptions{Since: second(7), Until: second(11)}, []string{"p one x c 7", "p one  a 9"}},
		{"a store", sessions.UsageOptions{
			Store: sessions.NewFolder(filepath.Join(root, "projects")), ProjectName: "q", Since: second(18),
		}, []string{"q gone z g 19"}},
	}
	for _, tt := range tests {
		if tt.opts.Store == nil {
			tt.opts.Roots = []string{root}
		}
		if diff := cmp.Diff(tt.want, counted(readUsage(t, &tt.opts))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

func TestUsageOfAStore(t *testing.T) {
	t.Parallel()
	var store sessions.Memory
	for key, line := range map[wire.SessionKey]string{
		{Project: "p", SessionID: "one"}:                                        usageOf("a", 9),
		{Project: "p", SessionID: "one", Subpath: "subagents/agent-x"}:          usageOf("b", 5),
		{Project: "p", SessionID: "one", Subpath: "subagents/agent-acompact-1"}: usageOf("no", 1),
		{Project: "q", SessionID: "two"}:                                        usageOf("a", 2),
	} {
		if err := store.Append(t.Context(), key, []wire.JSON{wire.JSON(line)}); err != nil {
			t.Fatal(err)
		}
	}
	r := readUsage(t, &sessions.UsageOptions{Store: &store})
	if diff := cmp.Diff([]string{"p one x b 5", "p one  a 9"}, counted(r)); diff != "" || r.Files != 3 {
		t.Errorf("%d files (-want +got)\n%s", r.Files, diff)
	}
}

func TestUsageReportsBadLines(t *testing.T) {
	t.Parallel()
	filler := `{"type":"user","text":"` + strings.Repeat("x", 1000) + `"}`
	var lines []string
	offset, wantOffset := 0, 0
	for i := 1; i <= 10_000; i++ { // several segments
		line := filler
		switch i {
		case 2:
			line = strings.Repeat("\x00", 5)
		case 3, 5000:
			line = usageOf("a", i%100)
		case 9000:
			line, wantOffset = "not an entry", offset
		}
		lines = append(lines, line)
		offset += len(line) + 1
	}
	lines = append(lines, usageOf("b", 1)[:40])
	root := usageRoot(t, map[string][]string{"p/large.jsonl": lines, "p/bad.jsonl": {"{", usageOf("c", 7)}})
	var done, total int64
	r := readUsage(t, &sessions.UsageOptions{Roots: []string{root}, Progress: func(d, all int64) { done, total = d, all }})
	if diff := cmp.Diff([]string{"p large  a 3", "p bad  c 7"}, counted(r)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	dir := filepath.Join(root, "projects", "p")
	want := []sessions.BadLine{
		{Path: filepath.Join(dir, "bad.jsonl"), Line: 1},
		{Path: filepath.Join(dir, "large.jsonl"), Line: 9000, Offset: int64(wantOffset)},
		{Path: filepath.Join(dir, "large.jsonl"), Line: 10001, Offset: int64(offset), Torn: true},
	}
	for i := range r.Bad {
		if r.Bad[i].Err == nil {
			t.Errorf("%+v has no error", r.Bad[i])
		}
		r.Bad[i].Err = nil
	}
	if diff := cmp.Diff(want, r.Bad); diff != "" || r.BadLines != 3 {
		t.Errorf("%d bad lines (-want +got)\n%s", r.BadLines, diff)
	}
	if done != r.Bytes || total != r.Bytes {
		t.Errorf("progress ended with %d of %d, read %d", done, total, r.Bytes)
	}
}

func TestUsageReportsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	root := usageRoot(t, map[string][]string{"p/one.jsonl": {usageOf("a", 1)}})
	outside := filepath.Join(usageRoot(t, map[string][]string{"x.jsonl": {usageOf("no", 1)}}), "projects", "x.jsonl")
	for name, target := range map[string]string{"out.jsonl": outside, "in.jsonl": "one.jsonl", "nowhere.jsonl": "none"} {
		if err := os.Symlink(target, filepath.Join(root, "projects", "p", name)); err != nil {
			t.Fatal(err)
		}
	}
	r := readUsage(t, &sessions.UsageOptions{Roots: []string{root}})
	if diff := cmp.Diff([]string{"p in  a 1"}, counted(r)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(r.Unread) != 1 || !strings.Contains(r.Unread[0].Error(), "out.jsonl") {
		t.Errorf("unread %v", r.Unread)
	}
}

func TestUsageEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	opts := &sessions.UsageOptions{Roots: []string{usageRoot(t, usageFiles)}}
	if _, err := sessions.ScanUsage(ctx, opts); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The agent's accounts are found in files and in other stores, and texts about accounts are not
// counted.
func TestUsageCostStates(t *testing.T) {
	t.Parallel()
	const id = "fe0b5e52-371c-42e2-8907-aa73e2762bd3"
	entries := []string{
		`{"type":"user","uuid":"u","message":{"role":"user","content":"what is a \"cost-state\"?"},"x":"cost-state"}`,
		`{"sessionId":"` + id + `","totalCostUSD":0.5,"startTime":1794703485539,"totalDuration":7,"type":"cost-state"}`,
		`{"type":"cost-state","sessionId":"` + id + `","totalCostUSD":0.25,"startTime":1794703485539,"totalDuration":5}`,
	}
	root := t.TempDir()
	file := filepath.Join(root, "projects", "p", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(entries, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	memory := sessions.NewMemory()
	for _, e := range entries {
		key := wire.SessionKey{Project: "p", SessionID: id}
		if err := memory.Append(t.Context(), key, []wire.JSON{wire.JSON(e)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, opts := range []*sessions.UsageOptions{{Roots: []string{root}}, {Store: memory, Since: time.Now()}} {
		var costs []usage.Money
		for _, s := range readUsage(t, opts).CostStates {
			costs = append(costs, s.TotalCost)
		}
		if diff := cmp.Diff([]usage.Money{usage.Dollar / 4, usage.Dollar / 2}, costs); diff != "" {
			t.Errorf("accounts (-want +got)\n%s", diff)
		}
	}
}

// tokensOf returns the tokens of a call as the corpus counts them.
func tokensOf(c usage.Call) corpus.Tokens {
	u := c.Usage
	return corpus.Tokens{Input: u.InputTokens, Output: u.OutputTokens, CacheWrite: u.CacheCreationTokens,
		CacheRead: u.CacheReadTokens}
}

// sums adds up calls by some key.
func sums(calls []usage.Call, key func(usage.Call) string) map[string]corpus.Tokens {
	by := map[string]corpus.Tokens{}
	for _, c := range calls {
		by[key(c)] = by[key(c)].Plus(tokensOf(c))
	}
	return by
}

func TestUsageIsExactOnAnyCorpus(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for seed := range uint64(soak.Size(4, 40)) {
		root := t.TempDir()
		create := corpus.Projects
		if seed%2 == 1 {
			create = corpus.GatewayProjects
		}
		truth, err := create(filepath.Join(root, "projects"), seed+1, size)
		if err != nil {
			t.Fatal(err)
		}
		checkTruth(t, truth, readUsage(t, &sessions.UsageOptions{Roots: []string{root}}))
		if t.Failed() {
			t.Fatalf("seed %d", seed+1)
		}
	}
}

// Scans of appended lines add up to a scan of everything, however the files have grown.
func TestUsageOfWhatWasAppended(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	whole, root := t.TempDir(), t.TempDir()
	if _, err := corpus.Projects(filepath.Join(whole, "projects"), 3, 1<<19); err != nil {
		t.Fatal(err)
	}
	var tally usage.Tally
	var last *sessions.UsageScan
	opts := &sessions.UsageOptions{Roots: []string{root}}
	for step := range 6 {
		growFiles(t, whole, root, func(size int) int {
			if step == 5 {
				return size
			}
			return rng.IntN(size + 1)
		})
		last = readUsage(t, opts)
		for c := range last.Tally.Copies() {
			tally.Add(c)
		}
		opts.Offsets = last.Offsets
	}
	want := readUsage(t, &sessions.UsageOptions{Roots: []string{whole}})
	if diff := cmp.Diff(want.Tally.Calls(), tally.Calls()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if again := readUsage(t, opts); again.Bytes != 0 || len(again.Tally.Calls()) != 0 || !maps.Equal(again.Offsets, last.Offsets) {
		t.Errorf("%d bytes were read again", again.Bytes)
	}
	opts.ModifiedSince = time.Now().Add(time.Hour)
	if none := readUsage(t, opts); none.Files != 0 || len(none.Offsets) != 0 {
		t.Errorf("%d files were modified in the future", none.Files)
	}
}

// Scans that end early add up to a scan of everything, if each continues where the one before
// ended.
func TestUsageOfScansThatEnd(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if _, err := corpus.Projects(filepath.Join(root, "projects"), 3, 1<<19); err != nil {
		t.Fatal(err)
	}
	var tally usage.Tally
	opts := &sessions.UsageOptions{Roots: []string{root}}
	scans := 0
	for err := context.Canceled; err != nil; scans++ {
		ctx, cancel := context.WithCancel(t.Context())
		opts.Progress = func(_, _ int64) { cancel() } // after the first files
		var scan *sessions.UsageScan
		scan, err = sessions.ScanUsage(ctx, opts)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) || scan == nil || scans > 1000 {
			t.Fatalf("scan %d: %v, result %v", scans, err, scan)
		}
		for c := range scan.Tally.Copies() {
			tally.Add(c)
		}
		opts.Offsets = scan.Offsets
	}
	want := readUsage(t, &sessions.UsageOptions{Roots: []string{root}})
	if diff := cmp.Diff(want.Tally.Calls(), tally.Calls()); diff != "" || scans < 3 || !maps.Equal(want.Offsets, opts.Offsets) {
		t.Errorf("after %d scans (-want +got)\n%s", scans, diff)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if scan, err := sessions.ScanUsage(ended, opts); err == nil || scan != nil {
		t.Errorf("a scan that could not list files: %v, %v", scan, err)
	}
}

// growFiles makes files of one directory longer, up to the size that they have in another.
func growFiles(t *testing.T, from, to string, size func(all int) int) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, entry fs.DirEntry, err error) error {
		path := filepath.Join(to, name)
		if err != nil || entry.IsDir() {
			return errors.Join(err, os.MkdirAll(path, 0o700))
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if n := size(len(data)); err != nil || int64(n) > info.Size() {
			return os.WriteFile(path, data[:n], 0o600)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A transcript that has become shorter is read from its start, and a torn line once it is complete.
func TestUsageOffsets(t *testing.T) {
	t.Parallel()
	whole := usageOf("a", 2) + "\n" + usageOf("b", 3)
	root := usageRoot(t, map[string][]string{"p/one.jsonl": {whole[:len(whole)-9]}})
	path := filepath.Join(root, "projects", "p", "one.jsonl")
	opts := &sessions.UsageOptions{Roots: []string{root}}
	first := readUsage(t, opts)
	if got := first.Offsets[path]; got != int64(strings.Index(whole, "\n")+1) || len(counted(first)) != 1 {
		t.Errorf("offset %d, counted %q", got, counted(first))
	}
	opts.Offsets = first.Offsets
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	second := readUsage(t, opts)
	if got := counted(second); second.Offsets[path] != int64(len(whole)) || !cmp.Equal(got, []string{"p one  b 3"}) {
		t.Errorf("offset %d, counted %q", second.Offsets[path], got)
	}
	opts.Offsets = second.Offsets
	if err := os.WriteFile(path, []byte(usageOf("c", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := counted(readUsage(t, opts)); !cmp.Equal(got, []string{"p one  c 4"}) {
		t.Errorf("counted %q", got)
	}
}

func checkTruth(t *testing.T, truth *corpus.Truth, got *sessions.UsageScan) {
	t.Helper()
	calls := got.Tally.Calls()
	bySession := map[string]corpus.Tokens{}
	for id, s := range truth.Sessions {
		if s.Tokens != (corpus.Tokens{}) {
			bySession[id] = s.Tokens
		}
	}
	for _, tt := range []struct {
		by   string
		want map[string]corpus.Tokens
		key  func(usage.Call) string
	}{
		{"all", map[string]corpus.Tokens{"": truth.Tokens}, func(usage.Call) string { return "" }},
		{"model", truth.ByModel, func(c usage.Call) string { return c.Model }},
		{"day", truth.ByDay, func(c usage.Call) string { return c.Time.Format("2006-01-02") }},
		{"session", bySession, func(c usage.Call) string { return c.SessionID }},
	} {
		if diff := cmp.Diff(tt.want, sums(calls, tt.key)); diff != "" {
			t.Errorf("tokens by %s (-want +got)\n%s", tt.by, diff)
		}
	}
	if len(calls) != truth.Answers || got.Bytes > truth.Bytes || got.BadLines != 0 || got.Unread != nil {
		t.Errorf("%d answers of %d, %d bytes of %d, %d bad lines, unread %v", len(calls), truth.Answers, got.Bytes,
			truth.Bytes, got.BadLines, got.Unread)
	}
}

// The agent writes down a limit that was reached, with the error that it shows.
func TestUsageLimits(t *testing.T) {
	t.Parallel()
	limit := func(at, quota string) string {
		return `{"type":"assistant","timestamp":"` + at + `","message":{"id":"x","model":"<synthetic>","usage":{"input_tokens":0},` +
			`"content":[{"type":"text","text":"You've hit your 5-hour limit"}]},"quotaLimits":` + quota +
			`,"error":"rate_limit","isApiErrorMessage":true}`
	}
	files := map[string][]string{
		"p/one.jsonl": {
			limit("2026-11-17T00:37:38.880Z", `{"status":"rejected","resetsAt":1794883058,"rateLimitType":"five_hour"}`), usageOf("a", 2),
			limit("2026-11-17T00:40:00Z", `{"status":"allowed","resetsAt":1794883058}`), limit("", `7`), limit("", `{"status":"rejected"}`),
			limit("", `{"status":"rejected","resetsAt":1e30}`), limit("", `{"status":"rejected","resetsAt":9000000000000000000}`),
		},
		"q/two.jsonl": {limit("2026-11-16T10:00:00Z", `{"status":"rejected","resetsAt":1794900000,"rateLimitType":"seven_day"}`)},
	}
	want := []sessions.ReachedLimit{
		{Time: time.Date(2026, 11, 16, 10, 0, 0, 0, time.UTC), Type: wire.RateLimitSevenDay, ResetsAt: time.Unix(1794900000, 0).UTC()},
		{
			Time: time.Date(2026, 11, 17, 0, 37, 38, 880e6, time.UTC), Type: wire.RateLimitFiveHour,
			ResetsAt: time.Unix(1794883058, 0).UTC(),
		},
	}
	got := readUsage(t, &sessions.UsageOptions{Roots: []string{usageRoot(t, files)}})
	if diff := cmp.Diff(want, got.Limits); diff != "" || got.BadLines > 0 {
		t.Errorf("%d bad lines (-want +got):\n%s", got.BadLines, diff)
	}
}
