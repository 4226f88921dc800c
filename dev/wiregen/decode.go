package main

import (
	"fmt"
	"slices"
	"strings"
)

func writeDecoders(w *writer, s *schema) {
	for _, st := range s.structs {
		writeDecoder(w, s, st)
	}
}

// writeSeen writes names for the bits of the required members, for a method firstKey that reads
// some of them itself.
func writeSeen(w *writer, st *structType) {
	w.line("const (")
	bit := 0
	for _, f := range st.fields {
		if f.required {
			w.line("seen%s%s = 1 << %d", st.name, f.name, bit)
			bit++
		}
	}
	w.line(")")
	w.line("")
}

// writeDecoder writes the method that reads one struct.
func writeDecoder(w *writer, s *schema, st *structType) {
	required := requiredKeys(st)
	if s.methods[st.name+".firstKey"] {
		writeSeen(w, st)
	}
	tracked := len(required) > 0 || st.flat
	w.line("func (v *%s) decode(d *decoder) {", st.name)
	if st.kind != "delta" || tracked {
		w.line("d.Peek()")
		w.line("start := d.Pos()")
	}
	if tracked {
		w.line("var seen uint")
	}
	if st.flat {
		w.line("v.flat = false")
	}
	first := "d.FirstKey()"
	if s.methods[st.name+".firstKey"] {
		first = "v.firstKey(d, &seen)"
	}
	w.line("for key, ok := %s; ok; key, ok = d.NextKey() {", first)
	w.line("switch string(key) {")
	for _, f := range st.fields {
		for _, member := range s.members(f) {
			writeCase(w, s, st, member, required)
		}
	}
	if len(st.args) > 1 {
		w.line("case \"subtype\": d.Skip()")
	}
	if st.open {
		w.line("default: d.Skip()")
	} else {
		w.line("default: d.unknownMember(key)")
	}
	w.line("}}")
	switch {
	case st.open:
		w.line("v.raw = d.keep(start)")
	case st.kind != "delta":
		w.line("v.raw = d.span(start)")
	}
	if st.flat {
		w.line("if seen&(1<<%d) == 0 && d.Err() == nil {", len(required))
		w.line("v.flat = d.flat(start, &v.APIMessage)")
		w.line("}")
	}
	if len(required) > 0 {
		all := 1<<len(required) - 1
		w.line("if seen&%#b != %#b { d.%s(start, seen, %s) }", all, all, st.requirement(), quoted(required))
	}
	if s.methods[st.name+".check"] {
		w.line("v.check(d, start)")
	}
	w.line("}")
	w.line("")
}

// requirement returns the method for members that are missing. A block is nothing without them; all
// others do without.
func (st *structType) requirement() string {
	if st.kind == "block" {
		return "require"
	}
	return "lacks"
}

// members returns the field itself, or the fields of an inline struct.
func (s *schema) members(f field) []field {
	if !f.inline {
		return []field{f}
	}
	inner := s.structOf(strings.TrimPrefix(f.typ, "*"))
	list := slices.Clone(inner.fields)
	for i := range list {
		list[i].name = "in" + f.name + "()." + list[i].name
	}
	return list
}

func requiredKeys(st *structType) []string {
	var keys []string
	for _, f := range st.fields {
		if f.required {
			keys = append(keys, f.key)
		}
	}
	return keys
}

func quoted(list []string) string {
	return `"` + strings.Join(list, `", "`) + `"`
}

// writeCase writes the branch that reads one member.
func writeCase(w *writer, s *schema, st *structType, f field, required []string) {
	read, _ := s.reader(f)
	if st.kind == "block" && f.required {
		read = strings.NewReplacer("d.str()", "d.needStr()", "d.name()", "d.needName()").Replace(read)
	}
	w.line("case %q:", f.key)
	bit := indexOf(required, f.key)
	if st.flat && f.embedded {
		bit = len(required)
	}
	if bit >= 0 {
		w.line("if !d.Null() { seen |= 1<<%d; v.%s = %s }", bit, f.name, read)
	} else {
		w.line("v.%s = %s", f.name, read)
	}
}

func indexOf(list []string, s string) int {
	for i, e := range list {
		if e == s {
			return i
		}
	}
	return -1
}

// reader returns the expression that reads a field's value.
func (s *schema) reader(f field) (string, error) {
	switch c, elem := s.category(f.typ); c {
	case structValue:
		return fmt.Sprintf("structOf[%s](d)", elem), nil
	case structPointer:
		if s.methods[elem+".whole"] {
			return fmt.Sprintf("wholePointerTo[%s](d)", elem), nil
		}
		return fmt.Sprintf("pointerTo[%s](d)", elem), nil
	case structSlice:
		return fmt.Sprintf("structs[%s](d)", elem), nil
	case structMap:
		return fmt.Sprintf("structDict[%s](d)", elem), nil
	}
	text := "d.str()"
	if f.intern {
		text = "d.name()"
	}
	if s.strings[f.typ] {
		return fmt.Sprintf("%s(%s)", f.typ, text), nil
	}
	read, ok := map[string]string{
		"string":         text,
		"bool":           "d.boolean()",
		"*bool":          "d.booleanPtr()",
		"int":            "d.int()",
		"*int":           "d.intPtr()",
		"int64":          "d.int64()",
		"float64":        "d.float()",
		"Millis":         "Millis(d.float())",
		"JSON":           "d.rawJSON()",
		"[]JSON":         "d.rawJSONs()",
		"[]string":       "d.nameList()",
		"map[string]int": "dict(d, d.int)",
		"Content":        "d.content()",
		"Block":          "d.block()",
		"Event":          "d.event()",
	}[f.typ]
	if !ok {
		return "", fmt.Errorf("no reader for type %s", f.typ)
	}
	return read, nil
}
