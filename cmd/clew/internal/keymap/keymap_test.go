package keymap

import (
	"slices"
	"testing"
)

func TestHintsHaveAPlace(t *testing.T) {
	t.Parallel()
	for _, b := range Default().In(InSession) {
		if b.Hint != "" && !slices.Contains(hintOrder, b.Action) {
			t.Errorf("the hint of %s has no place", b.Action)
		}
	}
}
