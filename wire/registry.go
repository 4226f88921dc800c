package wire

import (
	"encoding/json"
	"fmt"
	"sync"
)

// A Registry holds decoders for kinds of frames that this package does not know
// yet. The zero value is empty and ready to use. It may be used from several
// goroutines.
type Registry struct {
	mu       sync.RWMutex
	decoders map[Kind]func(json.RawMessage) (any, error)
}

// Add makes frames of a kind come as [*CustomMessage], with what decode returns
// as its Value. An error or a panic of decode makes the frame an
// [*InvalidFrame]. A kind has a type alone, or the type system and a subtype.
// Add refuses kinds that this package or an earlier Add knows.
func (r *Registry) Add(kind Kind, decode func(raw json.RawMessage) (any, error)) error {
	if kind.Type == "" || (kind.Type == "system") != (kind.Subtype != "") {
		return fmt.Errorf("wire: a registered kind is a type, or system and a subtype, not %q", kind)
	}
	if Known(kind) {
		return fmt.Errorf("wire: kind %s is known already", kind)
	}
	if decode == nil {
		return fmt.Errorf("wire: kind %s has no decoder", kind)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.decoders[kind] != nil {
		return fmt.Errorf("wire: kind %s is registered already", kind)
	}
	if r.decoders == nil {
		r.decoders = map[Kind]func(json.RawMessage) (any, error){}
	}
	r.decoders[kind] = decode
	return nil
}

func (r *Registry) lookup(kind Kind) func(json.RawMessage) (any, error) {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.decoders[kind]
}

// custom runs a decoder of the registry.
func (d *decoder) custom(kind Kind, raw string, decode func(json.RawMessage) (any, error)) Message {
	value, err := guarded(json.RawMessage(raw), decode)
	if err != nil {
		d.FailBecause(0, fmt.Errorf("decoder of %s: %w", kind, err))
		return nil
	}
	return &CustomMessage{Value: value, raw: raw, kind: kind}
}

func guarded(raw json.RawMessage, decode func(json.RawMessage) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return decode(raw)
}
