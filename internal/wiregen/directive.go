package main

import (
	"errors"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

const directivePrefix = "//wire:"

// directives returns the lines //wire:word args of a comment.
func directives(doc *ast.CommentGroup) []*ast.Comment {
	if doc == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(doc.List), func(c *ast.Comment) bool {
		return !strings.HasPrefix(c.Text, directivePrefix)
	})
}

// maxArgs is how many arguments the directive of a kind has at most. The first
// is required.
var maxArgs = map[string]int{"message": 2, "block": 1, "event": 1, "delta": 1}

// readDirective reads //wire:open, or //wire:kind args, which a struct has once at
// most.
func (st *structType) readDirective(text string) error {
	words := strings.Fields(strings.TrimPrefix(text, directivePrefix))
	if len(words) == 0 {
		return errors.New("no word")
	}
	kind, args := words[0], words[1:]
	if kind == "open" && len(args) == 0 {
		st.open = true
		return nil
	}
	most := maxArgs[kind]
	switch {
	case most == 0 && kind != "open":
		return fmt.Errorf("unknown word %q", kind)
	case len(args) > most, len(args) == 0:
		return fmt.Errorf("%d arguments", len(args))
	case len(args) == 2 && args[0] != "system":
		return errors.New("only system messages have a subtype")
	case st.kind != "":
		return fmt.Errorf("it is a %s already", st.kind)
	}
	st.kind, st.args = kind, args
	return nil
}

// checkPlaces refuses directives that are not in the doc comment of a type.
func checkPlaces(file *ast.File) error {
	placed := map[*ast.Comment]bool{}
	for _, decl := range file.Decls {
		if decl, ok := decl.(*ast.GenDecl); ok {
			markDirectives(placed, decl)
		}
	}
	for _, group := range file.Comments {
		for _, c := range directives(group) {
			if !placed[c] {
				return fmt.Errorf("%s is not in the doc comment of a type", c.Text)
			}
		}
	}
	return nil
}

func markDirectives(placed map[*ast.Comment]bool, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		if spec, ok := spec.(*ast.TypeSpec); ok {
			for _, c := range directives(typeDoc(decl, spec)) {
				placed[c] = true
			}
		}
	}
}
