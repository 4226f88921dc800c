package natsstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// markName is the name of the file with the mark of an embedded server.
const markName = "natsstore.mark"

// A mark records how many messages the server in this process confirmed. A server that finds damage
// in a file when it starts drops the rest of that file and says nothing, so that transcripts would
// just be shorter. The mark is not synced to the disk: after a crash of the machine it may be older
// than the messages, and notices less.
type mark struct {
	// changes is locked while messages are removed, and read-locked while some are added.
	changes sync.RWMutex

	mu   sync.Mutex // guards what follows
	file *os.File
	last uint64 // the greatest sequence number
	// count is the number of messages, or 0 while messages are being removed.
	count uint64
}

// markSize is the size of a mark in its file: two numbers and a checksum.
const markSize = 8 + 8 + 4

// openMark reads the mark in a file, and creates the file if it does not exist.
func openMark(path string) (*mark, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	m := &mark{file: file}
	text, err := io.ReadAll(io.LimitReader(file, markSize+1))
	if err == nil && len(text) > 0 && !m.decode(text) {
		err = fmt.Errorf("%s is damaged; remove it to open the store without it", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return m, nil
}

func (m *mark) decode(text []byte) bool {
	if len(text) != markSize || binary.LittleEndian.Uint32(text[16:]) != crc32.ChecksumIEEE(text[:16]) {
		return false
	}
	m.last, m.count = binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
	return true
}

// write writes the mark. The caller holds the lock.
func (m *mark) write() error {
	text := binary.LittleEndian.AppendUint64(nil, m.last)
	text = binary.LittleEndian.AppendUint64(text, m.count)
	text = binary.LittleEndian.AppendUint32(text, crc32.ChecksumIEEE(text))
	_, err := m.file.WriteAt(text, 0)
	return err
}

// reached returns the mark: what a server that lost nothing has.
func (m *mark) reached() (last, count uint64) {
	if m == nil {
		return 0, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.count
}

// lost returns an error if the stream does not have what was reached before.
func (m *mark) lost(state jetstream.StreamState, last, count uint64) error {
	if state.LastSeq >= last && state.Msgs >= count {
		return nil
	}
	return fmt.Errorf("the server has lost messages, since its files are damaged: it has %d of %d, up to number %d of %d; "+
		"remove %s to open the store with what is left",
		state.Msgs, count, state.LastSeq, last, m.file.Name())
}

// begin checks the stream when it is opened, and sets the mark to its state.
func (m *mark) begin(state jetstream.StreamState) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.lost(state, m.last, m.count); err != nil {
		return err
	}
	m.last, m.count = state.LastSeq, state.Msgs
	return m.write()
}

// intact returns an error if the server in this process lost messages. It may notice damage, and
// drop messages, when somebody reads them.
func (s *Store) intact(ctx context.Context) error {
	_, err := s.state(ctx)
	return err
}

// complete returns an error if a transcript that was read up to a message has more messages than
// were read: a server skips damaged messages.
func (s *Store) complete(ctx context.Context, read span, messages uint64) error {
	state, err := s.state(ctx, jetstream.WithSubjectFilter(read.subject))
	if err != nil || state.Subjects[read.subject] <= messages {
		return err
	}
	last, err := s.last(ctx, read.subject)
	if err != nil || last != read.last { // somebody has appended since
		return err
	}
	return fmt.Errorf("the server can't read all messages: %d of %d", messages, state.Subjects[read.subject])
}

// state returns the state of the stream, or an error if the server lost messages.
func (s *Store) state(ctx context.Context, opts ...jetstream.StreamInfoOpt) (state jetstream.StreamState, err error) {
	err = s.mark.adding(func() error { // nobody removes messages
		last, count := s.mark.reached()
		info, err := answered(ctx, s.conn, func(ctx context.Context) (*jetstream.StreamInfo, error) {
			return s.stream.Info(ctx, opts...)
		})
		if err != nil {
			return err
		}
		state = info.State
		return s.mark.lost(state, last, count)
	})
	return state, err
}

// added records n messages that the server confirmed, and the number of the last one. A nil mark
// does nothing.
func (m *mark) added(last, n uint64) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last, m.count = max(m.last, last), m.count+n
	return m.write()
}

// adding calls f, which adds messages.
func (m *mark) adding(f func() error) error {
	if m != nil {
		m.changes.RLock()
		defer m.changes.RUnlock()
	}
	return f()
}

// removing calls f, which removes messages and returns how many there are then. If that is
// interrupted, the number of messages is unknown.
func (m *mark) removing(f func() (uint64, error)) error {
	if m == nil {
		_, err := f()
		return err
	}
	m.changes.Lock()
	defer m.changes.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count = 0
	if err := m.write(); err != nil {
		return err
	}
	count, err := f()
	if err != nil {
		return err
	}
	m.count = count
	return m.write()
}

// checksum returns the checksum of a message on a subject: of its body and its summary. Those of
// older versions of this package have none.
func checksum(subject string, m *nats.Msg) string {
	sum := crc32.Checksum([]byte(subject), table)
	sum = crc32.Update(sum, table, m.Data)
	sum = crc32.Update(sum, table, []byte(m.Header.Get(summaryHeader)))
	return strconv.FormatUint(uint64(sum), 16)
}

var table = crc32.MakeTable(crc32.Castagnoli)

// verify returns an error if a message does not match its checksum.
func verify(subject string, m message) error {
	if want := m.Header.Get(checksumHeader); want != "" && want != checksum(subject, m.Msg) {
		return fmt.Errorf("message %d does not match its checksum", m.sequence)
	}
	return nil
}
