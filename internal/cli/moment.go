package cli

import (
	"errors"
	"time"

	"github.com/clewdev/clew/sessions"
)

// A moment is a flag for a time: a day, a day with a time, or an age.
type moment struct {
	time.Time
	end bool // a day is its end
}

// Type is what the help calls the value.
func (m *moment) Type() string { return "time" }

func (m *moment) String() string {
	if m.IsZero() {
		return ""
	}
	return m.Format(time.RFC3339)
}

// Set reads a time, which is local unless it says otherwise.
func (m *moment) Set(text string) error {
	at, err := parseMoment("", text, time.Now(), m.end)
	if err != nil || text == "" {
		return errors.New("it is a date such as 2026-11-01 or 2026-11-01T15:04, or an age such as 36h or 7d")
	}
	m.Time = at
	return nil
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
