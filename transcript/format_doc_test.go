package transcript_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdev/clew/transcript"
)

const formatPage = "../docs/transcript-format.md"

// The page on the format names all that this package knows, and its tables of types name nothing
// else.
func TestFormatPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	known := knownWords(t)
	tests := []struct{ function, section string }{
		{"knownType", "## Types"},
		{"knownSubtype", "## System entries"},
		{"knownAttachment", "## Attachments"},
		{"knownProgress", ""},
		{"knownBlock", ""},
		{"other", ""},
	}
	for _, tt := range tests {
		words := known[tt.function]
		if len(words) == 0 {
			t.Errorf("%s knows nothing", tt.function)
		}
		for _, word := range words {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(page) {
				t.Errorf("%s does not name %q, which %s knows", formatPage, word, tt.function)
			}
		}
		if tt.section == "" {
			continue
		}
		listed := firstColumns(page, tt.section)
		for _, word := range words {
			if word != "" && !slices.Contains(listed, word) {
				t.Errorf("no table of %q has a row for %q", tt.section, word)
			}
		}
		for _, word := range listed {
			if !slices.Contains(words, word) {
				t.Errorf("a table of %q has a row for %q, which %s does not know", tt.section, word, tt.function)
			}
		}
	}
}

// knownWords returns the cases of the switches of drift_known.go, by function.
func knownWords(t *testing.T) map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "drift.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	words := map[string][]string{}
	for _, decl := range file.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := function.Name.Name
		ast.Inspect(function, func(n ast.Node) bool {
			if clause, ok := n.(*ast.CaseClause); ok {
				words[name] = append(words[name], literals(clause.List)...)
			}
			return true
		})
	}
	return words
}

func literals(list []ast.Expr) []string {
	var words []string
	for _, expr := range list {
		if lit, ok := expr.(*ast.BasicLit); ok {
			if word, err := strconv.Unquote(lit.Value); err == nil {
				words = append(words, word)
			}
		}
	}
	return words
}

// firstColumns returns what stands between backticks in the first column of the tables of a
// section.
func firstColumns(page, section string) []string {
	_, text, _ := strings.Cut(page, "\n"+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var words []string
	for line := range strings.Lines(text) {
		if cells := strings.SplitN(line, "|", 3); len(cells) == 3 && cells[0] == "" {
			for i, word := range strings.Split(cells[1], "`") {
				if i%2 == 1 {
					words = append(words, word)
				}
			}
		}
	}
	return words
}

// The page names the length of the longest line that is read by default.
func TestFormatPageLongestLine(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`lines longer\s+than (\d+) MiB`).FindStringSubmatch(string(text))
	if named == nil {
		t.Fatalf("%s does not name the longest line", formatPage)
	}
	most, _ := strconv.Atoi(named[1])
	for length, invalid := range map[int]int{most << 20: 0, most<<20 + 1: 1} {
		line := `{"type":"user","uuid":"u","pad":"` + strings.Repeat("x", length-35) + `"}` + "\n"
		read, err := transcript.Read(strings.NewReader(line), nil)
		if err != nil || len(read.Invalid) != invalid {
			t.Errorf("a line of %d bytes: %d invalid lines, %v, want %d", len(line)-1, len(read.Invalid), err, invalid)
		}
	}
}
