package sessions

import (
	"context"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// readStore reads a store of another kind, one transcript after the other.
func (r *UsageReport) readStore(ctx context.Context, opts *UsageOptions, p place) error {
	projects, err := p.projects(ctx)
	if err != nil {
		return err
	}
	for _, project := range projects {
		ids, err := p.store.Sessions(ctx, project)
		if err != nil {
			return err
		}
		for id := range ids {
			if err := r.readSession(ctx, opts, wire.SessionKey{Project: project, SessionID: id}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *UsageReport) readSession(ctx context.Context, opts *UsageOptions, key wire.SessionKey) error {
	subpaths, err := opts.Store.Subpaths(ctx, key)
	if err != nil {
		return err
	}
	for _, subpath := range append([]string{""}, subpaths...) {
		key.Subpath = subpath
		part, ok := newUsagePart(sessionfile.Path(key))
		if !ok {
			continue
		}
		if err := r.readTranscript(ctx, opts, key, part); err != nil {
			return err
		}
	}
	return nil
}

func (r *UsageReport) readTranscript(ctx context.Context, opts *UsageOptions, key wire.SessionKey,
	part usagePart) error {
	var decoder transcript.CallDecoder
	r.Files++
	number := 0
	for entry, err := range opts.Store.Load(ctx, key) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.Unread = append(r.Unread, err)
			break
		}
		number++
		r.Bytes += int64(len(entry))
		part.begin([]byte(entry))
		c, ok, err := decoder.Decode([]byte(entry))
		if ok {
			r.Tally.Add(part.place(c))
		} else if state, ok := costStateOf([]byte(entry), &decoder); ok {
			r.CostStates = append(r.CostStates, state)
		}
		if err != nil {
			r.bad(BadLine{Path: part.name, Line: number, Err: err})
		}
	}
	if opts.Progress != nil {
		opts.Progress(r.Bytes, 0)
	}
	return nil
}
