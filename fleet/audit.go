package fleet

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// A Flaw is a fault found by an audit. Without a text, it only reports that a job was checked.
type Flaw struct {
	Job     string `json:"job,omitempty"` // "" if a session has none
	Session string `json:"session,omitempty"`
	File    string `json:"file,omitempty"`
	Text    string `json:"text"`
}

// Audit compares the records of all jobs with their histories, with the files that they name, and with the
// IDs of the sessions that are stored. It returns what does not fit and, after each job, a Flaw without a
// text. It reads the whole history of each job, and changes nothing. An error is the last pair.
func (f *Fleet) Audit(ctx context.Context, sessions map[string]time.Time) iter.Seq2[Flaw, error] {
	return func(yield func(Flaw, error) bool) {
		var ids []string
		for s, err := range f.Jobs(ctx) {
			if err != nil {
				yield(Flaw{}, err)
				return
			}
			ids = append(ids, s.ID)
		}
		slices.Sort(ids)
		unknown := maps.Clone(sessions)
		for _, id := range ids {
			flaws := f.auditJob(ctx, id, sessions, unknown)
			if ctx.Err() != nil {
				yield(Flaw{}, context.Cause(ctx))
				return
			}
			for _, flaw := range append(flaws, Flaw{Job: id}) {
				if !yield(flaw, nil) {
					return
				}
			}
		}
		for _, session := range slices.Sorted(maps.Keys(unknown)) {
			if !yield(Flaw{Session: session, Text: "no job has this session"}, nil) {
				return
			}
		}
	}
}

// auditJob returns the flaws of a job, and removes its sessions from the unknown sessions.
func (f *Fleet) auditJob(ctx context.Context, id string, sessions, unknown map[string]time.Time) (flaws []Flaw) {
	var before *Job
	for j, err := range f.History(ctx, id) {
		if err != nil {
			return append(flaws, Flaw{Job: id, Text: "its history can't be read: " + err.Error()})
		}
		if gap := gapBetween(before, j); gap != "" {
			flaws = append(flaws, Flaw{Job: id, Text: gap})
		}
		before = j
	}
	if before == nil {
		return nil // it was dropped meanwhile
	}
	for i := range before.Attempts {
		a := &before.Attempts[i]
		delete(unknown, a.Session)
		if _, stored := sessions[a.Session]; a.Session != "" && !stored && !a.Ended.IsZero() && a.Cause != ByExit && a.Cause != ByLoss {
			flaws = append(flaws, Flaw{Job: id, Session: a.Session, Text: fmt.Sprintf("the session of attempt %d is not in the store", a.Number)})
		}
		for _, name := range a.files() {
			if err := f.checkFile(ctx, name); err != nil {
				flaws = append(flaws, Flaw{Job: id, File: name, Text: fmt.Sprintf("a file of attempt %d: %v", a.Number, err)})
			}
		}
	}
	return flaws
}

// gapBetween describes the contradiction between a record and its predecessor, which is nil for the
// first.
func gapBetween(before, j *Job) string {
	switch {
	case before == nil && len(j.Attempts) > 0:
		return "the beginning of its history is missing"
	case before == nil:
		return ""
	case len(j.Attempts) > len(before.Attempts)+1 || len(j.Attempts) < len(before.Attempts):
		return fmt.Sprintf("a change is missing between %s and %s", before.Changed.Format(time.RFC3339Nano), j.Changed.Format(time.RFC3339Nano))
	}
	return ""
}

// files are the names of the files of an attempt.
func (a *Attempt) files() (names []string) {
	for _, name := range []string{a.Snapshot, a.Patch} {
		if name != "" {
			names = append(names, name)
		}
	}
	if a.Result != nil && a.Result.File != "" {
		names = append(names, a.Result.File)
	}
	return names
}

// checkFile opens a file.
func (f *Fleet) checkFile(ctx context.Context, name string) error {
	r, err := f.File(ctx, name)
	if err != nil {
		return err
	}
	return r.Close()
}
