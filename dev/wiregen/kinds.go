package main

import (
	"slices"
	"strings"
)

func writeKinds(w *writer, s *schema) {
	writeMessageOf(w, s)
	writeSystemOf(w, s)
	writeKnown(w, s)
	writeVariants(w, "blockOf", "Block", "d.unknownBlock(kind)", s.of("block"))
	writeEventOf(w, s)
	writeDeltaOf(w, s)
}

// frames returns the messages by type, without system messages.
func frames(s *schema) []*structType {
	return slices.DeleteFunc(s.of("message"), func(st *structType) bool { return st.args[0] == "system" })
}

// systems returns the messages of type system, without the general one.
func systems(s *schema) []*structType {
	return slices.DeleteFunc(s.of("message"), func(st *structType) bool { return len(st.args) < 2 })
}

func writeMessageOf(w *writer, s *schema) {
	w.line("// messageOf decodes a frame of the given type.")
	w.line("func (d *decoder) messageOf(kind []byte) Message {")
	w.line("switch string(kind) {")
	w.line(`case "stream_event": return d.streamEvent()`)
	w.line(`case "system": return d.system()`)
	for _, st := range frames(s) {
		if st.args[0] != "stream_event" {
			w.line("case %q: v := new(%s); v.decode(d); return v", st.args[0], st.name)
		}
	}
	w.line("case %s: return d.bareEvent()", quotedArgs(s.of("event"), 0, "content_block_delta"))
	w.line("}")
	w.line("return d.unknownMessage(Kind{Type: string(kind)})")
	w.line("}")
	w.line("")
}

func writeSystemOf(w *writer, s *schema) {
	w.line("// systemOf decodes a frame of type system and the given subtype.")
	w.line("func (d *decoder) systemOf(subtype []byte) Message {")
	w.line("switch string(subtype) {")
	for _, st := range systems(s) {
		w.line("case %q: v := new(%s); v.decode(d); return v", st.args[1], st.name)
	}
	w.line("}")
	w.line("v := new(SystemMessage)")
	w.line("v.decode(d)")
	w.line("return v")
	w.line("}")
	w.line("")
}

func writeKnown(w *writer, s *schema) {
	w.line("// Known reports whether this package has a type for frames of that kind.")
	w.line("func Known(kind Kind) bool {")
	w.line(`if kind.Type == "system" {`)
	w.line("switch kind.Subtype {")
	w.line("case %s: return true", quotedArgs(systems(s), 1))
	w.line("}")
	w.line("return false")
	w.line("}")
	w.line("switch kind.Type {")
	w.line("case %s: return true", quotedArgs(append(frames(s), s.of("event")...), 0, "content_block_delta"))
	w.line("}")
	w.line("return false")
	w.line("}")
	w.line("")
}

func quotedArgs(list []*structType, arg int, more ...string) string {
	for _, st := range list {
		more = append(more, st.args[arg])
	}
	slices.Sort(more)
	return strings.ReplaceAll(quoted(more), ", ", ",\n")
}

func writeVariants(w *writer, name, sum, unknown string, list []*structType) {
	w.line("// %s decodes a %s of the given type.", name, strings.ToLower(sum))
	w.line("func (d *decoder) %s(kind []byte) %s {", name, sum)
	w.line("switch string(kind) {")
	for _, st := range list {
		w.line("case %q: v := new(%s); v.decode(d); return v", st.args[0], st.name)
	}
	w.line("}")
	w.line("return %s", unknown)
	w.line("}")
	w.line("")
}

func writeEventOf(w *writer, s *schema) {
	writeVariants(w, "plainEventOf", "Event", "d.unknownEvent(kind)", s.of("event"))
	w.line("// eventOf decodes an event of the given type.")
	w.line("func (d *decoder) eventOf(kind []byte) Event {")
	w.line(`if string(kind) == "content_block_delta" { return d.delta() }`)
	w.line("return d.plainEventOf(kind)")
	w.line("}")
	w.line("")
}

func writeDeltaOf(w *writer, s *schema) {
	w.line("// deltaOf returns an event for a delta of the given type, or nil.")
	w.line("func (d *decoder) deltaOf(kind []byte) deltaEvent {")
	w.line("switch string(kind) {")
	for _, st := range s.of("delta") {
		w.line("case %q: return new(%s)", st.args[0], st.name)
	}
	w.line("}")
	w.line("return nil")
	w.line("}")
}
