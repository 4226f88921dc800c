package sqlite

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// SQLite notices damage to its own structures, and not to the values in them: a damaged index would
// just not find some passages. So the checksum of the whole file is in a second file, whose name
// has this suffix, with the size and the time of the first. It is written before the lock of a
// change is released.
//
// When the index is opened, size and time are compared: a write changes the time of the file.
// A disk that loses bits does not. So the whole file is read for its checksum if its time is
// another one, or if that was done more than sumInterval ago, which is the time of the second file.
const (
	sumSuffix   = "-sum"
	sumInterval = 24 * time.Hour
)

// Windows does not let another handle read these bytes of a file that SQLite locked. SQLite stores
// nothing in them.
const (
	lockStart = 1 << 30
	lockEnd   = lockStart + 512
)

// checksum returns the checksum of the file. The caller has a lock on it.
func (d *DB) checksum(size int64) (string, error) {
	d.summed = true
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	buffer := make([]byte, 256<<10)
	for _, part := range [][2]int64{{0, min(lockStart, size)}, {lockEnd, size}} {
		if part[0] < part[1] {
			if _, err := io.CopyBuffer(sum, io.NewSectionReader(d.file, part[0], part[1]-part[0]), buffer); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%x %d", sum.Sum32(), size), nil
}

// A storedSum is the content of the second file, and its time.
type storedSum struct {
	sum     string
	changed int64 // the time of the first file, in nanoseconds
	checked time.Time
}

// readSum returns the stored checksum. It is empty if there is none.
func (d *DB) readSum() (s storedSum, err error) {
	text, err := os.ReadFile(d.path + sumSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	info, err := os.Stat(d.path + sumSuffix)
	if err != nil {
		return s, err
	}
	sum, changed, _ := strings.Cut(string(text), "\n")
	s = storedSum{sum: sum, checked: info.ModTime()}
	s.changed, _ = strconv.ParseInt(changed, 10, 64) // another time is only a reason to read the file
	return s, nil
}

// fits reports whether the file need not be read: it has the size and the time of the checksum,
// which was compared not long ago.
func (s *storedSum) fits(info os.FileInfo) bool {
	ago := time.Since(s.checked)
	return strings.HasSuffix(s.sum, " "+strconv.FormatInt(info.Size(), 10)) && s.changed == info.ModTime().UnixNano() &&
		ago >= 0 && ago < sumInterval
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
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	want, err := d.readSum()
	if err != nil || want.fits(info) {
		return err
	}
	got, err := d.checksum(info.Size())
	if err != nil {
		return err
	}
	if want.sum != got {
		return fmt.Errorf("%w: it does not match its checksum", ErrDamaged)
	}
	// The index is not damaged. If that can't be noted, as on a full disk, it is just compared again
	// the next time.
	_ = d.storeSum(got, info)
	return nil
}

// writeSum writes the checksum of the file. The caller has an exclusive lock on it.
func (d *DB) writeSum() error {
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	sum, err := d.checksum(info.Size())
	if err != nil {
		return err
	}
	return d.storeSum(sum, info)
}

// storeSum writes the second file, in its place: another file could be left by a crash. A crash
// before the end of a change means a rebuild in any case. Others that have a lock to read may read
// or write the file meanwhile. They write the same checksum, so it must never be emptied.
func (d *DB) storeSum(sum string, info os.FileInfo) error {
	file, err := os.OpenFile(d.path+sumSuffix, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	n, err := fmt.Fprintf(file, "%s\n%d", sum, info.ModTime().UnixNano())
	if err == nil {
		err = file.Truncate(int64(n))
	}
	return errors.Join(err, file.Close())
}
