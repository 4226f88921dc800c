package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Summary is a job's row in a list.
type Summary struct {
	ID       string
	State    State
	Cause    Cause
	Text     string // about the cause, cut
	Title    string
	Queue    string
	Account  string
	Priority int
	Worker   string
	Attempts int
	CostUSD  float64
	Until    time.Time
	Created  time.Time
	Changed  time.Time
	By       string
}

// Summary returns what a list shows of the job.
func (j *Job) Summary() *Summary {
	return &Summary{
		ID: j.ID, State: j.State, Cause: j.Cause, Text: cut(j.Text, maxSaid), Title: j.Spec.title(), Queue: j.Spec.queue(), Account: j.Spec.account(),
		Priority: j.Spec.Priority, Worker: j.Worker(), Attempts: len(j.Attempts), CostUSD: j.CostUSD(),
		Until: j.Until, Created: j.Created, Changed: j.Changed, By: cut(j.By, maxName),
	}
}

// Label returns the summary as the label of a record: its fields, separated by "|". Each job of a list has
// one to be read, and JSON takes several times as long.
func (s *Summary) Label() string {
	fields := []string{
		short(string(s.State)), short(string(s.Cause)), short(s.Queue), short(s.Account), strconv.Itoa(s.Priority), short(s.Worker), strconv.Itoa(s.Attempts),
		strconv.FormatFloat(s.CostUSD, 'g', -1, 64), millis(s.Until), millis(s.Created), millis(s.Changed), escape(s.By), escape(s.Title), escape(s.Text),
	}
	return strings.Join(fields, "|")
}

// labelFields is the number of fields of a label. A later version may have more of them.
const labelFields = 14

// maxSaid is the maximum size of the text about a cause in a list, in bytes.
const maxSaid = 150

// Damaged is the state in the summary of a job whose record can't be read. The title has the
// reason. No record has this state.
const Damaged State = "damaged"

// summaryOf reads the label of a record.
func summaryOf(key, label string) *Summary {
	s, err := readLabel(key, label)
	if err != nil {
		return &Summary{ID: key, State: Damaged, Title: err.Error()}
	}
	return s
}

func readLabel(key, label string) (*Summary, error) {
	var f [labelFields]string
	rest := label
	for i := range f {
		f[i], rest, _ = strings.Cut(rest, "|")
	}
	s := &Summary{
		ID: key, State: State(f[0]), Cause: Cause(unescape(f[1])), Queue: unescape(f[2]), Account: unescape(f[3]), Worker: unescape(f[5]),
		By: unescape(f[11]), Title: unescape(f[12]), Text: unescape(f[13]),
	}
	var errs [6]error
	s.Priority, errs[0] = strconv.Atoi(f[4])
	s.Attempts, errs[1] = strconv.Atoi(f[6])
	s.CostUSD, errs[2] = strconv.ParseFloat(f[7], 64)
	s.Until, errs[3] = fromMillis(f[8])
	s.Created, errs[4] = fromMillis(f[9])
	s.Changed, errs[5] = fromMillis(f[10])
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, fmt.Errorf("the record can't be read: %w", err)
	}
	if !slices.Contains(States, s.State) {
		return nil, fmt.Errorf("the record can't be read: there is no state %q", cut(string(s.State), maxName))
	}
	return s, nil
}

// millis returns a time in milliseconds, or "" for none.
func millis(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

func fromMillis(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(n).UTC(), err
}

// short escapes a name, which may be long in a record that was damaged on purpose.
func short(name string) string { return escape(cut(name, maxName)) }

// escape returns a text in ASCII without "|" and control characters.
func escape(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], "|", `\x7c`)
}

// unescape returns the text that was escaped, or what is there if it was not.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	plain, err := strconv.Unquote(`"` + text + `"`)
	if err != nil {
		return text
	}
	return plain
}

// isOpen reports whether the label belongs to an open job. It is called for every job, so it does
// not read the whole label.
func isOpen(label string) bool {
	state, _, _ := strings.Cut(label, "|")
	return !State(state).Ended()
}
