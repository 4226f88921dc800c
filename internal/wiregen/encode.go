package main

import (
	"fmt"
	"strings"
)

func writeEncoders(w *writer, s *schema) {
	for _, st := range s.structs {
		writeInlineMethods(w, st)
		writeMembers(w, s, st)
		if !s.methods[st.name+".encode"] {
			writeEncode(w, st)
		}
		if !st.plain() {
			writeMethods(w, st)
		}
	}
}

// writeEncode writes the method that writes one struct.
func writeEncode(w *writer, st *structType) {
	if st.kind == "delta" {
		w.line("func (v *%s) encode(e *encoder) { e.delta(v.raw, v.Index, v) }", st.name)
	} else {
		w.line("func (v *%s) encode(e *encoder) { e.whole(v.raw, v) }", st.name)
	}
	w.line("")
}

// writeMembers writes the method that writes the members of one struct.
func writeMembers(w *writer, s *schema, st *structType) {
	w.line("func (v *%s) members(e *encoder) {", st.name)
	if len(st.args) > 0 {
		w.line(`e.tag("type", %q)`, st.args[0])
	}
	if len(st.args) > 1 {
		w.line(`e.tag("subtype", %q)`, st.args[1])
	}
	for _, f := range st.fields {
		if st.flat && f.embedded {
			w.line("if v.flat { e.none(%q, anyValue); v.APIMessage.members(e) } else {", f.key)
			w.line("writeStruct(e, %q, &v.%s, true)", f.key, f.name)
			w.line("}")
			continue
		}
		if f.inline {
			w.line("writeInline(e, v.%s)", f.name)
			continue
		}
		w.line("%s", s.writer(f))
	}
	w.line("}")
	w.line("")
}

// writeInlineMethods writes the methods that return the inline structs, and make them if they are
// nil.
func writeInlineMethods(w *writer, st *structType) {
	for _, f := range st.fields {
		if f.inline {
			w.line("func (v *%s) in%s() %s {", st.name, f.name, f.typ)
			w.line("if v.%s == nil { v.%s = new(%s) }", f.name, f.name, strings.TrimPrefix(f.typ, "*"))
			w.line("return v.%s", f.name)
			w.line("}")
		}
	}
}

// writer returns the statement that writes a field.
func (s *schema) writer(f field) string {
	switch c, elem := s.category(f.typ); c {
	case structValue:
		return fmt.Sprintf("writeStruct(e, %q, &v.%s, %t)", f.key, f.name, f.required)
	case structPointer:
		if s.methods[elem+".whole"] {
			return fmt.Sprintf("writeWhole(e, %q, v.%s)", f.key, f.name)
		}
		return fmt.Sprintf("writePointer(e, %q, v.%s)", f.key, f.name)
	case structSlice:
		return fmt.Sprintf("writeStructs(e, %q, v.%s)", f.key, f.name)
	case structMap:
		return fmt.Sprintf("writeStructDict(e, %q, v.%s)", f.key, f.name)
	}
	if s.strings[f.typ] {
		return fmt.Sprintf("e.str(%q, string(v.%s), %t)", f.key, f.name, f.required)
	}
	call := map[string]string{
		"string": "e.str(%q, v.%s, %t)", "bool": "e.bool(%q, v.%s, %t)", "*bool": "e.boolPtr(%q, v.%s)",
		"int": "e.int(%q, int64(v.%s), %t)", "*int": "e.intPtr(%q, v.%s)", "int64": "e.int(%q, v.%s, %t)",
		"float64": "e.float(%q, v.%s, %t)", "Millis": "e.float(%q, float64(v.%s), %t)",
		"JSON": "e.json(%q, v.%s)", "[]JSON": "e.jsons(%q, v.%s)",
		"[]string": "e.strs(%q, v.%s)", "map[string]int": "e.intDict(%q, v.%s)",
		"Content": "e.content(%q, v.%s)", "Block": "e.node(%q, v.%s)", "Event": "e.node(%q, v.%s)",
	}[f.typ]
	if strings.HasSuffix(call, "%t)") {
		return fmt.Sprintf(call, f.key, f.name, f.required)
	}
	return fmt.Sprintf(call, f.key, f.name)
}

// writeMethods writes the exported methods of a struct.
func writeMethods(w *writer, st *structType) {
	w.line("// Raw returns the text that v was read from, or \"\".")
	w.line("func (v *%s) Raw() string { return v.raw }", st.name)
	w.line("// MarshalJSON writes v, with the fields that this package does not know.")
	w.line("func (v %s) MarshalJSON() ([]byte, error) { return marshal(&v) }", st.name)
	w.line("// UnmarshalJSON reads v.")
	if st.kind == "delta" {
		w.line("func (v *%s) UnmarshalJSON(data []byte) error { return unmarshalDelta(data, v) }", st.name)
		w.line("func (v *%s) place(index int, raw string) { v.Index, v.raw = index, raw }", st.name)
	} else if len(st.args) > 0 {
		w.line("func (v *%s) UnmarshalJSON(data []byte) error {", st.name)
		w.line("return unmarshalKind(data, v, %q, %q)", st.args[0], append(st.args, "")[1])
		w.line("}")
	} else {
		w.line("func (v *%s) UnmarshalJSON(data []byte) error { return unmarshal(data, v) }", st.name)
	}
	switch st.kind {
	case "message":
		writeKindMethod(w, st)
		w.line("func (*%s) sealed() {}", st.name)
	case "block":
		w.line("// BlockType returns %q.", st.args[0])
		w.line("func (*%s) BlockType() string { return %q }", st.name, st.args[0])
	case "event":
		w.line("// EventType returns %q.", st.args[0])
		w.line("func (*%s) EventType() string { return %q }", st.name, st.args[0])
	case "delta":
		w.line("// EventType returns %q.", "content_block_delta")
		w.line(`func (*%s) EventType() string { return "content_block_delta" }`, st.name)
	}
	w.line("")
}

func writeKindMethod(w *writer, st *structType) {
	w.line("// Kind returns the frame's type, and its subtype if it has one.")
	switch sub := st.subtypeField(); {
	case len(st.args) > 1:
		w.line("func (*%s) Kind() Kind { return Kind{%q, %q} }", st.name, st.args[0], st.args[1])
	case sub != "":
		w.line("func (v *%s) Kind() Kind { return Kind{%q, string(v.%s)} }", st.name, st.args[0], sub)
	default:
		w.line("func (*%s) Kind() Kind { return Kind{Type: %q} }", st.name, st.args[0])
	}
}
