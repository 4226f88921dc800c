package main

import "strings"

func writeMethods(w *writer, s *schema) {
	for _, st := range s.structs {
		writeInlineMethods(w, st)
		if !st.plain() {
			writeStructMethods(w, s, st)
		}
	}
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
			w.line("")
		}
	}
}

// writeStructMethods writes the exported methods of a struct, and the ones of its sum.
func writeStructMethods(w *writer, s *schema, st *structType) {
	w.line("// Raw returns the text that v was read from, or \"\".")
	w.line("func (v *%s) Raw() string { return v.raw }", st.name)
	writeJSONMethods(w, s, st)
	switch st.kind {
	case "message":
		writeKindMethod(w, st)
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
	if st.kind != "" {
		w.line("func (*%s) sealed() {}", st.name)
	}
	w.line("")
}

// writeJSONMethods writes the methods that encoding/json calls, unless they are written by hand.
func writeJSONMethods(w *writer, s *schema, st *structType) {
	if !s.methods[st.name+".MarshalJSON"] {
		write := "marshal(&v" + strings.TrimSuffix(", "+quoted(st.args), `, ""`) + ")"
		if st.kind == "delta" {
			write = "marshalDelta(&v, v.Index, " + quoted(st.args) + ")"
		}
		w.line("// MarshalJSON writes v, with the fields that this package does not know.")
		w.line("func (v %s) MarshalJSON() ([]byte, error) { return %s }", st.name, write)
	}
	w.line("// UnmarshalJSON reads v.")
	switch {
	case st.kind == "delta":
		w.line("func (v *%s) UnmarshalJSON(data []byte) error { return unmarshalDelta(data, v) }", st.name)
		w.line("func (v *%s) place(index int, raw string) { v.Index, v.raw = index, raw }", st.name)
	case len(st.args) > 0:
		w.line("func (v *%s) UnmarshalJSON(data []byte) error {", st.name)
		w.line("return unmarshalKind(data, v, %q, %q)", st.args[0], append(st.args, "")[1])
		w.line("}")
	default:
		w.line("func (v *%s) UnmarshalJSON(data []byte) error { return unmarshal(data, v) }", st.name)
	}
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
