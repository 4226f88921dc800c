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

// A schema describes the frames of the wire, as read from the files of package wire.
type schema struct {
	structs []*structType
	strings map[string]bool // the named string types, without JSON
	methods map[string]bool // methods written by hand, as "Type.method"
}

// A structType is a struct that mirrors a JSON object.
type structType struct {
	name    string
	kind    string // message, block, event, delta, or empty for a nested value
	args    []string
	fields  []field
	flat    bool // the members of its API message may be on the frame itself
	open    bool // it may have members without a field
	methods bool // it has the exported methods although it is a nested value
}

// plain reports whether the struct has no methods Raw, MarshalJSON and UnmarshalJSON, so that
// encoding/json reads and writes it by its tags.
func (st *structType) plain() bool { return st.kind == "" && !st.methods }

// A field is a member of the object.
type field struct {
	name     string
	key      string
	typ      string
	required bool
	omitZero bool // encoding/json leaves out the zero value
	intern   bool
	embedded bool
	inline   bool // a pointer to a struct whose members lie on the same object
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
			if err := s.addTypes(decl); err != nil {
				return err
			}
		}
	}
	return checkPlaces(file)
}

func (s *schema) addTypes(decl *ast.GenDecl) error {
	for _, spec := range decl.Specs {
		spec, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		if err := s.addType(typeDoc(decl, spec), spec); err != nil {
			return fmt.Errorf("%s: %w", spec.Name.Name, err)
		}
	}
	return nil
}

// typeDoc returns the doc comment of a type, which precedes the keyword unless the type is in a
// group.
func typeDoc(decl *ast.GenDecl, spec *ast.TypeSpec) *ast.CommentGroup {
	if decl.Lparen.IsValid() {
		return spec.Doc
	}
	return decl.Doc
}

func (s *schema) addMethod(decl *ast.FuncDecl) {
	if decl.Recv == nil {
		return
	}
	recv := strings.TrimPrefix(types.ExprString(decl.Recv.List[0].Type), "*")
	s.methods[recv+"."+decl.Name.Name] = true
}

func (s *schema) addType(doc *ast.CommentGroup, spec *ast.TypeSpec) error {
	switch t := spec.Type.(type) {
	case *ast.Ident:
		if t.Name == "string" && spec.Name.Name != "JSON" {
			s.strings[spec.Name.Name] = true
		}
	case *ast.StructType:
		return s.addStruct(doc, spec.Name.Name, t)
	}
	if list := directives(doc); len(list) > 0 {
		return fmt.Errorf("%s is for structs", list[0].Text)
	}
	return nil
}

func (s *schema) addStruct(doc *ast.CommentGroup, name string, t *ast.StructType) error {
	st, err := readStruct(name, t)
	if err != nil {
		return err
	}
	list := directives(doc)
	for _, c := range list {
		if err := st.readDirective(c.Text); err != nil {
			return fmt.Errorf("%s: %w", c.Text, err)
		}
	}
	switch {
	case isRaw(t) && (len(list) > 0 || len(st.fields) > 0):
		s.structs = append(s.structs, st)
	case len(list) > 0:
		return fmt.Errorf("%s: the first field is not raw string", list[0].Text)
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

// check makes sure that every field has a type that can be read and written, and a tag that makes
// encoding/json write a plain struct as its encoder does.
func (s *schema) check() error {
	for _, st := range s.structs {
		for _, f := range st.fields {
			if _, err := s.reader(f); err != nil {
				return fmt.Errorf("%s.%s: %w", st.name, f.name, err)
			}
			if want := st.plain() && !f.required; f.omitZero != want {
				return fmt.Errorf("%s.%s: omitzero is %t, want %t", st.name, f.name, f.omitZero, want)
			}
		}
	}
	return nil
}

func (s *schema) isStruct(name string) bool { return s.structOf(name) != nil }

// structOf returns the struct of that name, or nil.
func (s *schema) structOf(name string) *structType {
	i := slices.IndexFunc(s.structs, func(st *structType) bool { return st.name == name })
	if i < 0 {
		return nil
	}
	return s.structs[i]
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
			return nil, fmt.Errorf("field %s: %w", parsed.name, err)
		}
		if st.hasKey(parsed.key) {
			return nil, fmt.Errorf("field %s: there is a field with the key %q already", parsed.name, parsed.key)
		}
		st.fields = append(st.fields, parsed)
	}
	return st, nil
}

func (st *structType) hasKey(key string) bool {
	return slices.ContainsFunc(st.fields, func(f field) bool { return f.key == key })
}

// readField reads a field with a tag. The name is also returned with an error.
func readField(f *ast.Field) (field, error) {
	parsed := field{typ: types.ExprString(f.Type), embedded: len(f.Names) == 0}
	parsed.name = strings.TrimPrefix(parsed.typ, "*")
	if !parsed.embedded {
		parsed.name = f.Names[0].Name
	}
	if len(f.Names) > 1 {
		return parsed, fmt.Errorf("%s shares its tag", f.Names[1].Name)
	}
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return parsed, err
	}
	err = parsed.readTag(reflect.StructTag(text))
	return parsed, err
}

// readTag reads json:"key" or json:"key,omitzero", and wire:"options" if it follows. Anything else
// is a mistake that [reflect.StructTag] would ignore.
func (f *field) readTag(tag reflect.StructTag) error {
	if tag == `wire:"inline"` {
		f.inline = true
		return nil
	}
	key := tag.Get("json")
	f.key, f.omitZero = strings.CutSuffix(key, ",omitzero")
	if f.key == "" || f.key == "-" || strings.Contains(f.key, ",") {
		return fmt.Errorf("the tag %q has no plain json key", tag)
	}
	options, ok := tag.Lookup("wire")
	want := fmt.Sprintf("json:%q", key)
	if ok {
		want += fmt.Sprintf(" wire:%q", options)
	}
	if string(tag) != want {
		return fmt.Errorf("the tag is %q, not %q", tag, want)
	}
	return f.readOptions(options)
}

func (f *field) readOptions(options string) error {
	for opt := range strings.SplitSeq(options, ",") {
		switch opt {
		case "required":
			f.required = true
		case "intern":
			f.intern = true
		case "":
		default:
			return fmt.Errorf("unknown option %q", opt)
		}
	}
	return nil
}
