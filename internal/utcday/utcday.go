// Package utcday names days of UTC, to which the costs of a fleet's accounts belong.
package utcday

import "time"

// Of returns the day of a time. Tests that must not meet midnight replace it.
var Of = func(at time.Time) string { return at.UTC().Format(time.DateOnly) }
