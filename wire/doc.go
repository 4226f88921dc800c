// Package wire turns the stream-json of Claude Code into typed Go values and back.
//
// The agent writes one JSON object, a frame, on each line of its output. A [Reader] reads any such
// stream, from a pipe or from a file:
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
// A [Feeder] does the same for a caller that owns the read loop. [Decode] decodes one frame. A
// [Collector] assembles the text of a turn.
//
// # Nothing is lost
//
// Bad data does not end the stream. A frame that does not decode is an [*InvalidFrame], a line that
// is not JSON is a [*TextLine], and a frame of an unknown type is an [*UnknownMessage]. A block
// that does not fit its type is an [*InvalidBlock] in an otherwise good message.
//
// Every message keeps the text that it was read from; see [Message.Raw]. That text includes the
// fields that this package does not know, and [Append] writes them again.
//
// # Reading
//
// Fields may come in any order. A field that is null or absent is zero. Names are matched exactly:
// "Type" is not "type". An integer may be written as 3.0 or 1e3. If a member appears twice, the
// last one counts. For "type" and "subtype" the first one counts, because they select the variant
// before the frame is read. A field of another type, or a number that does not fit its Go type, is
// zero, and [Misfits] returns it. Nesting deeper than 10,000 levels makes the frame invalid. Bytes
// that are not UTF-8, and halves of surrogate pairs, become U+FFFD in strings and stay unchanged in
// Raw.
//
// # Lines
//
// A line usually holds one frame. Several frames on one line, and a frame spread over several
// lines, are read as well. A line break inside an object is dropped, even inside a string.
// Byte-order marks, blank lines, carriage returns and runs of NUL bytes between frames are skipped.
//
// While an object is open, the next line continues it if possible. If that line is itself a frame
// of a known kind, the open object was cut off: it is reported as invalid, and the frame is
// delivered at once. A transcript_mirror is the exception, because its entries look like frames.
//
// A line that does not start with an object is text as a whole. It may contain a frame, but only as
// a quotation. If a line starts with an object that is not valid JSON, the rest of the line belongs
// to that object. A line that is JSON but not an object, such as 42, is an [*InvalidFrame].
//
// # Strings
//
// A message keeps the text that it was read from as one string, and raw values ([JSON]) are
// substrings of it. So no reader can change them under another, and tool inputs and results cost no
// copy, nor do long texts without escapes. Short strings are copied, so that a string never keeps a
// frame in memory that is more than 16 times as long.
package wire

//go:generate go run ../dev/wiregen .
