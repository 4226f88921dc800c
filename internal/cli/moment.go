package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/sessions"
)

// A moment is a flag for a time: a date, a date with a time, or an age.
type moment time.Time

// Type is what the help calls the value.
func (m *moment) Type() string { return "time" }

func (m *moment) String() string {
	if t := time.Time(*m); !t.IsZero() {
		return t.Format(time.RFC3339)
	}
	return ""
}

// Set reads a time, which is local unless it says otherwise.
func (m *moment) Set(text string) error {
	if age, ok := parseAge(text); ok {
		*m = moment(time.Now().Add(-age))
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			*m = moment(t)
			return nil
		}
	}
	return errors.New("it is a date such as 2026-11-01 or 2026-11-01T15:04, or an age such as 36h or 7d")
}

// parseAge reads a duration of Go, or a number of days.
func parseAge(text string) (time.Duration, bool) {
	const longest = 100_000 // days, which a duration can hold
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err == nil && n >= 0 && n <= longest
	}
	age, err := time.ParseDuration(text)
	return age, err == nil && age >= 0
}

// A sortOrder is a flag for the order of a list.
type sortOrder sessions.SortBy

var orders = []string{
	sessions.ByModified: "modified", sessions.ByCreated: "created", sessions.BySize: "size", sessions.ByTitle: "title",
}

// Type is what the help calls the value.
func (s *sortOrder) Type() string { return "order" }

func (s *sortOrder) String() string { return orders[*s] }

// Set reads the name of an order.
func (s *sortOrder) Set(text string) error {
	for i, name := range orders {
		if name == text {
			*s = sortOrder(i)
			return nil
		}
	}
	return errors.New("it is modified, created, size or title")
}
