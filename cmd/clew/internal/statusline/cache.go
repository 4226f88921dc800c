package statusline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

const (
	// version is the version of the files. Other versions are not read.
	version = 1
	// Interval is the minimum time between two computations of the facts.
	Interval = 30 * time.Second
	// RefreshTimeout ends a refresh that hangs.
	RefreshTimeout = 2 * time.Minute

	maxFacts = 1 << 20
	maxState = 256 << 20
)

// A Cache keeps facts about the sessions in some roots, and how far their transcripts were read.
// Any number of processes may use it at once: a lock lets one of them refresh it, and files are replaced
// as a whole. A refresh that is killed loses only its own work, since the state is written last: the
// next one reads the same transcripts again.
type Cache struct {
	roots []string
	path  string // of the files, without their extensions
}

// NewCache returns the cache for the sessions in roots, in files in a directory.
func NewCache(dir string, roots []string) *Cache {
	sum := sha256.Sum256([]byte(strings.Join(roots, "\x00")))
	return &Cache{roots: roots, path: filepath.Join(dir, hex.EncodeToString(sum[:8]))}
}

func (c *Cache) factsPath() string { return c.path + ".json" }
func (c *Cache) statePath() string { return c.path + ".state.json" }
func (c *Cache) lockPath() string  { return c.path + ".lock" }

// Facts returns the facts of the last refresh, or nil if there are none that can be used. It reads
// one small file.
func (c *Cache) Facts() *Facts {
	f := new(Facts)
	if err := readJSON(c.factsPath(), f, maxFacts); err != nil || f.Version != version {
		return nil
	}
	return f
}

// Stale reports whether facts, which may be nil, are due to be computed again. Facts from the
// future are as well: the clock was set back.
func (f *Facts) Stale(now time.Time) bool { return f == nil || !within(f.Time, now) }

// within reports whether a time is less than an Interval ago, or ahead: a process that read the
// clock a little earlier than another one may ask after it.
func within(at, now time.Time) bool { return now.Sub(at).Abs() < Interval }

// Claim reports whether the caller has to start a refresh. It returns true to at most one process
// per Interval, and to none while a refresh runs.
func (c *Cache) Claim(now time.Time) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return false, err
	}
	lock, err := files.TryLock(c.lockPath())
	if errors.Is(err, files.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = files.Unlock(lock) }()
	const most = 64
	text, err := io.ReadAll(io.LimitReader(lock, most))
	if err != nil {
		return false, err
	}
	if last, err := strconv.ParseInt(string(text), 10, 64); err == nil && within(time.UnixMilli(last), now) {
		return false, nil
	}
	if err := lock.Truncate(0); err != nil {
		return false, err
	}
	_, err = lock.WriteAt([]byte(strconv.FormatInt(now.UnixMilli(), 10)), 0)
	return err == nil, err
}

// Start starts a program in the background. It does not wait for the program, which keeps none of
// the caller's streams open: a reader of the caller's output does not wait for it either.
func Start(program string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), program, args...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// Refresh computes the facts. It does nothing if another process already does. It reads the parts
// of transcripts that were appended since the last time. If the context ends before everything is
// read, there are no new facts, and the next refresh continues from there.
func (c *Cache) Refresh(ctx context.Context, prices usage.Prices, now time.Time) error {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	// The process that started this one may still hold the lock.
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	lock, err := files.Lock(waiting, c.lockPath())
	cancel()
	if waiting.Err() != nil && lock == nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = files.Unlock(lock) }()
	c.removeLeft()
	s := c.state(now)
	if err := s.read(ctx, c.roots, now); err != nil {
		s.keep(s.Since) // which blocks there are is not known yet
		return errors.Join(err, c.save(s))
	}
	calls := s.prune(now)
	if err := replaceJSON(c.factsPath(), newFacts(calls, prices, now)); err != nil {
		return err
	}
	return c.save(s)
}

