package sqlite

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
)

// SQLite notices damage to its own structures, and not to the values in them: a damaged index would
// just not find some passages. So the checksum of the whole file is in a second file, whose name
// has this suffix. It is written before the lock of a change is released, and compared when the
// index is opened.
const sumSuffix = "-sum"

// Windows does not let another handle read these bytes of a file that SQLite has locked. SQLite
// stores nothing in them.
const (
	lockStart = 1 << 30
	lockEnd   = lockStart + 512
)

// checksum returns the checksum of the file. The caller has a lock on it.
func (d *DB) checksum() (string, error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	info, err := d.file.Stat()
	if err != nil {
		return "", err
	}
	buffer := make([]byte, 256<<10)
	for _, part := range [][2]int64{{0, min(lockStart, info.Size())}, {lockEnd, info.Size()}} {
		if part[0] < part[1] {
			if _, err := io.CopyBuffer(sum, io.NewSectionReader(d.file, part[0], part[1]-part[0]), buffer); err != nil {
				return "", err
			}
		}
	}
	return strconv.FormatUint(uint64(sum.Sum32()), 16) + " " + strconv.FormatInt(info.Size(), 10), nil
}

// verify compares the file with its checksum, while no other process can write.
func (d *DB) verify(ctx context.Context) (err error) {
	if _, err := d.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	defer func() {
		_, endErr := d.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
		err = errors.Join(err, endErr)
	}()
	var tables int
	if err := d.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil { // it takes the lock
		return err
	}
	got, err := d.checksum()
	if err != nil {
		return err
	}
	want, err := os.ReadFile(d.path + sumSuffix)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if string(want) != got {
		return fmt.Errorf("%w: it does not match its checksum", ErrDamaged)
	}
	return nil
}

// writeSum writes the checksum of the file. The caller has an exclusive lock on it.
func (d *DB) writeSum() error {
	sum, err := d.checksum()
	if err != nil {
		return err
	}
	return os.WriteFile(d.path+sumSuffix, []byte(sum), 0o600)
}
