package natsfleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/nats/internal/natsclient"
)

const (
	// chunkSize is the size of the part of a file in one message.
	chunkSize = 128 << 10
	// maxUnconfirmed is the maximum number of chunks sent before the first of them is confirmed.
	maxUnconfirmed = 16
)

func (e *Engine) fileStream() string { return e.name + "_FILES" }

// A file has two subjects: one for its description, and one below which each version has its
// chunks. Both start with the elements of the name, so that files whose names start with the same
// elements can be removed together.
func (e *Engine) fileSubject(kind, name string) string {
	tokens := strings.Split(name, "/")
	for i, token := range tokens {
		if tokens[i] = natsclient.Escape(token); token == "" {
			tokens[i] = "="
		}
	}
	return e.fileStream() + "." + kind + "." + strings.Join(tokens, ".")
}

// The kinds of subjects of files.
const (
	infoKind  = "I"
	chunkKind = "C"
)

// A fileInfo describes a file.
type fileInfo struct {
	Version string `json:"version"` // the last token of the subject of its chunks
	Count   int    `json:"count"`   // of chunks
	Last    uint64 `json:"last"`    // the number of the last chunk
	Size    int64  `json:"size"`
	Hash    string `json:"sha256"`
}

// versionSubject returns the subject of the chunks of a version.
func (e *Engine) versionSubject(name string, info fileInfo) string {
	return e.fileSubject(chunkKind, name) + "." + natsclient.Escape(info.Version)
}

// fileName returns the name of the file that a subject belongs to.
func (e *Engine) fileName(subject string) (string, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 3 {
		return "", errors.New("not the subject of a file")
	}
	kind, tokens := tokens[1], tokens[2:]
	if kind == chunkKind {
		tokens = tokens[:len(tokens)-1]
	}
	for i, token := range tokens {
		if token == "=" {
			tokens[i] = ""
			continue
		}
		name, err := natsclient.Unescape(token)
		if err != nil {
			return "", err
		}
		tokens[i] = name
	}
	return strings.Join(tokens, "/"), nil
}

// Put implements [fleet.Engine].
func (e *Engine) Put(ctx context.Context, name string, r io.Reader) error {
	err := errors.Join(ctx.Err(), fleet.CheckFile(name))
	if err == nil {
		err = e.put(ctx, name, r)
	}
	if err != nil {
		return e.wrapError(ctx, "put file", err)
	}
	return nil
}

func (e *Engine) put(ctx context.Context, name string, r io.Reader) error {
	info := fileInfo{Version: rand.Text()}
	if err := e.putChunks(ctx, e.versionSubject(name, info), r, &info); err != nil {
		// The context may be over, so this does not wait for the answer. Remaining chunks go with
		// the file.
		if text, err := json.Marshal(purgeRequest{e.versionSubject(name, info)}); err == nil {
			_ = e.conn.PublishRequest("$JS.API.STREAM.PURGE."+e.fileStream(), e.conn.NewInbox(), text)
		}
		return err
	}
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	m := recordMessage(e.fileSubject(infoKind, name), fleet.Record{Data: text})
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	return e.again(ctx, func() (bool, error) {
		before, err := e.last(ctx, e.fileStream(), m.Subject)
		if err != nil {
			return false, err
		}
		m.Header.Set(afterHeader, strconv.FormatUint(lastSequence(before), 10))
		if _, err = e.send(ctx, m); err == nil {
			e.dropVersion(ctx, name, before)
		}
		return conflicting(err), err // after another error it may have been written, so the chunks stay
	})
}

// dropVersion removes the chunks of a version that was replaced. If that fails, they go with the file.
func (e *Engine) dropVersion(ctx context.Context, name string, m *message) {
	var info fileInfo
	if m != nil && m.verify() == nil && json.Unmarshal(m.data, &info) == nil && info.Version != "" {
		_ = e.purge(ctx, e.versionSubject(name, info))
	}
}

// putChunks writes the chunks of a file. A few are on their way at a time.
func (e *Engine) putChunks(ctx context.Context, subject string, r io.Reader, info *fileInfo) error {
	acks, err := e.conn.SubscribeSync(e.conn.NewInbox())
	if err != nil {
		return err
	}
	defer func() { _ = acks.Unsubscribe() }()
	ctx, done := e.link.expect(ctx, subject)
	defer done()
	sums, unconfirmed := sha256.New(), 0
	for more := true; more || unconfirmed > 0; {
		if more {
			m, err := nextChunk(subject, r)
			if err != nil {
				return err
			}
			if more = len(m.Data) == chunkSize; len(m.Data) > 0 {
				_, _ = sums.Write(m.Data)
				info.Count, info.Size = info.Count+1, info.Size+int64(len(m.Data))
				m.Reply = acks.Subject
				if err := e.conn.PublishMsg(m); err != nil {
					return err
				}
				unconfirmed++
			}
		}
		if unconfirmed == maxUnconfirmed || unconfirmed > 0 && !more {
			if info.Last, err = e.confirm(ctx, acks); err != nil {
				return err
			}
			unconfirmed--
		}
	}
	info.Hash = hex.EncodeToString(sums.Sum(nil))
	return nil
}

