package clikit

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A step is a read of some bytes, some time after the previous one.
type step struct {
	after time.Duration
	bytes int
}

// draw returns the output of a progress, split before each redraw.
func draw(total int64, width int, steps []step) []string {
	var screen strings.Builder
	now := time.Unix(0, 0)
	p := NewProgress(&screen, total, func() time.Time { return now })
	p.width = width
	read := int64(0)
	for _, s := range steps {
		now = now.Add(s.after)
		read += int64(s.bytes)
		p.Set(read)
	}
	p.Clear()
	return strings.Split(screen.String(), ClearLine)[1:]
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
				"[#####---------------]  25 %  100 MB of 400 MB  100 MB/s  3s left",
				"[##########----------]  50 %  200 MB of 400 MB  100 MB/s  2s left",
				"[####################] 100 %  400 MB of 400 MB  100 MB/s",
				"",
			},
		},
		{
			"a file that grows", 10, 80,
			[]step{{time.Second, 20}},
			[]string{"[####################] 100 %  20 B of 10 B  20 B/s", ""},
		},
		{
			"a pipe", -1, 80,
			[]step{{time.Second, 5e6}, {time.Second, 1e6}},
			[]string{"5.0 MB  5.0 MB/s", "6.0 MB  3.0 MB/s", ""},
		},
		{
			"no room for the speed", 400e6, 48,
			[]step{{time.Second, 100e6}},
			[]string{"[#####---------------]  25 %  100 MB of 400 MB", ""},
		},
		{
			"a narrow terminal", 400e6, 20,
			[]step{{time.Second, 100e6}},
			[]string{"[#####-------------", ""},
		},
		{
			"nothing read yet", 400e6, 80,
			[]step{{time.Second, 0}},
			[]string{"[--------------------]   0 %  0 B of 400 MB  0 B/s", ""},
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
	var p *Progress
	p.Set(1)
	p.Clear()
}

// A sharedText is written by one goroutine and read by another.
type sharedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *sharedText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *sharedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Work that takes longer than a second is named, step by step, and leaves nothing on the screen.
func TestActivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var screen sharedText
		a := newActivity(&screen, "reading 57 MB")
		time.Sleep(900 * time.Millisecond)
		a.Now("reading 57 MB still")
		synctest.Wait()
		if text := screen.String(); text != "" {
			t.Errorf("early: %q", text)
		}
		time.Sleep(1200 * time.Millisecond)
		a.Now("writing x.html")
		a.Hide()
		time.Sleep(time.Second)
		a.End()
		a.End()
		want := []string{
			"", "reading 57 MB still, 1 s", "reading 57 MB still, 2 s", "writing x.html, 2 s", "", "writing x.html, 3 s", "",
		}
		if diff := cmp.Diff(want, strings.Split(screen.String(), ClearLine)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	var none *Activity
	none.Now("x")
	none.Hide()
	none.End()
}
