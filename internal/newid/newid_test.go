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

func TestIsUUID(t *testing.T) {
	t.Parallel()
	const id = "de1b4c1c-00af-4000-8000-00000000000f"
	for text, want := range map[string]bool{
		id: true, UUID(): true, "DE1B4C1C-00AF-4000-8000-00000000000F": true,
		"": false, id[:35]: false, id + "0": false, " " + id[:35]: false, id[:35] + "g": false,
		id[:35] + "@": false, id[:35] + "-": false,
		id[:8] + "0" + id[9:]: false, "--dangerously-skip-permissions-------": false,
	} {
		if got := IsUUID(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
