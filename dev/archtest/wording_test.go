package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ownWording holds the formats of numbers and times that only internal/wording may have, by the kind
// of number.
var ownWording = map[string]*regexp.Regexp{
	"a cost":       regexp.MustCompile(`\$%[-+0-9.]*[dfgsv]|≥ \$|at least \$`),
	"a size":       regexp.MustCompile(`^ bytes$|%[-+0-9.]*[dfgv] ?([kKMGT]i?B)\b`),
	"a duration":   regexp.MustCompile(`%[-+0-9.]*[dfgv] (s|min|h)\b`),
	"an age":       regexp.MustCompile(`%[-+0-9.]*[dfgv] ?[a-z]* ago\b`),
	"a percentage": regexp.MustCompile(`^ %$|%[-+0-9.]*[dfgv] ?%%`),
	"a plural":     regexp.MustCompile(`%d [a-z]+(%s|\(s\))|%d more [a-z]+s\b`),
	"a time":       regexp.MustCompile(`2006-01-02 15:04($|[^:])|January 2006,? 15:04`),
}

// TestWording keeps the spelling of numbers and times in one package: users read the same thing on all screens.
func TestWording(t *testing.T) {
	t.Parallel()
	sources, fset := readSources(t)
	for _, s := range sources {
		if s.test || s.dir == "internal/wording" || s.dir == "usage" || strings.Contains(s.dir+"/", "examples/") || tool(importPath(s.dir)) {
			continue
		}
		for _, found := range formatsItself(s.syntax) {
			t.Errorf("%s: %s: internal/wording writes that", fset.Position(found.pos), found.what)
		}
	}
}

// TestFormatsItself proves that the rule finds what it is about.
func TestFormatsItself(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`$%.2f`: "a cost", `~$%s`: "a cost", `%.1f MB`: "a size", `%d KB free`: "a size", `%d min %02d s`: "a duration", `%dm ago`: "an age",
		`%v ago`: "an age", `#$%&`: "", `%d file%s`: "a plural", `%d server(s)`: "a plural", `%d more lines: press`: "a plural", ` bytes`: "a size", ` %`: "a percentage", `2006-01-02 15:04`: "a time", `2 January 2006, 15:04`: "a time", `2006-01-02 15:04:05`: "", `2006-01-02T15:04`: "", `%3.0f%%`: "a percentage", `%d %% done`: "a percentage", `100 %% of it`: "", `%d of %d turns`: "", `price: 5$`: "", `%s`: "",
	} {
		got := ""
		file := &ast.File{Name: ast.NewIdent("p"), Decls: []ast.Decl{&ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{&ast.ValueSpec{
			Names: []*ast.Ident{ast.NewIdent("x")}, Values: []ast.Expr{&ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(text)}},
		}}}}}
		for _, found := range formatsItself(file) {
			got += found.what
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

type formatted struct {
	pos  token.Pos
	what string
}

// formatsItself returns the string literals that write a number.
func formatsItself(file *ast.File) (found []formatted) {
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil || strings.Contains(text, "\n") { // a text of several lines is a page
			return true
		}
		for what, format := range ownWording {
			if format.MatchString(text) {
				found = append(found, formatted{literal.Pos(), what})
			}
		}
		return true
	})
	return found
}
