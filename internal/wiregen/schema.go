package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A schema is what the files of package wire say about the wire.
type schema struct {
	structs []*structType
	strings map[string]bool // the named string types, without JSON
	methods map[string]bool // methods written by hand, as "Type.method"
}

// A structType is a struct that mirrors a JSON object.
type structType struct {
	name   string
	kind   string // message, block, event, delta, or empty
	args   []string
	fields []field
	flat   bool // its API message may lie flat on the frame
}

// A field is a member of the object.
type field struct {
	name     string
	key      string
	typ      string
	required bool
	intern   bool
	lenient  bool
	embedded bool
}

// A category sorts the field types by how they are read and written.
type category int

const (
	plain category = iota
	structValue
	structPointer
	structSlice
	structMap
)

// readSchema parses the package in dir, without its tests and generated files.
func readSchema(dir string) (*schema, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	s := &schema{strings: map[string]bool{}, methods: map[string]bool{}}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if err := s.addFile(file); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	slices.SortFunc(s.structs, func(a, b *structType) int { return strings.Compare(a.name, b.name) })
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *schema) addFile(file *ast.File) error {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			s.addMethod(decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					if err := s.addType(decl, spec); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (s *schema) addMethod(decl *ast.FuncDecl) {
	if decl.Recv == nil {
		return
	}
	recv := strings.TrimPrefix(types.ExprString(decl.Recv.List[0].Type), "*")
	s.methods[recv+"."+decl.Name.Name] = true
}

func (s *schema) addType(decl *ast.GenDecl, spec *ast.TypeSpec) error {
	switch t := spec.Type.(type) {
	case *ast.Ident:
		if t.Name == "string" && spec.Name.Name != "JSON" {
			s.strings[spec.Name.Name] = true
		}
	case *ast.StructType:
		st, err := readStruct(spec.Name.Name, t)
		if err != nil {
			return err
		}
		st.readDirective(decl.Doc)
		if isRaw(t) && (st.kind != "" || len(st.fields) > 0) {
			s.structs = append(s.structs, st)
		}
	}
	return nil
}

// isRaw reports whether the struct keeps the bytes it was read from.
func isRaw(t *ast.StructType) bool {
	if len(t.Fields.List) == 0 || len(t.Fields.List[0].Names) != 1 {
		return false
	}
	first := t.Fields.List[0]
	return first.Names[0].Name == "raw" && types.ExprString(first.Type) == "string"
}

func readStruct(name string, t *ast.StructType) (*structType, error) {
	st := &structType{name: name}
	for _, f := range t.Fields.List {
		if len(f.Names) == 1 && f.Names[0].Name == "flat" {
			st.flat = true
		}
		if f.Tag == nil {
			continue
		}
		parsed, err := readField(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		st.fields = append(st.fields, parsed)
	}
	return st, nil
}

func readField(f *ast.Field) (field, error) {
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return field{}, err
	}
	tag := reflect.StructTag(text)
	parsed := field{key: tag.Get("json"), typ: types.ExprString(f.Type), embedded: len(f.Names) == 0}
	parsed.name = strings.TrimPrefix(parsed.typ, "*")
	if !parsed.embedded {
		parsed.name = f.Names[0].Name
	}
	for opt := range strings.SplitSeq(tag.Get("wire"), ",") {
		switch opt {
		case "required":
			parsed.required = true
		case "intern":
			parsed.intern = true
		case "lenient":
			parsed.lenient = true
		case "":
		default:
			return field{}, fmt.Errorf("field %s: unknown option %q", parsed.name, opt)
		}
	}
	return parsed, nil
}

// readDirective finds the line //wire:kind args in a doc comment.
func (st *structType) readDirective(doc *ast.CommentGroup) {
	if doc == nil {
		return
	}
	for _, c := range doc.List {
		if rest, ok := strings.CutPrefix(c.Text, "//wire:"); ok {
			words := strings.Fields(rest)
			st.kind, st.args = words[0], words[1:]
		}
	}
}

// check makes sure that every field has a type that can be read and written.
func (s *schema) check() error {
	for _, st := range s.structs {
		for _, f := range st.fields {
			if _, err := s.reader(f); err != nil {
				return fmt.Errorf("%s.%s: %w", st.name, f.name, err)
			}
		}
	}
	return nil
}

func (s *schema) isStruct(name string) bool {
	return slices.ContainsFunc(s.structs, func(st *structType) bool { return st.name == name })
}

// category splits a field's type into its category and the struct in it.
func (s *schema) category(typ string) (category, string) {
	for prefix, c := range map[string]category{"*": structPointer, "[]": structSlice, "map[string]": structMap} {
		if elem, ok := strings.CutPrefix(typ, prefix); ok && s.isStruct(elem) {
			return c, elem
		}
	}
	if s.isStruct(typ) {
		return structValue, typ
	}
	return plain, typ
}

// of returns the structs with a directive of that kind.
func (s *schema) of(kind string) []*structType {
	var list []*structType
	for _, st := range s.structs {
		if st.kind == kind {
			list = append(list, st)
		}
	}
	return list
}

// subtypeField returns the field that holds the subtype, or "".
func (st *structType) subtypeField() string {
	for _, f := range st.fields {
		if f.key == "subtype" {
			return f.name
		}
	}
	return ""
}
