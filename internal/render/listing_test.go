package render

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.FixedZone("", 3600))
	for age, want := range map[time.Duration]string{
		-time.Hour: "now", 59 * time.Second: "now", time.Minute: "1m ago", 59 * time.Minute: "59m ago", 2 * time.Hour: "2h ago",
		23*time.Hour + 59*time.Minute: "23h ago", 24 * time.Hour: "1d ago", 6 * 24 * time.Hour: "6d ago",
		7 * 24 * time.Hour: "10 Nov", 400 * 24 * time.Hour: "2025-10-13",
	} {
		if got := Age(now.Add(-age), now); got != want {
			t.Errorf("%v: %q, want %q", age, got, want)
		}
	}
}

func TestDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.FixedZone("", 3600))
	for date, want := range map[string]string{
		"2026-11-17T00:00:00+01:00": "Today", "2026-11-16T23:30:00Z": "Today", "2026-11-16T23:59:59+01:00": "Yesterday",
		"2026-11-11T12:00:00+01:00": "Wednesday", "2026-11-10T12:00:00+01:00": "10 November",
		"2025-11-17T12:00:00+01:00": "17 November 2025", "2026-11-18T12:00:00+01:00": "18 November",
	} {
		at, err := time.Parse(time.RFC3339, date)
		if err != nil {
			t.Fatal(err)
		}
		if got := Day(at, now); got != want {
			t.Errorf("%s: %q, want %q", date, got, want)
		}
	}
}
