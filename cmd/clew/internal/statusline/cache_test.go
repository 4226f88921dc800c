package statusline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A fixture is a directory of the agent with transcripts, and a cache for it.
type fixture struct {
	t     *testing.T
	root  string
	cache *Cache
	now   time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, root: t.TempDir(), now: time.Now().UTC().Truncate(time.Second)}
	// Files have the system's time. In the first minutes of a day, "an hour ago" is on another day,
	// so the tests run at noon, in a special zone. Like all zones, it has whole minutes: JSON has
	// no seconds for it.
	shift := (12*time.Hour - f.now.Sub(dayOf(f.now))).Truncate(time.Minute)
	f.now = f.now.In(time.FixedZone("noon", int(shift.Seconds())))
	f.cache = NewCache(filepath.Join(t.TempDir(), "cache"), []string{f.root})
	return f
}

// answer returns a line of a transcript: an answer that costs a number of dollars.
func (f *fixture) answer(id string, ago time.Duration, dollars float64) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"u-%s","requestId":"r-%[1]s","sessionId":"s","timestamp":%q,"costUSD":%g,`+
		`"message":{"id":"%[1]s","model":"claude-opus-5-5","usage":{"output_tokens":1}}}`+"\n",
		id, f.now.Add(-ago).UTC().Format(time.RFC3339), dollars)
}

// add appends lines to a transcript.
func (f *fixture) add(name string, lines ...string) {
	f.t.Helper()
	path := filepath.Join(f.root, "projects", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(strings.Join(lines, "")); err != nil {
		f.t.Fatal(err)
	}
}

// refreshed computes the facts, and returns them in a form that is easy to compare.
func (f *fixture) refreshed() string {
	f.t.Helper()
	if _, err := f.cache.Claim(f.now); err != nil {
		f.t.Fatal(err)
	}
	if err := f.cache.Refresh(f.t.Context(), usage.DefaultPrices(), f.now); err != nil {
		f.t.Fatal(err)
	}
	return factsText(f.cache.Facts())
}

func factsText(facts *Facts) string {
	if facts == nil {
		return "none"
	}
	text := fmt.Sprintf("today $%g", facts.Today.Cost.Dollars())
	for _, name := range []string{"p", "q"} {
		if a, ok := facts.Projects[name]; ok {
			text += fmt.Sprintf(" %s $%g", name, a.Cost.Dollars())
		}
	}
	if facts.Block != nil {
		text += fmt.Sprintf(" block $%g", facts.Block.Cost.Dollars())
	}
	return text
}

func (f *fixture) want(want string) {
	f.t.Helper()
	if got := f.refreshed(); got != want {
		f.t.Errorf("%s, want %s", got, want)
	}
}

// Answers appended to transcripts are added to the facts. Each answer counts once, whatever its
// file and its time of arrival.
func TestRefresh(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want("today $0")
	f.add("p/one.jsonl", f.answer("old", 30*time.Hour, 100), f.answer("a", 11*time.Hour, 1), f.answer("b", time.Hour, 2))
	f.want("today $3 p $3 block $2")
	f.want("today $3 p $3 block $2")
	f.add("p/one.jsonl", f.answer("b", time.Hour, 2), f.answer("c", time.Minute, 4))
	f.want("today $7 p $7 block $6")
	f.add("q/fork.jsonl", f.answer("old", 30*time.Hour, 100), f.answer("c", time.Minute, 4), f.answer("d", time.Minute, 8))
	f.want("today $15 p $7 q $8 block $14")
	f.add("p/one/subagents/agent-x.jsonl", f.answer("e", 0, 16))
	f.want("today $31 p $23 q $8 block $30")
	f.now = f.now.Add(24 * time.Hour)
	f.want("today $0")
}

// The facts equal a full scan, whenever refreshes come: for three days, with and without pauses.
func TestRefreshIsExact(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	end := f.now
	var lines []string
	for i := range 80 {
		f.now = end.Add(-time.Duration(80-i)*53*time.Minute + time.Duration(i/30)*7*time.Hour)
		lines = append(lines, f.answer(fmt.Sprint(i), 0, float64(i)))
		f.add(fmt.Sprintf("%c/s%d.jsonl", 'p'+rune(i%2), i%5), lines[i], lines[i/2]) // with a copy
		if i%3 == 1 {
			continue
		}
		f.now = f.now.Add(time.Duration(i%4) * 23 * time.Minute)
		got := f.refreshed()
		scan, err := sessions.ScanUsage(t.Context(), &sessions.UsageOptions{Roots: []string{f.root}})
		if err != nil {
			t.Fatal(err)
		}
		want := factsText(newFacts(scan.Tally.Calls(), usage.DefaultPrices(), f.now))
		if got != want {
			t.Errorf("after %d answers, at %v: %s, want %s", i+1, f.now, got, want)
		}
	}
}

// A shortContext ends after a number of checks.
type shortContext struct {
	context.Context
	left atomic.Int64
}

func (c *shortContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Refreshes that end too early get further each time, and partial results are not shown.
func TestRefreshGoesOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 300 {
		f.add(fmt.Sprintf("p/s%d.jsonl", i%10), f.answer(fmt.Sprint(i), time.Duration(i)*time.Minute, 1))
		f.add(fmt.Sprintf("q/s%d.jsonl", i%7), f.answer(fmt.Sprint(i), time.Duration(i)*time.Minute, 1)) // a copy
	}
	refreshes := 0
	for err := context.DeadlineExceeded; err != nil; refreshes++ {
		if refreshes == 100 {
			t.Fatal("no end after 100 refreshes")
		}
		if facts := factsText(f.cache.Facts()); facts != "none" {
			t.Fatalf("after %d refreshes: %s", refreshes, facts)
		}
		ctx := &shortContext{Context: t.Context()}
		ctx.left.Store(100)
		f.now = f.now.Add(time.Second)
		if err = f.cache.Refresh(ctx, usage.DefaultPrices(), f.now); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	scan, err := sessions.ScanUsage(t.Context(), &sessions.UsageOptions{Roots: []string{f.root}})
	if err != nil {
		t.Fatal(err)
	}
	calls := scan.Tally.Calls()
	want := newFacts(calls, usage.DefaultPrices(), f.now)
	got := f.cache.Facts()
	if got.Today != want.Today || got.Block.Cost != want.Block.Cost || refreshes < 3 || len(calls) != 300 {
		t.Errorf("after %d refreshes: %s, want %s of %d calls", refreshes, factsText(got), factsText(want), len(calls))
	}
}

// Parts that were read before are not read again.
func TestRefreshReadsWhatWasAppended(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	line := f.answer("a", time.Hour, 1)
	f.add("p/one.jsonl", line)
	f.want("today $1 p $1 block $1")
	path := filepath.Join(f.root, "projects", "p", "one.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat(" ", len(line)-1)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.add("p/one.jsonl", f.answer("b", time.Hour, 2)[:40])
	f.want("today $1 p $1 block $1")
	f.add("p/one.jsonl", f.answer("b", time.Hour, 2)[40:])
	f.want("today $3 p $3 block $3")
}

// Files that are damaged, of another version, or not files at all are made again.
func TestCacheDamage(t *testing.T) {
	t.Parallel()
	const want = "today $1 p $1 block $1"
	for _, damage := range []string{"", "{", "null", "[]", `{"version":99}`, "\x00\x00", `{"version":1,"calls":7}`} {
		f := newFixture(t)
		f.add("p/one.jsonl", f.answer("a", time.Hour, 1))
		f.want(want)
		for _, path := range []string{f.cache.factsPath(), f.cache.statePath(), f.cache.lockPath()} {
			if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if facts := f.cache.Facts(); facts != nil && damage != `{"version":1,"calls":7}` {
			t.Errorf("%q has facts %+v", damage, facts)
		}
		if start, err := f.cache.Claim(f.now); err != nil || !start {
			t.Errorf("%q: claimed %t, %v", damage, start, err)
		}
		f.want(want)
	}
}

func TestCacheRemovesWhatWasLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want("today $0")
	left := filepath.Join(filepath.Dir(f.cache.path), ".new-"+filepath.Base(f.cache.factsPath())+"-123")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.want("today $0")
	if _, err := os.Stat(left); err == nil {
		t.Error("the file is still there")
	}
}

// A directory that can't be written has no facts, and nothing is started.
func TestCacheCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := NewCache(filepath.Join(file, "cache"), nil)
	if facts := c.Facts(); facts != nil {
		t.Error(facts)
	}
	if start, err := c.Claim(time.Now()); err == nil || start {
		t.Error(start, err)
	}
	if err := c.Refresh(t.Context(), usage.DefaultPrices(), time.Now()); err == nil {
		t.Error("it was refreshed")
	}
}

// If the clock was set back, the facts are computed again at once, for the time that it is now.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add("p/one.jsonl", f.answer("a", 26*time.Hour, 1), f.answer("b", time.Hour, 2))
	f.want("today $2 p $2 block $2")
	f.now = f.now.Add(-25 * time.Hour)
	if !f.cache.Facts().Stale(f.now) {
		t.Error("facts of the future are not stale")
	}
	if start, err := f.cache.Claim(f.now); err != nil || !start {
		t.Error(start, err)
	}
	f.want("today $1 p $1 block $1")
}

// Of many status lines at once, one starts a refresh, and none while one runs.
func TestClaim(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claims := func() int64 {
		var group sync.WaitGroup
		var claimed atomic.Int64
		for range 50 {
			group.Go(func() {
				start, err := NewCache(filepath.Dir(f.cache.path), []string{f.root}).Claim(f.now)
				if err != nil {
					t.Error(err)
				}
				if start {
					claimed.Add(1)
				}
			})
		}
		group.Wait()
		return claimed.Load()
	}
	var got []int64
	got = append(got, claims(), claims())
	f.now = f.now.Add(Interval)
	got = append(got, claims())
	lock, err := files.TryLock(f.cache.lockPath())
	if err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(Interval)
	got = append(got, claims())
	if err := files.Unlock(lock); err != nil {
		t.Fatal(err)
	}
	got = append(got, claims())
	if diff := cmp.Diff([]int64{1, 0, 1, 0, 1}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Different roots have separate caches.
func TestCachesDiffer(t *testing.T) {
	t.Parallel()
	if a, b := NewCache("d", []string{"a", "b"}), NewCache("d", []string{"a"}); a.path == b.path {
		t.Error(a.path)
	}
}
