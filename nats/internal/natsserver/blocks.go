package natsserver

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// A server keeps messages in files, which are called blocks. Each message starts with its size, of
// which one bit is a flag, its number, of which two bits are flags, its time, and the size of its
// subject. It ends with a checksum.
const (
	headerSize   = 4 + 8 + 8 + 2
	checksumSize = 8

	sizeFlag    = 1 << 31
	erasedFlag  = 1 << 63
	removedFlag = 1 << 62

	// maxGap is more than a block has messages.
	maxGap = 1 << 20
)

// checkBlocks returns an error if the number of a message in a block is damaged so that the server
// would take all memory: it notes each number between two messages. A server that has no state file
// next to its blocks checks each message when it starts, so these are not checked.
func checkBlocks(ctx context.Context, dir string) error {
	root, err := filepath.EvalSymlinks(filepath.Join(dir, server.JetStreamStoreDir))
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err = cmp.Or(err, ctx.Err()); err != nil || entry.IsDir() || filepath.Ext(path) != ".blk" {
			return err
		}
		state := filepath.Join(filepath.Dir(path), "index.db")
		if _, err := os.Stat(state); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		at, found, err := checkNumbers(file, info.Size())
		if err != nil || !found {
			return err
		}
		return fmt.Errorf("%s is damaged: the number of the message at byte %d is wrong; restore the file, "+
			"or remove %s, and the server drops this message and those after it in the file", path, at, state)
	})
}

// checkNumbers returns the offset of the first message in a block whose number is too far from the
// number before it. The server notices other damage.
func checkNumbers(block io.ReaderAt, length int64) (at int64, found bool, err error) {
	var last uint64
	headers := window{file: block}
	for {
		header, err := headers.read(at)
		if err != nil || header == nil {
			return 0, false, err
		}
		size := int64(binary.LittleEndian.Uint32(header) &^ sizeFlag)
		number := binary.LittleEndian.Uint64(header[4:])
		subject := int64(binary.LittleEndian.Uint16(header[20:]))
		if size < headerSize+subject+checksumSize || at+size > length {
			return 0, false, nil
		}
		if number &^= erasedFlag; number&removedFlag == 0 {
			if last > 0 && number > last+maxGap {
				return at, true, nil
			}
			last = max(last, number)
		}
		at += size
	}
}

// A window reads the headers in a block, with few calls if the messages are short.
type window struct {
	file   io.ReaderAt
	buffer [4 << 10]byte
	start  int64 // of the buffer in the file
	n      int   // bytes in the buffer
}

// read returns the header at an offset, or nil if the file ends before.
func (w *window) read(at int64) ([]byte, error) {
	if at+headerSize > w.start+int64(w.n) {
		n, err := w.file.ReadAt(w.buffer[:], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		w.start, w.n = at, n
	}
	if at+headerSize > w.start+int64(w.n) {
		return nil, nil
	}
	return w.buffer[at-w.start:][:headerSize], nil
}
