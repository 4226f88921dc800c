package cli

import (
	"strings"
	"testing"
)

// What is offered for a flag is what it takes.
func TestCompletionOffersValues(t *testing.T) {
	t.Parallel()
	for name, values := range flagValues {
		verb, flag, _ := strings.Cut(name, " ")
		cmd, _, err := newRoot(Streams{}).Find([]string{verb})
		if err != nil || cmd.Flags().Lookup(flag) == nil {
			t.Errorf("%s: there is no such flag, %v", name, err)
			continue
		}
		for _, value := range values {
			if err := cmd.Flags().Set(flag, value); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, listed := cmd.GetFlagCompletionFunc(flag); !listed {
				t.Errorf("%s is not completed", name)
			}
		}
	}
}
