package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

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

// readField reads a field with a tag. The name is there beside an error, too.
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

// readTag reads json:"key" or json:"key" wire:"options". Anything else is a slip,
// which [reflect.StructTag] would pass over.
func (f *field) readTag(tag reflect.StructTag) error {
	if tag == `wire:"inline"` {
		f.inline = true
		return nil
	}
	f.key = tag.Get("json")
	if f.key == "" || f.key == "-" || strings.Contains(f.key, ",") {
		return fmt.Errorf("the tag %q has no plain json key", tag)
	}
	options, ok := tag.Lookup("wire")
	want := fmt.Sprintf("json:%q", f.key)
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
		case "lenient":
			f.lenient = true
		case "":
		default:
			return fmt.Errorf("unknown option %q", opt)
		}
	}
	return nil
}
