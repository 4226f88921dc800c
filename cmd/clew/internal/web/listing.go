package web

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/sessions"
)

// A listing is the list of all sessions, which have IDs in addresses.
type listing struct {
	*view.Listing
	mu    sync.Mutex
	ids   map[string]*view.Entry // by the ID in addresses
	names map[*view.Entry]string // the ID in addresses
}

func newListing(ctx context.Context, source *view.Source, now func() time.Time) *listing {
	l := &listing{ids: map[string]*view.Entry{}}
	l.Listing = view.NewListing(ctx, source, &l.mu, now, l.name)
	return l
}

// open returns with the lock held, once the list is read. The caller unlocks it.
func (l *listing) open(ctx context.Context) error {
	err := l.Open(ctx)
	if errors.Is(err, view.ErrClosed) {
		return refused(http.StatusServiceUnavailable, "the server is ending")
	}
	return err
}

// name gives each session of a new list an ID that no other one has: if several projects have one with the same
// ID, their names belong to it, whichever is the newest. The ID alone is the newest one's. The lock is held.
func (l *listing) name() {
	l.ids = make(map[string]*view.Entry, len(l.Order))
	l.names = make(map[*view.Entry]string, len(l.Order))
	for _, e := range l.Order {
		first, taken := l.ids[e.ID]
		if !taken {
			l.ids[e.ID], l.names[e] = e, e.ID
			continue
		}
		for _, one := range []*view.Entry{first, e} {
			l.names[one] = one.ID + "@" + one.Project
			l.ids[l.names[one]] = one
		}
	}
}

// endOf returns an error, unless it only reports the end of the context.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// address returns the ID in addresses of a session that an agent runs in a directory.
func (l *listing) address(ctx context.Context, id, dir string) string {
	project, err := sessions.ProjectName(dir)
	if err != nil || l.open(ctx) != nil {
		return id
	}
	defer l.mu.Unlock()
	if name := id + "@" + project; l.ids[name] != nil {
		return name
	}
	return id
}

// find returns a session by the ID in an address, with its summary and its state, which may be a moment old.
func (l *listing) find(ctx context.Context, id string) (view.Entry, view.State, error) {
	return l.findAfter(ctx, id, l.Look)
}

// findNow is like find, and reads the state.
func (l *listing) findNow(ctx context.Context, id string) (view.Entry, view.State, error) {
	return l.findAfter(ctx, id, l.LookNow)
}

func (l *listing) findAfter(ctx context.Context, id string, look func()) (view.Entry, view.State, error) {
	if err := l.open(ctx); err != nil {
		return view.Entry{}, view.State{}, err
	}
	defer l.mu.Unlock()
	e := l.ids[id]
	if e == nil {
		return view.Entry{}, view.State{}, &refusal{
			status: http.StatusNotFound, reason: "there is no session with this ID",
			hint: "It may have been deleted: look in the trash.",
		}
	}
	look()
	l.Complete(ctx, []*view.Entry{e})
	return *e, l.State(e), nil
}