// nextChunk reads a chunk, which is shorter than others at the end of the file.
func nextChunk(subject string, r io.Reader) (*nats.Msg, error) {
	chunk := make([]byte, chunkSize)
	n, err := io.ReadFull(r, chunk)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	return recordMessage(subject, fleet.Record{Data: chunk[:n]}), nil
}

// confirm waits for the next confirmation, and returns the number of the message.
func (e *Engine) confirm(ctx context.Context, acks *nats.Subscription) (uint64, error) {
	answer, err := answered(ctx, e, acks.NextMsgWithContext)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return 0, err
	}
	return sequenceOf(answer)
}

// Open implements [fleet.Engine]. The context also bounds reading.
func (e *Engine) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	err := errors.Join(ctx.Err(), fleet.CheckFile(name))
	if err == nil {
		var r *fileReader
		if r, err = e.openFile(ctx, name); err == nil {
			return r, nil
		}
	}
	return nil, e.wrapError(ctx, "open file "+strconv.Quote(name), err)
}

func (e *Engine) openFile(ctx context.Context, name string) (*fileReader, error) {
	m, err := e.last(ctx, e.fileStream(), e.fileSubject(infoKind, name))
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fleet.ErrNotFound
	}
	r := &fileReader{engine: e, name: name, sums: sha256.New()}
	if err := cmp.Or(m.verify(), json.Unmarshal(m.data, &r.info)); err != nil {
		return nil, err
	}
	r.next, r.stop = iter.Pull2(e.messages(ctx, e.fileStream(), span{e.versionSubject(name, r.info), 0, r.info.Last}))
	return r, nil
}

// A fileReader reads the chunks of a file. It returns the end of the file only if the file is whole.
type fileReader struct {
	engine *Engine
	name   string
	info   fileInfo
	next   func() (*message, error, bool)
	stop   func()
	rest   []byte // of the current chunk
	count  int
	size   int64
	sums   hash.Hash
	err    error
}

// Read implements [io.Reader].
func (r *fileReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		r.err = r.advance()
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// advance gets the next chunk.
func (r *fileReader) advance() error {
	m, err, ok := r.next()
	if ok && err == nil {
		err = m.verify()
	}
	if err != nil {
		return r.engine.wrapError(context.Background(), "read file "+strconv.Quote(r.name), err)
	}
	if ok {
		r.count, r.size, r.rest = r.count+1, r.size+int64(len(m.data)), m.data
		_, _ = r.sums.Write(m.data)
		return nil
	}
	if r.count != r.info.Count || r.size != r.info.Size || hex.EncodeToString(r.sums.Sum(nil)) != r.info.Hash {
		return r.engine.wrapError(context.Background(), "read file "+strconv.Quote(r.name), fmt.Errorf("it is damaged: %d of %d bytes are there", r.size, r.info.Size))
	}
	return io.EOF
}

// Close implements [io.Closer].
func (r *fileReader) Close() error {
	r.stop()
	r.err, r.rest = fs.ErrClosed, nil
	return nil
}

// Delete implements [fleet.Engine].
func (e *Engine) Delete(ctx context.Context, prefix string) error {
	err := ctx.Err()
	if err == nil && prefix != "" {
		err = fleet.CheckFile(prefix)
	}
	if err == nil {
		err = e.deleteFiles(ctx, prefix)
	}
	if err != nil {
		return e.wrapError(ctx, "delete files", err)
	}
	return nil
}

func (e *Engine) deleteFiles(ctx context.Context, prefix string) error {
	dir, rest := "", prefix
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		dir, rest = prefix[:i], prefix[i+1:]
	}
	within := func(kind string) string {
		if dir == "" && !strings.HasPrefix(prefix, "/") {
			return e.fileStream() + "." + kind
		}
		return e.fileSubject(kind, dir)
	}
	if rest == "" { // a chunk has its version after the name
		return cmp.Or(e.purge(ctx, within(infoKind)+".>"), e.purge(ctx, within(chunkKind)+".*.>"))
	}
	names := map[string]bool{}
	for _, pattern := range []string{within(infoKind) + ".>", within(chunkKind) + ".*.>"} {
		subjects, err := e.fileSubjects(ctx, pattern)
		if err != nil {
			return err
		}
		for subject := range subjects {
			if name, err := e.fileName(subject); err == nil && strings.HasPrefix(name, prefix) {
				names[name] = true
			}
		}
	}
	for name := range names {
		if err := cmp.Or(e.purge(ctx, e.fileSubject(infoKind, name)), e.purge(ctx, e.fileSubject(chunkKind, name)+".*")); err != nil {
			return err
		}
	}
	return nil
}

// fileSubjects returns the subjects that match a pattern.
func (e *Engine) fileSubjects(ctx context.Context, pattern string) (map[string]uint64, error) {
	info, err := answered(ctx, e, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		stream, err := e.js.Stream(ctx, e.fileStream())
		if err != nil {
			return nil, err
		}
		return stream.Info(ctx, jetstream.WithSubjectFilter(pattern))
	})
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// A purgeRequest asks the server to remove the messages of subjects.
type purgeRequest struct {
	Filter string `json:"filter"`
}

// purge removes the messages of files whose subjects match a pattern.
func (e *Engine) purge(ctx context.Context, pattern string) error {
	var answer struct{}
	return e.ask(ctx, "$JS.API.STREAM.PURGE."+e.fileStream(), purgeRequest{pattern}, &answer)
}
