package clew

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/tempconfig"
	"github.com/clewdev/clew/wire"
)

// A restorer lays a session of a store into a folder.
type restorer struct {
	store   Store
	timeout time.Duration
	log     *slog.Logger
	folder  *tempconfig.Folder
	project string // of the session in the store
	name    string // of the same project in the folder
}

// call calls a method of the store.
func (r *restorer) call(ctx context.Context, e *StoreError, method func(context.Context) error) error {
	ctx, cancel := withStoreTimeout(ctx, r.timeout)
	defer cancel()
	if _, e.Err = callStore(ctx, method); e.Err != nil {
		return e
	}
	return nil
}

// restoreNewest restores the newest session of the project that is not a subagent's, and returns its ID, or "".
func (r *restorer) restoreNewest(ctx context.Context) (id string, err error) {
	var times map[string]time.Time
	failure := &StoreError{Method: "Sessions", Key: wire.SessionKey{Project: r.project}}
	err = r.call(ctx, failure, func(ctx context.Context) error {
		found, err := r.store.Sessions(ctx, r.project)
		times = found
		return err
	})
	if err != nil {
		return "", err
	}
	newestFirst := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(times[b].Compare(times[a]), cmp.Compare(a, b))
	})
	for _, id := range newestFirst {
		if !uuidPattern.MatchString(id) {
			r.log.Warn("a session in the store has no proper ID", "id", id)
			continue
		}
		key := wire.SessionKey{Project: r.project, SessionID: id}
		n, err := r.load(ctx, key, unlessSidechain)
		if err == nil && n > 0 {
			return id, r.restoreBelow(ctx, key)
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// restore restores a session and returns its ID, or "" if it is not there.
func (r *restorer) restore(ctx context.Context, id string) (string, error) {
	key := wire.SessionKey{Project: r.project, SessionID: id}
	n, err := r.load(ctx, key, nil)
	if err != nil || n == 0 {
		return "", err
	}
	return id, r.restoreBelow(ctx, key)
}

// restoreBelow restores the transcripts below that of a session.
func (r *restorer) restoreBelow(ctx context.Context, key wire.SessionKey) error {
	var subpaths []string
	err := r.call(ctx, &StoreError{Method: "Subpaths", Key: key}, func(ctx context.Context) error {
		found, err := r.store.Subpaths(ctx, key)
		subpaths = slices.Clone(found)
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(subpaths)
	for _, key.Subpath = range slices.Compact(subpaths) {
		if err := key.Check(); err != nil || key.Subpath == "" {
			r.log.Warn("a transcript in the store would lie elsewhere", "subpath", key.Subpath)
			continue
		}
		if _, err := r.load(ctx, key, nil); err != nil {
			return err
		}
	}
	return nil
}

// A filter reports, by the first entry of a transcript, whether it is wanted.
type filter func(first wire.JSON) bool

// load writes a transcript into the folder, and returns how many entries it has. A nil filter wants all.
func (r *restorer) load(ctx context.Context, key wire.SessionKey, wanted filter) (int, error) {
	there := key
	there.Project = r.name
	n := 0
	err := r.call(ctx, &StoreError{Method: "Load", Key: key}, func(ctx context.Context) error {
		written, err := r.folder.WriteTranscript(there, filtered(ctx, r.store.Load(ctx, key), wanted))
		n = written
		return err
	})
	if err != nil {
		return 0, err // and n may be written to yet
	}
	return n, nil
}

// filtered returns the entries of a transcript that is wanted, and none of another. It ends with ctx.
func filtered(ctx context.Context, entries iter.Seq2[wire.JSON, error], wanted filter) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		first := true
		for entry, err := range entries {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if first && err == nil && wanted != nil && !wanted(entry) {
				return
			}
			first = false
			if !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

// unlessSidechain wants transcripts that are not those of a subagent, which older agents kept beside others.
func unlessSidechain(first wire.JSON) bool {
	var head struct {
		IsSidechain bool `json:"isSidechain"`
	}
	return first.Decode(&head) != nil || !head.IsSidechain
}