// save writes the state, if it changed.
func (c *Cache) save(s *state) error {
	if !s.changed {
		return nil
	}
	return replaceJSON(c.statePath(), s)
}

// removeLeft removes the leftovers of a refresh that was killed. It needs the lock.
func (c *Cache) removeLeft() {
	files.RemoveDrafts(c.factsPath())
	files.RemoveDrafts(c.statePath())
}

// lockWait is the time for which a refresh waits for its lock.
var lockWait = time.Second

var _ = timelimit.Register(&lockWait)

// A state is the saved state of the last refresh.
type state struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	// Since is the time from which Calls has everything.
	Since time.Time `json:"since"`
	// Offsets are the sizes of the parts of transcripts already read, by path.
	Offsets map[string]int64 `json:"offsets"`
	// Calls are the copies of a tally.
	Calls []usage.Call `json:"calls"`

	tally   usage.Tally
	changed bool
}

// firstWindow is the period that the first refresh reads. The start of a five-hour block depends on
// the block before, back to the last pause of five hours: it is assumed that there was one.
const firstWindow = 7 * 24 * time.Hour

// state returns the state of the last refresh, or an empty one if it can't be continued: if it is
// damaged, if the clock was set back, or if the day starts earlier, in another time zone.
func (c *Cache) state(now time.Time) *state {
	s := new(state)
	err := readJSON(c.statePath(), s, maxState)
	if err != nil || s.Version != version || s.Time.After(now) || dayOf(now).Before(s.Since) {
		return &state{Version: version, Since: now.Add(-firstWindow), changed: true}
	}
	for i := range s.Calls {
		s.tally.Add(s.Calls[i])
	}
	return s
}

// dayOf returns the start of a time's day.
func dayOf(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
}

// read adds the appended parts of transcripts, as far as it gets.
func (s *state) read(ctx context.Context, roots []string, now time.Time) error {
	if len(roots) == 0 {
		return nil
	}
	const slack = time.Hour // clocks of file systems differ
	scan, err := sessions.ScanUsage(ctx, &sessions.UsageOptions{
		Roots: roots, Offsets: s.Offsets, ModifiedSince: s.Since.Add(-slack),
	})
	if scan == nil {
		s.changed = false
		return err
	}
	s.changed = s.changed || scan.Bytes > 0
	s.tally.Merge(&scan.Tally)
	s.Offsets, s.Time = scan.Offsets, now
	return err
}

// prune forgets the calls that are no longer needed, and returns the others, each once. It keeps
// the calls of the day, and of the block in which the day starts: later blocks follow from it.
func (s *state) prune(now time.Time) []usage.Call {
	// A fork copies older answers too. Without their neighbors, they would make other blocks.
	all := notBefore(s.tally.Calls(), s.Since)
	since := dayOf(now)
	for _, b := range usage.FiveHourBlocks(all, nil) {
		if !b.Gap && b.End.After(since) { // even if it has no call of the day yet
			since = minTime(since, b.Start)
			break
		}
	}
	s.Since = since
	s.keep(since)
	return notBefore(all, since)
}

// keep selects the copies of calls since a time for saving.
func (s *state) keep(since time.Time) {
	kept := s.Calls[:0]
	for call := range s.tally.Copies() {
		if !call.Time.Before(since) {
			kept = append(kept, call)
		}
	}
	s.Calls = kept
}

// notBefore removes the calls before a time.
func notBefore(calls []usage.Call, since time.Time) []usage.Call {
	return slices.DeleteFunc(calls, func(call usage.Call) bool { return call.Time.Before(since) })
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// readJSON reads a file of limited size.
func readJSON(path string, v any, most int64) error {
	data, err := files.ReadSmall(path, most)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// replaceJSON replaces a file as a whole. A refresh after a crash of the machine makes it again.
func replaceJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return files.Write(path, data, files.WriteOptions{NoSync: true})
}
