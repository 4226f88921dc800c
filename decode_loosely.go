package clew

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"

	"github.com/clewdev/clew/wire"
)

// A looseReader reads what the agent says even if a field is not of the type that it had when this package was written.
type looseReader struct {
	what string // is read
	log  *slog.Logger
}

// decode reads an object into v. A member that does not fit there stays zero and is logged, unless it is vital: then
// that is the error. What is no object is an error, too, and so is a member that does not fit into a v that reads
// itself.
func (r looseReader) decode(data wire.JSON, v any, vital ...string) error {
	err := decode(r.what, data, v)
	if _, ok := v.(json.Unmarshaler); err == nil || ok {
		return err
	}
	var members map[string]wire.JSON
	if data.Decode(&members) != nil {
		return err
	}
	// One by one: a member that reads itself and fails would end the reading of all others.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member, err := encode(map[string]wire.JSON{name: members[name]})
		if err == nil {
			err = decode(r.what, member, v)
		}
		switch {
		case err != nil && slices.Contains(vital, name):
			return err
		case err != nil:
			r.log.Warn("the agent has sent a field that does not fit its type", "field", name, "error", err)
		}
	}
	return nil
}
