package newid

import (
	"regexp"
	"testing"
)

func TestUUID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for range 1000 {
		id := UUID()
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%s is not a new random UUID", id)
		}
		seen[id] = true
	}
}
