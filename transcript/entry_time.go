package transcript

import "time"

// maxTime is longer than any time that can be read.
const maxTime = 64

// parseTime reads a time with or without a zone. It returns the zero time for anything else.
func parseTime(text []byte) time.Time {
	if at, ok := parseUTC(text); ok {
		return at
	}
	if len(text) > maxTime {
		return time.Time{}
	}
	return parseAnyTime(string(text))
}

// parseUTC reads a time in the form that the agent writes: 2006-01-02T15:04:05.000Z.
func parseUTC(b []byte) (time.Time, bool) {
	if len(b) != len("2006-01-02T15:04:05.000Z") || b[4] != '-' || b[7] != '-' || b[10] != 'T' ||
		b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return time.Time{}, false
	}
	year, month, day := digits(b[0:4]), digits(b[5:7]), digits(b[8:10])
	hour, minute, second, milli := digits(b[11:13]), digits(b[14:16]), digits(b[17:19]), digits(b[20:23])
	if year|month|day|hour|minute|second|milli < 0 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	at := time.Date(year, time.Month(month), day, hour, minute, second, milli*int(time.Millisecond), time.UTC)
	return at, at.Day() == day
}

// digits returns the number that b is, or -1.
func digits(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func parseAnyTime(text string) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC()
	}
	at, err := time.Parse("2006-01-02T15:04:05.999999999", text)
	if err != nil {
		return time.Time{}
	}
	return at
}
