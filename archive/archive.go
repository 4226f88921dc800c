package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/sessions"
)

// An Archive keeps sessions in a [Target]. Its methods may be called at once.
type Archive struct {
	target Target
}

// New returns the archive in a target. The caller closes the target.
func New(t Target) *Archive { return &Archive{target: t} }

// The compressor and the decompressor are made when they are first needed, and serve all archives.
var (
	compressor = sync.OnceValue(func() *zstd.Encoder {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are constant
		}
		return w
	})
	decompressor = sync.OnceValue(func() *zstd.Decoder {
		r, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxSegment), zstd.WithDecoderConcurrency(0))
		if err != nil {
			panic(err)
		}
		return r
	})
)

// Sessions returns the sessions of the archive, sorted by machine, project and ID. If some
// manifests can't be read, it returns the others, and the error of each.
func (a *Archive) Sessions(ctx context.Context) ([]*Session, []Problem, error) {
	all, _, problems, err := a.load(ctx, "")
	return all, problems, err
}

// load returns the sessions of a machine, or of all if it is "", and when machines were last saved.
func (a *Archive) load(ctx context.Context, machine string) ([]*Session, []Machine, []Problem, error) {
	var all []*Session
	var machines []Machine
	var problems []Problem
	for m, err := range a.target.Manifests(ctx, machine) {
		if err != nil {
			return nil, nil, nil, err
		}
		if m.Key.Session == "" {
			var run machineRun
			if m.Err == nil && decodeStrict(m.Data, &run) == nil {
				machines = append(machines, Machine{Name: m.Key.Machine, LastRun: run.LastRun})
			}
			continue
		}
		s, err := decodeSession(m)
		if err != nil {
			problems = append(problems, Problem{m.Key.String(), err})
			continue
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Session) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	return all, machines, problems, nil
}

// FindOptions select one copy of a session.
type FindOptions struct {
	// Machine is the machine whose copy is meant. Empty means the one with the longest transcript.
	Machine string
}

// An AmbiguousError reports that several sessions start with a prefix.
type AmbiguousError struct {
	Prefix string
	IDs    []string
}

// Error names the sessions.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("archive: %d sessions begin with %q: %s", len(e.IDs), e.Prefix, strings.Join(e.IDs[:min(5, len(e.IDs))], ", "))
}

// Find returns the session whose ID starts with a prefix. The error wraps [ErrNotFound] if there is
// none, and is an [*AmbiguousError] if there are several. opts may be nil.
func (a *Archive) Find(ctx context.Context, prefix string, opts *FindOptions) (*Session, error) {
	if opts == nil {
		opts = new(FindOptions)
	}
	all, _, problems, err := a.load(ctx, opts.Machine)
	if err != nil {
		return nil, err
	}
	var found []*Session
	for _, s := range best(all) {
		if strings.HasPrefix(strings.ToLower(s.Session), strings.ToLower(prefix)) {
			found = append(found, s)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		e := &AmbiguousError{Prefix: prefix}
		for _, s := range found {
			e.IDs = append(e.IDs, s.Session)
		}
		return nil, e
	}
	for _, p := range problems { // it may be one that can't be read
		if _, id, _ := cutLast(p.Where, "/"); strings.HasPrefix(id, prefix) {
			return nil, p
		}
	}
	return nil, fmt.Errorf("session %s: %w", prefix, ErrNotFound)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// best returns each session once: the copy with the longest transcript, and of equal ones the
// newest. It leaves out those without a transcript.
func best(all []*Session) []*Session {
	byID := map[string]*Session{}
	for _, s := range all {
		if main := s.Main(); main == nil || main.Size == 0 {
			continue
		}
		if other := byID[s.Session]; other == nil || better(s, other) > 0 {
			byID[s.Session] = s
		}
	}
	var found []*Session
	for _, s := range byID {
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b *Session) int { return strings.Compare(a.Session, b.Session) })
	return found
}

func better(a, b *Session) int {
	x, y := a.Main(), b.Main()
	return cmp.Or(cmp.Compare(x.Size, y.Size), x.Modified.Compare(y.Modified), strings.Compare(b.Key.String(), a.Key.String()))
}

// A Machine is a machine whose sessions are in an archive.
type Machine struct {
	Name string `json:"machine"`
	// LastRun is the time Save last completed there, or the zero time if it never did.
	LastRun time.Time `json:"last_run"`
	// Sessions is the number of sessions. Bytes is the size of their files, and Stored what they
	// take in the archive.
	Sessions int   `json:"sessions"`
	Bytes    int64 `json:"bytes"`
	Stored   int64 `json:"stored"`
}

// machineRun is the manifest of a machine.
type machineRun struct {
	Format  int       `json:"format"`
	LastRun time.Time `json:"last_run"`
}

// Machines returns the machines of an archive with their figures, sorted by name.
func (a *Archive) Machines(ctx context.Context) ([]Machine, []Problem, error) {
	all, machines, problems, err := a.load(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	byName := map[string]*Machine{}
	for _, m := range machines {
		byName[m.Name] = &m
	}
	for _, s := range all {
		m := byName[s.Machine]
		if m == nil {
			m = &Machine{Name: s.Machine}
			byName[s.Machine] = m
		}
		m.Sessions++
		m.Bytes += s.Size()
		m.Stored += s.Stored()
	}
	machines = machines[:0]
	for _, m := range byName {
		machines = append(machines, *m)
	}
	slices.SortFunc(machines, func(a, b Machine) int { return strings.Compare(a.Name, b.Name) })
	return machines, problems, nil
}

// MachineName returns the name under which this machine saves its sessions by default: the host
// name up to its first dot.
func MachineName() string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return machineOf(host)
}

// rootsOr returns roots, or the roots of the user's agents if there are none. Directories with
// sessions that were unpacked are not theirs: those sessions are of other machines.
func rootsOr(roots []string) ([]string, error) {
	if len(roots) > 0 {
		return roots, nil
	}
	roots, err := sessions.Roots()
	roots = slices.DeleteFunc(roots, func(root string) bool {
		_, unpacked := sessions.FromArchive(filepath.Join(root, sessionfile.Folder))
		return unpacked
	})
	if err == nil && len(roots) == 0 {
		err = errors.New("archive: no directory of an agent was found: set CLAUDE_CONFIG_DIR to it")
	}
	return roots, err
}
