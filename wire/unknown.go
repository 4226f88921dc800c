package wire

import (
	"slices"
	"sync"

	"github.com/clewdev/clew/internal/jsonlex"
)

// UnknownFields returns the fields that msg was read with and that this package
// does not know, each as its path: names joined by dots, [] behind a list. A path
// appears once. It takes as long as decoding the message.
func UnknownFields(msg Message) []string {
	switch msg.(type) {
	case *UnknownMessage, *CustomMessage, *InvalidFrame, *TextLine:
		return nil
	}
	d := surveyors.Get().(*decoder)
	defer surveyors.Put(d)
	defer d.unload()
	d.unknown = d.unknown[:0]
	d.load([]byte(msg.Raw()))
	d.message()
	if len(d.unknown) == 0 {
		return nil
	}
	paths := jsonlex.Paths(d.text, d.unknown)
	slices.Sort(paths)
	return slices.Compact(paths)
}

var surveyors = sync.Pool{New: func() any { return &decoder{survey: true} }}

// unknownMember passes over a member that no field stands for. The type is known
// everywhere: it has chosen the struct.
func (d *decoder) unknownMember(key []byte) {
	if d.survey && string(key) != "type" {
		d.Peek()
		d.unknown = append(d.unknown, d.Pos())
	}
	d.Skip()
}
