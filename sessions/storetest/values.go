package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/wire"
)

// checkValues compares entries as JSON values: a store may write 1.0 for 1, but not round.
func checkValues(t *testing.T, got, want []wire.JSON) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		g, err := value(got[i])
		w, _ := value(want[i])
		if err != nil || !reflect.DeepEqual(g, w) {
			t.Errorf("entry %d: got %s, want %s, error %v", i, shortened(got[i]), shortened(want[i]), err)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d entries, want %d", len(got), len(want))
	}
}

// value decodes an entry with exact numbers.
func value(entry wire.JSON) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(entry)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return exact(v)
}

// A fraction is an exact number, and no text.
type fraction string

// exact replaces the numbers in v by fractions.
func exact(v any) (any, error) {
	var failed error
	inner := func(v any) any {
		v, err := exact(v)
		if err != nil {
			failed = err
		}
		return v
	}
	switch v := v.(type) {
	case json.Number:
		number, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return nil, fmt.Errorf("%s is not a number", v)
		}
		return fraction(number.RatString()), nil
	case []any:
		for i := range v {
			v[i] = inner(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = inner(v[name])
		}
	}
	return v, failed
}

// shortened cuts an entry that nobody could read.
func shortened(entry wire.JSON) wire.JSON {
	const most = 2000
	if len(entry) <= most {
		return entry
	}
	return entry[:most] + "[...]"
}

func keys[T any](m map[string]T) []string { return sorted(slices.Collect(maps.Keys(m))) }

// sorted returns a sorted copy that is never nil.
func sorted(names []string) []string {
	names = append([]string{}, names...)
	slices.Sort(names)
	return names
}
