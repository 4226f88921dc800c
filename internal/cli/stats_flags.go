package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // not every system has the time zones

	"github.com/clewdev/clew/transcript"
)

// dimensions is a flag: words with commas between them. The first time that it
// is given replaces the default.
type dimensions struct {
	list  []transcript.Dimension
	given bool
}

// Type names the sort of value in the help.
func (d *dimensions) Type() string { return "groups" }

func (d *dimensions) String() string {
	words := make([]string, len(d.list))
	for i, dim := range d.list {
		words[i] = dim.String()
	}
	return strings.Join(words, ",")
}

// Set reads the words. One that is repeated counts once.
func (d *dimensions) Set(text string) error {
	var list []transcript.Dimension
	if d.given {
		list = d.list
	}
	for word := range strings.SplitSeq(text, ",") {
		dim, err := transcript.ParseDimension(strings.TrimSpace(word))
		if err != nil {
			return errors.New("groups are month, week, day, hour, block, model, project, session and agent")
		}
		if !slices.Contains(list, dim) {
			list = append(list, dim)
		}
	}
	d.list, d.given = list, true
	return nil
}

// A statsOrder is a flag for the order of groups. "" is what fits them.
type statsOrder string

// Type names the sort of value in the help.
func (o *statsOrder) Type() string { return "order" }

func (o *statsOrder) String() string { return string(*o) }

// Set reads the name of an order.
func (o *statsOrder) Set(text string) error {
	if !slices.Contains([]string{"name", "cost", "tokens", "answers"}, text) {
		return errors.New("it is name, cost, tokens or answers")
	}
	*o = statsOrder(text)
	return nil
}

// A chosen is whether a flag was given.
type chosen struct {
	name string
	on   bool
}

// atMostOne refuses flags that do not go together.
func atMostOne(flags []chosen) error {
	first := ""
	for _, f := range flags {
		switch {
		case f.on && first != "":
			return usageError(fmt.Sprintf("--%s and --%s do not go together", first, f.name), "")
		case f.on:
			first = f.name
		}
	}
	return nil
}

func usageError(text, hint string) error {
	return &failure{code: exitUsage, err: errors.New(text), hint: hint}
}

func parseZone(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, usageError("there is no time zone "+printable(name), "Give a name such as UTC or Europe/Paris.")
	}
	return zone, nil
}

var longAgo = regexp.MustCompile(`^([0-9]{1,5})([dw])$`)

// parseMoment reads the time that a flag was given, in the time zone of now. "" is
// the zero time. A day is its begin, or, with whole, its end.
func parseMoment(flag, text string, now time.Time, whole bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if m := longAgo.FindStringSubmatch(text); m != nil {
		return backFrom(now, m[1], m[2]), nil
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	if day, ok := parseDay(text, now); ok {
		if whole {
			day = startOfDay(day, 1)
		}
		return day, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usageError(fmt.Sprintf("--%s %s is not a time", flag, printable(text)),
		"Give a day such as 2026-11-15 or yesterday, a time such as 2026-11-15T14:00, or how long ago: 12h, 7d, 2w.")
}

// backFrom goes back by days or weeks on the calendar.
func backFrom(now time.Time, number, unit string) time.Time {
	n, _ := strconv.Atoi(number) // five digits at most
	if unit == "w" {
		n *= 7
	}
	return now.AddDate(0, 0, -n)
}

func parseDay(text string, now time.Time) (time.Time, bool) {
	switch text {
	case "today":
		return startOfDay(now, 0), true
	case "yesterday":
		return startOfDay(now, -1), true
	}
	day, err := time.ParseInLocation(time.DateOnly, text, now.Location())
	return day, err == nil
}

// startOfDay returns when the day begins that is so many days after that of t.
func startOfDay(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}
