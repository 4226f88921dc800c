package fuzzy

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"model", "model", 0}, {"omdel", "model", 1}, {"mode", "model", 1}, {"modell", "model", 1},
		{"nodel", "model", 1},
		{"", "abc", 3}, {"abc", "", 3}, {"über", "uber", 1}, {"世界", "世间", 1}, {"ca", "abc", 3},
		{long, long + "y", 0},
	} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%.20q, %.20q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
