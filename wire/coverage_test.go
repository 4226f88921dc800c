package wire_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const coverageFile = "../docs/spec-coverage.md"

// specifiedRows returns the rows that each table of the coverage document has, in
// order: the behaviours and sections of the documents, and the cases.
func specifiedRows() map[string][]string {
	rows := map[string][]string{
		"REQ_002.1: text deltas":             numbered(".1.", 11),
		"REQ_002.2: assistant messages":      numbered(".2.", 14),
		"REQ_002.3: results":                 numbered(".3.", 12),
		"REQ_002.4: lines that are not JSON": numbered(".4.", 12),
		"REQ_002.5: the line buffer":         numbered(".5.", 14),
		"Message parsing": {
			"Message Parser Architecture",
			"Speculative JSON Parsing Strategy",
			"Message Type Detection and Routing",
			"Content Block Parsing",
			"Field Validation and Error Handling",
			"Buffer Management and Memory Safety",
			"Thread Safety and Concurrency",
			"Error Recovery and Resilience",
			"Performance Optimizations",
		},
		"Message schema": {
			"Message Types: System Messages",
			"Message Types: Assistant Messages",
			"Message Types: User Messages",
			"Message Types: Result Messages",
			"Content Block Types: Text Content",
			"Content Block Types: Tool Use Content",
			"Content Block Types: Tool Result Content",
			"Message Flow Patterns: Simple Query",
			"Message Flow Patterns: Tool Usage",
			"Message Flow Patterns: Permission Denial",
			"Message Flow Patterns: Complex Tool Chain",
			"Parsing Rules: Message Type Detection",
			"Parsing Rules: Content Array Handling",
			"Parsing Rules: Optional Fields",
			"Parsing Rules: Permission Errors",
			"Example JSON Structures: Assistant with Tool Use",
			"Example JSON Structures: User with Tool Result",
			"Implementation Checklist",
		},
		"Black-box cases": numbered("", 120),

		"Lines":                     numbered("", 9),
		"Entries":                   numbered("", 6),
		"Classification":            numbered("", 36),
		"Sanitising":                numbered("", 7),
		"Chunks":                    numbered("", 22),
		"Tool summaries":            numbered("", 24),
		"Subagents and teams":       numbered("", 27),
		"Ongoing":                   numbered("", 14),
		"Parser package":            numbered("", 35),
		"What the package promises": numbered("", 37),
	}
	maps.Copy(rows, flowRows)
	return rows
}

// numbered returns the prefix with the numbers from 1 to n.
func numbered(prefix string, n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint(prefix, i+1))
	}
	return ids
}

// A coverageRow is a row of a table: what it is about, and what shows it.
type coverageRow struct{ table, id, shownBy, note string }

// coverageRows returns the rows of all tables of the coverage document. A table is
// called after the heading above it.
func coverageRows(t *testing.T) []coverageRow {
	t.Helper()
	text, err := os.ReadFile(coverageFile)
	if err != nil {
		t.Fatal(err)
	}
	var rows []coverageRow
	var heading string
	head := true
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			heading, head = strings.TrimLeft(line, "# "), true
		case strings.HasPrefix(line, "|---"):
			head = false
		case strings.HasPrefix(line, "|") && !head:
			rows = append(rows, parseRow(t, heading, line))
		}
	}
	return rows
}

func parseRow(t *testing.T, table, line string) coverageRow {
	t.Helper()
	cells := strings.Split(strings.Trim(line, "|"), "|")
	if len(cells) != 4 {
		t.Fatalf("%s: %d cells in %s", table, len(cells), line)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return coverageRow{table: table, id: cells[0], shownBy: cells[2], note: cells[3]}
}

// TestSpecCoverageIsComplete checks that every behaviour, section and case has one
// row, and that there are no others.
func TestSpecCoverageIsComplete(t *testing.T) {
	got := map[string][]string{}
	for _, row := range coverageRows(t) {
		got[row.table] = append(got[row.table], row.id)
	}
	if diff := cmp.Diff(specifiedRows(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var (
	testReference = regexp.MustCompile("`(?:([a-z/]+): )?((?:Test|Fuzz|Example)[^`]*)`")
	notApplicable = regexp.MustCompile(`^not applicable: .+`)
)

// TestSpecCoverageNamesTests checks that every row names a test, or says why there
// is none, and that the tests and subtests that are named exist.
func TestSpecCoverageNamesTests(t *testing.T) {
	packages := map[string]declared{}
	for _, row := range coverageRows(t) {
		if !testReference.MatchString(row.shownBy) && !notApplicable.MatchString(row.shownBy) {
			t.Errorf("%s, %s: no test is named", row.table, row.id)
		}
		for _, match := range testReference.FindAllStringSubmatch(row.shownBy+row.note, -1) {
			folder := match[1]
			if packages[folder] == nil {
				packages[folder] = declaredTests(t, folder)
			}
			name, subtest, sub := strings.Cut(match[2], "/")
			if names, ok := packages[folder][name]; !ok {
				t.Errorf("%s, %s: there is no %s", row.table, row.id, match[0])
			} else if sub && !names[subtest] {
				t.Errorf("%s, %s: %s has no such subtest", row.table, row.id, match[0])
			}
		}
	}
}
