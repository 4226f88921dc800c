package wording

import (
	"fmt"
	"math"
	"time"
)

// Duration writes a duration in one or two units: 0.4 s, 48 s, 12 min, 3 h 5 min, 2 d 4 h. One below
// zero is 0.
func Duration(d time.Duration) string {
	if d < 9950*time.Millisecond {
		return fmt.Sprintf("%.1f s", max(d, 0).Seconds())
	}
	return units(d, " ", " s", " min", " h", " d")
}

// Milliseconds is [Duration] for a number of milliseconds, which need not fit into a time.Duration.
func Milliseconds(ms int64) string {
	const most = math.MaxInt64/int64(time.Millisecond) - 60_000 // it is rounded to minutes
	return Duration(time.Duration(max(min(ms, most), 0)) * time.Millisecond)
}

// ShortDuration writes a duration for columns and status lines: 9s, 48s, 12m, 3h5m, 2d4h. More than
// 999 days are >999d.
func ShortDuration(d time.Duration) string {
	if d >= 1000*24*time.Hour {
		return ">999d"
	}
	return units(max(d, 0), "", "s", "m", "h", "d")
}

// units writes a duration, rounded to minutes from a minute on and to hours from a day on.
func units(d time.Duration, gap, second, minute, hour, day string) string {
	minutes := int(d.Round(time.Minute) / time.Minute)
	switch {
	case d < 59500*time.Millisecond:
		return fmt.Sprintf("%.0f%s", d.Seconds(), second)
	case minutes < 60:
		return fmt.Sprintf("%d%s", max(minutes, 1), minute)
	case minutes < 24*60:
		return pair(minutes/60, hour, gap, minutes%60, minute)
	}
	hours := (minutes + 30) / 60
	return pair(hours/24, day, gap, hours%24, hour)
}

func pair(large int, largeUnit, gap string, small int, smallUnit string) string {
	text := fmt.Sprintf("%d%s", large, largeUnit)
	if small > 0 {
		text += fmt.Sprintf("%s%d%s", gap, small, smallUnit)
	}
	return text
}

// Seconds writes the time on a running clock, in whole seconds that have passed: 73 s.
func Seconds(d time.Duration) string { return fmt.Sprintf("%d s", int64(max(d, 0)/time.Second)) }

// DateTime is the layout of a time with its date, to the minute.
const DateTime = "2006-01-02 15:04"

// Clock writes a time: 15:04 on the day of now, else 2026-11-14 15:04. It is in the time zone of now.
func Clock(at, now time.Time) string {
	at = at.In(now.Location())
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format(DateTime)
}

// Span writes when something began and ended: 14 November 2026, 15:04–16:30. The end is left out if
// it is zero or less than a minute later, and its date if that is the same. An unknown beginning is
// "". Both are in the time zone of from.
func Span(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	const whole = "2 January 2006, 15:04"
	text := from.Format(whole)
	to = to.In(from.Location())
	switch {
	case to.Sub(from) < time.Minute: // a zero time is long before
		return text
	case from.Format(time.DateOnly) == to.Format(time.DateOnly):
		return text + "–" + to.Format("15:04")
	}
	return text + " – " + to.Format(whole)
}

// Age writes how long ago a time was: now, 5m ago, 2h ago, 3d ago, 14 Nov, 2025-11-14. Dates are in
// the time zone of now.
func Age(at, now time.Time) string {
	at = at.In(now.Location())
	switch d := now.Sub(at); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	case d < 7*24*time.Hour:
		return fmt.Sprintf("%dd ago", int(d.Hours())/24)
	case at.Year() == now.Year():
		return at.Format("2 Jan")
	}
	return at.Format("2006-01-02")
}
