// Package wire turns the stream-json of Claude Code into typed Go values and
// back.
//
// The agent writes one JSON object, a frame, on each line of its output. A
// [Reader] reads any such stream, from a pipe or from a file:
//
//	r := wire.NewReader(os.Stdin, nil)
//	for msg, err := range r.Messages() {
//		if err != nil {
//			return err
//		}
//		switch msg := msg.(type) {
//		case *wire.AssistantMessage:
//			fmt.Println(msg.Content.Text())
//		case *wire.ResultMessage:
//			fmt.Println(msg.Result, msg.TotalCostUSD)
//		}
//	}
//
// A [Feeder] does the same for a caller that owns the read loop, [Decode] for one
// frame, and a [Collector] puts the text of an answer together.
//
// # Nothing is lost
//
// Bad data is data: a frame that does not decode is an [*InvalidFrame], a line
// that is not JSON a [*TextLine], a kind that this package does not know an
// [*UnknownMessage]. A block that does not fit its type is an [*InvalidBlock] in
// an otherwise good message. None of them ends the stream.
//
// Every message keeps the text that it was read from, see [Message.Raw], and with
// it the fields that this package does not know. [Append] writes them all.
//
// # Reading
//
// Fields come in any order; a field that is null or absent is zero. Names are
// matched exactly: "Type" is not "type". An integer may be written as 3.0 or 1e3.
// Of a member that appears twice the last
// one counts, except for "type" and "subtype", which decide on the variant before
// the frame is read: of them it is the first. Numbers that do not fit their Go
// type make the frame invalid, and so does nesting deeper than 10,000 levels.
// Bytes that are not UTF-8, and halves of surrogate pairs, are U+FFFD in strings
// and untouched in Raw.
//
// # Lines
//
// One line holds one frame as a rule, but several on a line, and one on several
// lines, are read too. A line break inside of an object is dropped, even inside of
// a string. Byte-order marks, blank lines, carriage returns and runs of NUL bytes
// between frames are passed over.
//
// While an object is open, the next line continues it if it can. A line that is a
// frame of a known kind by itself does not: then the open object was cut off, is
// reported, and the frame is delivered at once. Only a transcript_mirror, whose
// entries look like frames, goes on.
//
// A line that does not begin with an object is text as a whole. It may contain a frame,
// but only as a quotation. If a line begins with an object that is not valid JSON, the
// rest of the line belongs to that object. A line that is JSON but not an object, such
// as 42, is an [*InvalidFrame].
package wire

//go:generate go run ../internal/wiregen .
