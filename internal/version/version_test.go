package version

import "testing"

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"2.1.325", "2.1.325", 0},
		{"2.1.9", "2.1.10", -1},
		{"2.2.0", "2.1.325", +1},
		{"1.99.99", "2.0.0", -1},
		{"10.0.0", "9.0.0", +1},
		{"2.1.009", "2.1.9", 0},
		{"v18.20.4", "v18.9.1", +1},
		{"v18.20.4", "18.20.4", 0},

		{"2.1", "2.1.0", 0},
		{"2.1", "2.1.1", -1},
		{"2.1.1.1", "2.1.1", +1},
		{"2.1.325-beta.2", "2.1.325", 0},
		{"2.1.325 (Claude Code)", "2.1.324", +1},
		{"2.1.99999999999999999999999", "2.1.325", +1}, // more than an integer holds

		{"", "", 0},
		{"", "0.0.1", -1},
		{".DS_Store", "v9.11.2", -1},
		{"latest", "next", 0},
		{"2..5", "2.0.5", 0},
	} {
		if got := Compare(tt.a, tt.b); got != tt.want {
			t.Errorf("Compare(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := Compare(tt.b, tt.a); got != -tt.want {
			t.Errorf("Compare(%q, %q) = %d, want %d", tt.b, tt.a, got, -tt.want)
		}
	}
}

func TestValid(t *testing.T) {
	for text, want := range map[string]bool{
		"2.1.325":        true,
		"2.1.325-beta.2": true,
		"2.1.325.4":      true,
		"v2.1.325":       true,
		"2.1":            false,
		"2.1.":           false,
		"2..325":         false,
		"2.x.325":        false,
		"":               false,
		"next":           false,
	} {
		if got := Valid(text); got != want {
			t.Errorf("Valid(%q) = %t", text, got)
		}
	}
}
