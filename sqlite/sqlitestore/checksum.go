package sqlitestore

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/clewdev/clew/wire"
)

// SQLite notices damage to its own structures, and not to the values in them. So each entry has a
// checksum, which also depends on the entries before it: a changed, missing or misplaced entry is
// an error. The row of a transcript has the checksum of its last entry, and one of the row itself.
var table = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is wrapped by the errors about checksums.
var errDamaged = errors.New("the file is damaged")

// A chain follows the checksums of the entries of a transcript.
type chain struct {
	key        wire.SessionKey
	sum        uint32
	position   int
	unverified int       // entries from before there were checksums, which come first
	piece      [512]byte // of an entry; a conversion to bytes would allocate
}

// newChain returns the chain before the first entry.
func newChain(key wire.SessionKey, unverified int) *chain {
	return &chain{key: key, sum: keySum(key), unverified: unverified}
}

// keySum returns the checksum of a key.
func keySum(key wire.SessionKey) uint32 {
	return crc32.Checksum([]byte(key.Project+"\x00"+key.SessionID+"\x00"+key.Subpath), table)
}

// sumWith returns the checksum of the next entry.
func (c *chain) sumWith(body string) uint32 {
	sum := c.sum
	for len(body) > 0 {
		n := copy(c.piece[:], body)
		sum = crc32.Update(sum, table, c.piece[:n])
		body = body[n:]
	}
	return sum
}

// next adds an entry.
func (c *chain) next(body string) {
	if c.position++; c.position > c.unverified {
		c.sum = c.sumWith(body)
	}
}

// check adds an entry, and compares it with its checksum, which is not valid if it has none.
func (c *chain) check(body string, sum sql.NullInt64) error {
	c.next(body)
	if verified := c.position > c.unverified; sum.Valid != verified || verified && sum.Int64 != int64(c.sum) {
		return fmt.Errorf("%w: entry %d of %s does not match its checksum", errDamaged, c.position, c.key)
	}
	return nil
}

// end compares the last entry with the checksum in the row of the transcript, which is not valid if
// no entry has one.
func (c *chain) end(last sql.NullInt64) error {
	verified := c.position > c.unverified
	if c.position < c.unverified || verified != last.Valid || verified && last.Int64 != int64(c.sum) {
		return fmt.Errorf("%w: entries are missing after entry %d of %s", errDamaged, c.position, c.key)
	}
	return nil
}

// A row is the row of a transcript.
type row struct {
	key        wire.SessionKey
	appended   int64
	summary    string
	unverified int
	last       sql.NullInt64 // the checksum of the last entry; not valid if no entry has one
	sum        sql.NullInt64 // the checksum of the row; not valid in rows from before there were checksums
}

// columns are the columns of a row, in the order of its fields.
const columns = "project, session, subpath, appended, summary, unverified, last, sum"

// fields returns where to scan the columns to.
func (r *row) fields() []any {
	return []any{&r.key.Project, &r.key.SessionID, &r.key.Subpath, &r.appended, &r.summary, &r.unverified, &r.last, &r.sum}
}

// checksum returns the checksum of the row.
func (r *row) checksum() int64 {
	text := []byte(r.summary)
	for _, n := range []int64{r.appended, int64(r.unverified), r.last.Int64} {
		text = binary.LittleEndian.AppendUint64(text, uint64(n)) //nolint:gosec // only its bits matter
	}
	return int64(crc32.Update(keySum(r.key), table, text))
}

// check compares the row with its checksum.
func (r *row) check() error {
	if r.sum.Valid && r.sum.Int64 != r.checksum() {
		return fmt.Errorf("%w: the record of %s does not match its checksum", errDamaged, r.key)
	}
	return nil
}
