package drive

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// onceEach fulfills each request once, by its ID.
type onceEach struct {
	most    int
	forgets bool // the oldest request is forgotten for a new one, instead of refusing that

	mu    sync.Mutex
	calls map[string]*onceCall
	order []string
	kept  []*onceCall // that have results, the oldest first
	bytes int         // of these results
	room  int         // for them
}

// A onceCall is a request and its result, which is there when done is closed.
type onceCall struct {
	digest [sha256.Size]byte
	done   chan struct{}
	value  any
	err    error
	size   int // of the value in JSON, in bytes
}

// errForgotten is the outcome of a request whose own result was too large to be kept.
var errForgotten = &Error{
	Kind: Fulfilled, Reason: "the request was fulfilled before, and its result is not known any more", Hint: "Reload the page.",
}

func newOnceEach(most int, forgets bool) *onceEach {
	return &onceEach{most: most, forgets: forgets, calls: map[string]*onceCall{}, room: maxResultBytes}
}

// keep keeps a call's result, and drops the oldest ones if there is no room for all. Their requests
// still count once.
func (o *onceEach) keep(call *onceCall, value any, err error) {
	text, failure := json.Marshal(value)
	if failure != nil { // it can't be sent to anyone
		value, err = nil, failure
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	call.value, call.err, call.size = value, err, len(text)
	o.kept, o.bytes = append(o.kept, call), o.bytes+call.size
	o.dropLocked()
}

// shrink leaves less room for results.
func (o *onceEach) shrink(room int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.room = room
	o.dropLocked()
}

// dropLocked drops results until the rest fits. The newest one stays: its sender does not have it
// yet.
func (o *onceEach) dropLocked() {
	for o.bytes > o.room && len(o.kept) > 1 {
		o.forgetLocked(o.kept[0])
	}
}

// forgetLocked drops a call's result, if it has one. A refusal stays: it is small, and the request
// was not fulfilled.
func (o *onceEach) forgetLocked(call *onceCall) {
	if i := slices.Index(o.kept, call); i >= 0 {
		o.kept = slices.Delete(o.kept, i, i+1)
		o.bytes -= call.size
		call.value = nil
		if call.err == nil {
			call.err = errForgotten
		}
	}
}

// result returns the result of a finished call.
func (o *onceEach) result(call *onceCall) (any, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return call.value, call.err
}

// begin returns the call with an ID, and whether it is a new one, which the caller has to end.
func (o *onceEach) begin(id string, request any) (call *onceCall, isNew bool, err error) {
	if !validID(id) {
		return nil, false, &Error{Kind: Invalid, Reason: "the id of the request must have 8 to 64 letters, digits, - or _"}
	}
	text, err := json.Marshal(request)
	if err != nil {
		return nil, false, err
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%T %s", request, text))
	o.mu.Lock()
	defer o.mu.Unlock()
	if call := o.calls[id]; call != nil {
		if call.digest != digest {
			return nil, false, &Error{Kind: Conflict, Reason: "the id was used for another request"}
		}
		return call, false, nil
	}
	if len(o.order) >= o.most {
		if !o.forgets {
			return nil, false, &Error{
				Kind: TooMany, Reason: "this agent has had too many requests", Hint: "End it, and continue its session.",
			}
		}
		o.forgetLocked(o.calls[o.order[0]])
		delete(o.calls, o.order[0])
		o.order = o.order[1:]
	}
	call = &onceCall{digest: digest, done: make(chan struct{})}
	o.calls[id] = call
	o.order = append(o.order, id)
	return call, true, nil
}

// validID reports whether a text can be an ID made by a page.
func validID(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return true
}

type outcomeKey struct{}

// WithOutcome returns a context for a request. When the request was fulfilled or refused, outcome
// is called with the result before anyone gets it, even if the context is over by then. It is not
// called for a repeated request, or for a request that is refused because of its ID.
func WithOutcome(ctx context.Context, outcome func(result any, err error)) context.Context {
	if before, ok := ctx.Value(outcomeKey{}).(func(any, error)); ok {
		after := outcome
		outcome = func(result any, err error) {
			before(result, err)
			after(result, err)
		}
	}
	return context.WithValue(ctx, outcomeKey{}, outcome)
}

// once fulfills a request unless its ID came before, and returns the result of the first one. The
// request is fulfilled even if ctx, the sender's, ends before.
func once[T any](ctx context.Context, a *Agents, o *onceEach, id string, request any, fulfill func(ctx context.Context) (T, error)) (T, error) {
	var none T
	call, isNew, err := o.begin(id, request)
	if err != nil {
		return none, err
	}
	if isNew {
		if !a.begin() {
			o.keep(call, nil, errClosing)
			close(call.done)
			return none, errClosing
		}
		go func() {
			defer a.work.Done()
			defer close(call.done)
			value, err := fulfill(a.ctx) //nolint:contextcheck // the sender may leave
			o.keep(call, value, err)
			if told, ok := ctx.Value(outcomeKey{}).(func(any, error)); ok {
				told(value, err)
			}
		}()
	}
	select {
	case <-call.done:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	value, err := o.result(call)
	if err != nil {
		return none, err
	}
	return value.(T), nil //nolint:forcetypeassert // the digest has the type of the request
}

// begin counts a request that is being fulfilled, unless the agents are being closed.
func (a *Agents) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.work.Add(1)
	return true
}
