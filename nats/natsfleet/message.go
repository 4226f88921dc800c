package natsfleet

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/nats/internal/natsclient"
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

// markTTL is the time for which the server keeps the mark of a removed record, for watchers. Its
// history goes at once.
const markTTL = time.Hour

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
