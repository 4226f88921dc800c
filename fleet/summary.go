package fleet

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// A Summary is what a list shows of a job.
type Summary struct {
	ID       string    `json:"-"`
	State    State     `json:"s"`
	Cause    Cause     `json:"c,omitempty"`
	Title    string    `json:"t"`
	Queue    string    `json:"q"`
	Account  string    `json:"a"`
	Priority int       `json:"p,omitempty"`
	Worker   string    `json:"w,omitempty"`
	Attempts int       `json:"n,omitempty"`
	CostUSD  float64   `json:"u,omitempty"`
	Until    time.Time `json:"l,omitzero"`
	Created  time.Time `json:"b"`
	Changed  time.Time `json:"m"`
	By       string    `json:"y,omitempty"`
}

// Summary returns what a list shows of the job.
func (j *Job) Summary() *Summary {
	return &Summary{
		ID: j.ID, State: j.State, Cause: j.Cause, Title: j.Spec.title(), Queue: j.Spec.queue(), Account: j.Spec.account(),
		Priority: j.Spec.Priority, Worker: j.Worker(), Attempts: len(j.Attempts), CostUSD: j.CostUSD(),
		Until: j.Until, Created: j.Created, Changed: j.Changed, By: cut(j.By, maxName),
	}
}

// label returns the summary as the label of a record.
func (s *Summary) label() string {
	text, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return ascii(string(text))
}

// ascii escapes the characters of a JSON text that are not ASCII.
func ascii(text string) string {
	var b strings.Builder
	escape := func(r rune) {
		hex := strconv.FormatInt(int64(r), 16)
		b.WriteString(`\u` + strings.Repeat("0", 4-len(hex)) + hex)
	}
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			escape(high)
			escape(low)
		default:
			escape(r)
		}
	}
	return b.String()
}

// summaryOf reads the label of a record.
func summaryOf(key, label string) (*Summary, error) {
	s := &Summary{ID: key}
	err := json.Unmarshal([]byte(label), s)
	return s, err
}

// isOpen reports whether the label is that of a job that has not ended. It is called for each job there is,
// so it does not read the whole label.
func isOpen(label string) bool {
	for _, s := range []State{Done, Failed, Canceled} {
		if strings.HasPrefix(label, `{"s":"`+string(s)+`"`) {
			return false
		}
	}
	return true
}
