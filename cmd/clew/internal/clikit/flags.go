package clikit

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for systems without a database of time zones

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clewdev/clew/internal/wording"
)

// An OnOff is a flag that is on when it is given without a value. Unlike pflag's own, it has a
// readable error for other values.
type OnOff bool

// AddOnOff adds a flag to cmd that sets target.
func AddOnOff(cmd *cobra.Command, target *bool, name, usage string) {
	cmd.Flags().VarPF((*OnOff)(target), name, "", usage).NoOptDefVal = "true"
}

// Type is bool, which the help leaves out.
func (o *OnOff) Type() string { return "bool" }

func (o *OnOff) String() string { return strconv.FormatBool(bool(*o)) }

// Set reads true and false, as strconv.ParseBool does.
func (o *OnOff) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("must be true or false")
	}
	*o = OnOff(on)
	return nil
}

// A TimeFlag is a flag for a time: a day, a day with a time, or an age.
type TimeFlag struct {
	time.Time
	End bool // a day stands for its end
}

// Type names the value in the help.
func (m *TimeFlag) Type() string { return "time" }

func (m *TimeFlag) String() string {
	if m.IsZero() {
		return ""
	}
	return m.Format(time.RFC3339)
}

// Set reads a time. It is local unless it has an offset.
func (m *TimeFlag) Set(text string) error {
	at, err := ParseTime("", text, time.Now(), m.End)
	if err != nil || text == "" {
		return errors.New("must be a date such as 2026-11-01 or 2026-11-01T15:04, or an age such as 36h or 7d")
	}
	m.Time = at
	return nil
}

// A ByteSize is a flag: a whole number, with or without a unit.
type ByteSize int

// sizeUnits are in the order in which they are tried: the others also end in "B".
var sizeUnits = []struct {
	name  string
	bytes uint64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// Type names the value in the help.
func (s *ByteSize) Type() string { return "size" }

// String returns the size in the largest unit of which it is a multiple.
func (s *ByteSize) String() string {
	for _, u := range sizeUnits {
		if n := uint64(*s); n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatUint(n/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// Set reads a size. Units may be in any case.
func (s *ByteSize) Set(text string) error {
	number, unit := text, uint64(1)
	for _, u := range sizeUnits {
		if cut := len(text) - len(u.name); cut > 0 && strings.EqualFold(text[cut:], u.name) {
			number, unit = strings.TrimSpace(text[:cut]), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 || n > math.MaxInt/unit {
		return errors.New("must be a positive whole number of bytes, such as 500000, 512KiB or 64MiB")
	}
	*s = ByteSize(n * unit)
	return nil
}

// A GivenFlag records whether a flag was given.
type GivenFlag struct {
	Name string
	On   bool
}

// AtMostOne refuses flags that exclude each other.
func AtMostOne(flags []GivenFlag) error {
	first := ""
	for _, f := range flags {
		switch {
		case f.On && first != "":
			return UsageError(fmt.Sprintf("--%s can't be used with --%s", first, f.Name), "")
		case f.On:
			first = f.Name
		}
	}
	return nil
}

// ParseZone returns the time zone with a name, and the local time zone for "".
func ParseZone(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, UsageError("unknown time zone "+Printable(name), "Give a name such as UTC or Europe/Paris.")
	}
	return zone, nil
}

var longAgo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,5})([dw])$`)
})

// ParseTime parses the value of a flag in the time zone of now. "" is the zero time. A day stands
// for its beginning, or with whole for its end.
func ParseTime(flag, text string, now time.Time, whole bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if m := longAgo().FindStringSubmatch(text); m != nil {
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
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", wording.DateTime} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, UsageError(fmt.Sprintf("--%s %s is not a valid time", flag, Printable(text)),
		"Give a day such as 2026-11-15 or yesterday, a time such as 2026-11-15T14:00, or an age: 12h, 7d, 2w.")
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

// startOfDay returns the start of the day that is a number of days after the day of t.
func startOfDay(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// SettingAnnotation marks a flag whose value comes from a setting.
const SettingAnnotation = "clew_setting"

// Typed reports whether a flag was given on the command line.
func Typed(flag *pflag.Flag) bool {
	return flag != nil && flag.Changed && flag.Annotations[SettingAnnotation] == nil
}

// Completing reports whether this process completes a line for a shell. It is set before commands are
// made.
var Completing bool

// IsCompletion reports whether arguments ask for the completion of a line.
func IsCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// CompleteFlag completes the values of a flag if the command has it. Cobra keeps the flag for the
// rest of the process, so it is registered only if [Completing].
func CompleteFlag(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if Completing && cmd.Flag(name) != nil {
		_ = cmd.RegisterFlagCompletionFunc(name, complete) // it fails only for unknown flags
	}
}

// CompleteList completes the last word in a comma-separated list.
func CompleteList(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		before := word[:strings.LastIndex(word, ",")+1]
		all := make([]string, len(values))
		for i, value := range values {
			all[i] = before + value
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
