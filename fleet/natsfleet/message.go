package natsfleet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/natsclient"
)

// The headers of a message. With the batch headers, the server stores all messages of the batch or
// none.
const (
	afterHeader         = jetstream.ExpectedLastSubjSeqHeader
	batchHeader         = "Nats-Batch-Id"
	batchSequenceHeader = "Nats-Batch-Sequence"
	commitHeader        = "Nats-Batch-Commit"
	labelHeader         = "Clew-Label"   // in quotation marks, since spaces around a header get lost
	removedHeader       = "Clew-Removed" // of a mark that stands for a removed record
	checksumHeader      = "Clew-Checksum"
	writeHeader         = "Clew-Write" // is another one for each call of Set
)

const (
	maxKey   = 512
	maxLabel = 2 << 10
	// maxBatch is the maximum number of messages in one batch.
	maxBatch = 1000
	// markTTL is the time for which the server keeps the mark of a removed record, for watchers.
	// Its history goes at once.
	markTTL = time.Hour
)

// A message is a message as it was stored.
type message struct {
	subject  string
	sequence uint64
	time     time.Time
	header   nats.Header
	data     []byte
}

// recordMessage returns the message of a record.
func recordMessage(subject string, r fleet.Record) *nats.Msg {
	m := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: r.Data}
	m.Header.Set(labelHeader, `"`+r.Label+`"`)
	m.Header.Set(checksumHeader, checksum(subject, m.Header, m.Data))
	return m
}

// markMessage returns a message that replaces all messages of its subject, and goes after a while.
func markMessage(subject string) *nats.Msg {
	m := &nats.Msg{Subject: subject, Header: nats.Header{}}
	m.Header.Set(removedHeader, "1")
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	m.Header.Set(jetstream.MsgTTLHeader, markTTL.String())
	m.Header.Set(checksumHeader, checksum(subject, m.Header, nil))
	return m
}

// checksum returns the checksum of a message: of its subject, its body, its label and its removal.
func checksum(subject string, h nats.Header, data []byte) string {
	sum := crc32.Checksum([]byte(subject), castagnoli)
	for _, part := range []string{h.Get(labelHeader), h.Get(removedHeader)} {
		sum = crc32.Update(sum, castagnoli, []byte(part))
	}
	return strconv.FormatUint(uint64(crc32.Update(sum, castagnoli, data)), 16)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// verify returns an error if a message is damaged, or is not of this package.
func (m *message) verify() error {
	switch m.header.Get(checksumHeader) {
	case "":
		return fmt.Errorf("message %d was not written by this package", m.sequence)
	case checksum(m.subject, m.header, m.data):
		return nil
	default:
		return fmt.Errorf("message %d does not match its checksum", m.sequence)
	}
}

// removed reports whether the message is the mark of a removed record.
func (m *message) removed() bool { return m.header.Get(removedHeader) != "" }

func (m *message) label() string {
	label := m.header.Get(labelHeader)
	if len(label) < 2 {
		return ""
	}
	return label[1 : len(label)-1]
}

// head returns the record of a message without its data.
func (m *message) head() (fleet.Record, error) {
	_, escaped, _ := strings.Cut(m.subject, ".") // the name of a stream has no dot
	key, err := natsclient.Unescape(escaped)
	return fleet.Record{Key: key, Revision: m.sequence, Time: m.time, Label: m.label()}, err
}

// record returns the record of a message, or an error if the message is damaged.
func (m *message) record() (fleet.Record, error) {
	r, err := m.head()
	if err == nil {
		err = m.verify()
	}
	if r.Data = m.data; r.Data == nil {
		r.Data = []byte{}
	}
	return r, err
}

// checkRecords returns an error if records can't be kept.
func checkRecords(records []fleet.Record) error {
	if len(records) > maxBatch {
		return fmt.Errorf("%d records at a time are too many; the server takes %d", len(records), maxBatch)
	}
	keys := make(map[string]bool, len(records))
	for _, r := range records {
		if err := checkKey(r.Key); err != nil {
			return err
		}
		if keys[r.Key] {
			return fmt.Errorf("record %s is there twice", r.Key)
		}
		keys[r.Key] = true
		if len(r.Data) > fleet.MaxRecord {
			return fmt.Errorf("record %s has %d bytes; at most %d are allowed", r.Key, len(r.Data), fleet.MaxRecord)
		}
		if err := checkLabel(r.Label); err != nil {
			return fmt.Errorf("record %s: %w", r.Key, err)
		}
	}
	return nil
}

func checkLabel(label string) error {
	if len(label) > maxLabel {
		return fmt.Errorf("a label of %d bytes is too long; at most %d are allowed", len(label), maxLabel)
	}
	for _, c := range []byte(label) {
		if c < ' ' || c > '~' {
			return errors.New("a label consists of ASCII without control characters")
		}
	}
	return nil
}

// checkKey returns an error unless a key consists of letters, digits and "-", "_" and ".".
func checkKey(key string) error { return checkChars("key", key, "-_.") }

// checkGroup returns an error unless records can have the group.
func checkGroup(group string) error { return checkChars("group", group, "-_") }

// checkFile is like checkKey for the name of a file.
func checkFile(name string) error { return checkChars("file name", name, "-_./") }

func checkChars(what, s, others string) error {
	if s == "" || len(s) > maxKey {
		return fmt.Errorf("%s must be 1 to %d bytes, got %d", what, maxKey, len(s))
	}
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(others, c) < 0 {
			return fmt.Errorf("%s %q must consist of letters, digits and %q", what, s, others)
		}
	}
	return nil
}
