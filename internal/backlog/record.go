package backlog

import "encoding/binary"

// appendRecord appends a record, which is a frame behind its length.
func appendRecord(dst []byte, frame string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(frame))), frame...)
}

// cutRecord returns the frame in the first record and what follows the record, if that is whole.
func cutRecord(records []byte) (frame, rest []byte, ok bool) {
	length, width := binary.Uvarint(records)
	if width <= 0 || length > uint64(len(records)-width) {
		return nil, nil, false
	}
	end := width + int(length)
	return records[width:end], records[end:], true
}

// wholeRecords returns the length of the whole records that piece starts with.
func wholeRecords(piece []byte) int {
	rest := piece
	for {
		_, next, ok := cutRecord(rest)
		if !ok {
			return len(piece) - len(rest)
		}
		rest = next
	}
}
