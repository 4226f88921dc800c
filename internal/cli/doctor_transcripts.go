package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A shelf is all transcripts of the user. They are looked at once, by whoever needs them first.
type shelf struct {
	now   time.Time
	once  sync.Once
	roots []string
	files []shelved // the sessions
	bytes int64     // with all that lies beside them
	err   error     // why some could not be looked at
}

// A shelved is the transcript of a session.
type shelved struct {
	path     string
	size     int64
	modified time.Time
}

func newShelf(now time.Time) *shelf { return &shelf{now: now} }

// look finds the transcripts.
func (s *shelf) look(ctx context.Context) {
	s.once.Do(func() {
		s.roots, s.err = sessions.Roots()
		for f, err := range sessions.Files(ctx, nil) {
			switch {
			case ctx.Err() != nil:
				s.err = errors.New("there was no time to look at all")
				return
			case err != nil:
				s.err = err
				return
			}
			s.add(f)
		}
	})
}

func (s *shelf) add(f sessions.File) {
	s.bytes += f.Info.Size()
	if f.SessionID != "" && f.AgentID == "" && !f.Spill {
		s.files = append(s.files, shelved{path: f.Path, size: f.Info.Size(), modified: f.Info.ModTime()})
	}
}

type shelfDetails struct {
	Roots    []string `json:"roots"`
	Sessions int      `json:"sessions"`
	Bytes    int64    `json:"bytes"`
	Largest  string   `json:"largest"` // a path
}

// checkFolders tells where transcripts are, and how many.
func (s *shelf) checkFolders(ctx context.Context) []diagnosis {
	s.look(ctx)
	var all []diagnosis
	if s.err != nil {
		all = append(all, diagnosis{
			State: worrying, Found: "not all can be looked at: " + strings.ReplaceAll(s.err.Error(), "\n", "; "),
			Advice: "Make the folder readable for you, or set CLAUDE_CONFIG_DIR to where the agent keeps its files.",
		})
	}
	if len(s.files) == 0 {
		none := "no agent has a folder here"
		if len(s.roots) > 0 {
			none = "there are no sessions in " + strings.Join(s.roots, ", ")
		}
		return append(all, diagnosis{
			State: noted, Found: none,
			Advice: "Run \"clew demo\" for a tour, or \"clew run\" for a session. If yours are elsewhere, set " +
				"CLAUDE_CONFIG_DIR.",
		})
	}
	largest := slices.MaxFunc(s.files, func(a, b shelved) int { return int(min(1, max(-1, a.size-b.size))) })
	return append(all, diagnosis{
		State: healthy,
		Found: fmt.Sprintf("%s in %s, %s with all that belongs to them; the largest has %s: %s",
			counted(len(s.files), "session"), strings.Join(s.roots, ", "), formatSize(s.bytes), formatSize(largest.size),
			largest.path),
		Details: shelfDetails{Roots: s.roots, Sessions: len(s.files), Bytes: s.bytes, Largest: largest.path},
	})
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return group(int64(n)) + " " + noun + "s"
}

const (
	usualRetention = 30 // days after which an agent deletes a session, unless it is told otherwise
	soon           = 7  // days
)

type retentionDetails struct {
	Days    float64 `json:"days"`
	Overdue int     `json:"overdue"`
	Soon    int     `json:"soon"` // in the next seven days, the overdue ones included
}

// checkRetention tells which sessions the agent is about to delete.
func (s *shelf) checkRetention(ctx context.Context) []diagnosis {
	s.look(ctx)
	days, from := retention()
	keep := time.Duration(days * float64(24*time.Hour))
	if days > 100_000 {
		keep = 100_000 * 24 * time.Hour // which a duration can hold
	}
	d := retentionDetails{Days: days}
	left := keep
	for _, f := range s.files {
		rest := keep - s.now.Sub(f.modified)
		left = min(left, rest)
		if rest <= 0 {
			d.Overdue++
		}
		if rest <= soon*24*time.Hour {
			d.Soon++
		}
	}
	found := fmt.Sprintf("the agent deletes sessions %s after they were last written to%s",
		counted(int(min(days, 100_000)), "day"), from)
	switch {
	case d.Soon > 0:
		return []diagnosis{{
			State: worrying, Found: fmt.Sprintf("%s: %s in the next %d days, %d of them when it starts next",
				found, counted(d.Soon, "session"), soon, d.Overdue),
			Advice: "Set cleanupPeriodDays in the agent's settings.json to more, such as 3650, or export what you want " +
				"to keep.",
			Details: d,
		}}
	case len(s.files) > 0:
		found += fmt.Sprintf("; the first one goes in %s", counted(int(left/(24*time.Hour)), "day"))
	}
	return []diagnosis{{State: healthy, Found: found, Details: d}}
}

// retention returns after how many days sessions are deleted, and where that is set.
func retention() (days float64, from string) {
	days = usualRetention
	for _, path := range agentSettingsFiles() {
		s, err := readAgentSettings(path)
		if err == nil && s.CleanupDays != nil && *s.CleanupDays >= 1 {
			days, from = *s.CleanupDays, " ("+path+")"
		}
	}
	return days, from
}

const (
	newest       = 20       // sessions that are read for what clew does not know
	longestRead  = 32 << 20 // bytes, beyond which a session is left out
	driftsListed = 5
)

type formatDetails struct {
	Read     int                  `json:"read"`
	Findings []transcript.Finding `json:"findings"`
	Invalid  int                  `json:"invalid"`
}

// checkFormat reads the newest sessions for what clew does not know.
func (s *shelf) checkFormat(ctx context.Context) []diagnosis {
	s.look(ctx)
	files := slices.SortedFunc(slices.Values(s.files), func(a, b shelved) int { return b.modified.Compare(a.modified) })
	var drift transcript.Drift
	var d formatDetails
	for _, f := range files {
		if d.Read == newest || ctx.Err() != nil {
			break
		}
		if f.size > longestRead {
			continue
		}
		t, err := sessions.ReadFile(ctx, f.path, &sessions.ReadOptions{OnlyMain: true})
		if t == nil || err != nil {
			continue
		}
		d.Read++
		d.Invalid += len(t.Invalid)
		drift.Merge(t.Drift)
	}
	d.Findings = drift.Findings()
	return []diagnosis{d.diagnosis()}
}

func (d formatDetails) diagnosis() diagnosis {
	within := "in the newest " + counted(d.Read, "session")
	switch {
	case d.Read == 0:
		return diagnosis{State: healthy, Found: "there is nothing to read", Details: d}
	case len(d.Findings) == 0 && d.Invalid == 0:
		return diagnosis{State: healthy, Found: "all is known " + within, Details: d}
	case len(d.Findings) == 0:
		return diagnosis{
			State: noted, Found: fmt.Sprintf("%s that are no entries, %s", counted(d.Invalid, "line"), within),
			Advice: "They come from an agent that was stopped while it wrote; clew leaves them out.", Details: d,
		}
	}
	var names []string
	for _, f := range d.Findings[:min(driftsListed, len(d.Findings))] {
		names = append(names, fmt.Sprintf("%s %s (version %s, %s)", f.Kind, f.Name, f.Version, counted(f.Count, "time")))
	}
	if more := len(d.Findings) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return diagnosis{
		State: noted, Found: fmt.Sprintf("clew does not know some of what is %s: %s", within, strings.Join(names, ", ")),
		Advice: "Nothing of it is lost, but it may not be shown. Look for a newer clew, or report it.", Details: d,
	}
}
