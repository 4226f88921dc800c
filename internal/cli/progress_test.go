package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A step is a read of so many bytes, so long after the one before.
type step struct {
	after time.Duration
	bytes int
}

// draw returns what a progress writes, split before each redraw.
func draw(total int64, width int, steps []step) []string {
	var screen strings.Builder
	now := time.Unix(0, 0)
	p := newProgress(&screen, total, func() time.Time { return now })
	p.width = width
	for _, s := range steps {
		now = now.Add(s.after)
		p.add(s.bytes)
	}
	p.clear()
	return strings.Split(screen.String(), clearLine)[1:]
}

func TestProgress(t *testing.T) {
	tests := []struct {
		name  string
		total int64
		width int
		steps []step
		want  []string
	}{
		{
			"a file", 400e6, 80,
			[]step{{time.Second, 100e6}, {time.Second, 100e6}, {2 * time.Second, 200e6}},
			[]string{
				"[#####---------------]  25%  100 MB of 400 MB  100 MB/s  3s left",
				"[##########----------]  50%  200 MB of 400 MB  100 MB/s  2s left",
				"[####################] 100%  400 MB of 400 MB  100 MB/s",
				"",
			},
		},
		{
			"a file that grows", 10, 80,
			[]step{{time.Second, 20}},
			[]string{"[####################] 100%  20 B of 10 B  20 B/s", ""},
		},
		{
			"a pipe", -1, 80,
			[]step{{time.Second, 5e6}, {time.Second, 1e6}},
			[]string{"5.0 MB  5.0 MB/s", "6.0 MB  3.0 MB/s", ""},
		},
		{
			"a narrow terminal", 400e6, 20,
			[]step{{time.Second, 100e6}},
			[]string{"[#####-------------", ""},
		},
		{
			"nothing read yet", 400e6, 80,
			[]step{{time.Second, 0}},
			[]string{"[--------------------]   0%  0 B of 400 MB  0 B/s", ""},
		},
		{
			"done before there was anything to see", 400e6, 80,
			[]step{{50 * time.Millisecond, 400e6}},
			[]string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, draw(tt.total, tt.width, tt.steps)); diff != "" {
				t.Errorf("drawn (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgressRedrawInterval(t *testing.T) {
	var steps []step
	for range 1000 {
		steps = append(steps, step{time.Millisecond, 1})
	}
	if got := len(draw(1000, 80, steps)); got != 11 {
		t.Errorf("%d redraws within a second, want 10 and the clearing", got)
	}
}

func TestProgressNil(*testing.T) {
	var p *progress
	p.add(1)
	p.clear()
}
