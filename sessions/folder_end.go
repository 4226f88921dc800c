package sessions

import (
	"context"
	"os"
	"time"
)

const (
	// maxWrite is how long another process may take for the rest of a line: an agent writes long ones in pieces.
	maxWrite = time.Second
	// endInterval is how often the end of a file is looked at.
	endInterval = 5 * time.Millisecond
)

// awaitEnd returns the size of a file, and whether its last line has an end. If it has none, somebody may be in the middle
// of it, and a line that is put there would break theirs: it waits until the end comes, or nothing does for a while. Then
// the line was torn by a crash, and the next one has to end it.
func awaitEnd(ctx context.Context, file *os.File) (size int64, ended bool, err error) {
	for {
		info, err := file.Stat()
		if err != nil {
			return 0, false, err
		}
		size = info.Size()
		if ended, err = endsLine(file, size); ended || err != nil {
			return size, ended, err
		}
		if quiet := time.Since(info.ModTime()); quiet > maxWrite || quiet < -maxWrite {
			return size, false, nil
		}
		select {
		case <-ctx.Done():
			return 0, false, ctx.Err()
		case <-time.After(endInterval):
		}
	}
}

// endsLine reports whether a file of that size ends with a line.
func endsLine(file *os.File, size int64) (bool, error) {
	if size == 0 {
		return true, nil
	}
	var last [1]byte
	text, err := readAt(file, last[:], size-1)
	return len(text) == 1 && text[0] == '\n', err
}
