package clikit

import (
	"testing"
	"time"

	"github.com/clewdev/clew/wire"
)

func TestByteSizeSet(t *testing.T) {
	tests := []struct {
		in   string
		want ByteSize // 0 for an error
	}{
		{"1", 1},
		{"500000", 500_000},
		{"12B", 12},
		{"64MiB", wire.DefaultMaxFrameBytes},
		{"64 mib", wire.DefaultMaxFrameBytes},
		{"2kB", 2000},
		{"2KiB", 2048},
		{"1GB", 1_000_000_000},
		{"1GiB", 1 << 30},
		{"", 0},
		{"0", 0},
		{"-1", 0},
		{"MiB", 0},
		{"1.5MiB", 0},
		{"9223372036854775807GiB", 0},
		{"99999999999999999999", 0},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			var got ByteSize
			if err := got.Set(tt.in); got != tt.want || (err != nil) != (tt.want == 0) {
				t.Errorf("Set gives %d, %v; want %d", got, err, tt.want)
			}
		})
	}
}

func TestByteSizeString(t *testing.T) {
	for want, size := range map[string]ByteSize{"64MiB": 64 << 20, "1MB": 1e6, "3KiB": 3072, "1001B": 1001, "0B": 0} {
		if got := size.String(); got != want {
			t.Errorf("String of %d = %s, want %s", int(size), got, want)
		}
	}
}

func TestMoment(t *testing.T) {
	t.Parallel()
	var m TimeFlag
	if err := m.Set("2026-11-01T15:04:05Z"); err != nil || !m.Equal(time.Date(2026, 11, 1, 15, 4, 5, 0, time.UTC)) {
		t.Errorf("%v, %v", m, err)
	}
	// Two days have 47 or 49 hours when summer time begins or ends.
	if err := m.Set("2d"); err != nil || m.Before(time.Now().Add(-50*time.Hour)) || m.After(time.Now().Add(-46*time.Hour)) {
		t.Errorf("2d is %v, %v", m, err)
	}
	for _, text := range []string{"", "d", "-3d", "-1h", "999999999d", "2026-13-01", "monday"} {
		if m.Set(text) == nil {
			t.Errorf("%q is a time", text)
		}
	}
}
