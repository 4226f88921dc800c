package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/clewdev/clew/transcript"
)

// writeJSON writes one value on one line.
func (o *statsOptions) writeJSON(v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return o.write(string(escapeLine(line.Bytes())))
}

// writeCSV writes a line of headings and one for each row.
func (o *statsOptions) writeCSV(r *statsReport) error {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	records := [][]string{append(append([]string{}, r.By...), "answers", "input_tokens", "output_tokens",
		"cache_write_tokens", "cache_read_tokens", "total_tokens", "web_searches", "cost_usd", "unknown_cost")}
	for i := range r.Rows {
		records = append(records, append(csvNames(r.names(&r.Rows[i].Key)), csvFigures(&r.Rows[i].Totals)...))
	}
	if r.isBy(transcript.ByProject) {
		addColumn(records, "cwd", func(i int) string { return r.Rows[i].CWD })
	}
	if r.isBy(transcript.BySession) {
		addColumn(records, "title", func(i int) string { return r.Rows[i].Title })
	}
	if err := w.WriteAll(records); err != nil {
		return err
	}
	return o.write(text.String())
}

// addColumn puts a name behind each record, the first of which has the headings.
func addColumn(records [][]string, heading string, name func(row int) string) {
	records[0] = append(records[0], heading)
	for i := range records[1:] {
		records[i+1] = append(records[i+1], csvNames([]string{name(i)})...)
	}
}

func csvFigures(t *transcript.Totals) []string {
	u := &t.Usage
	var list []string
	for _, n := range []int{
		t.Calls, u.InputTokens, u.OutputTokens, u.CacheCreationTokens, u.CacheReadTokens, u.TotalTokens(), u.WebSearches,
	} {
		list = append(list, strconv.Itoa(n))
	}
	return append(list, t.Cost.Decimal(), strconv.FormatBool(t.UnknownCost))
}

// csvNames makes names fit for a table program, which would take some for formulas.
func csvNames(names []string) []string {
	for i, name := range names {
		names[i] = printable(name)
		if strings.IndexAny(name, "=+@") == 0 {
			names[i] = "'" + names[i]
		}
	}
	return names
}
