// Package natsarchive keeps an archive in NATS JetStream, for several machines. Blobs are in an
// object store, and manifests in a key-value bucket, or in an object if they are larger than the
// server's max_payload.
//
//	target, err := natsarchive.Open(ctx, "nats://archive.example.com:4222", nil)
//	if err != nil {
//		return err
//	}
//	defer target.Close()
//	saved, err := archive.New(target).Save(ctx, nil)
//
// By default a server syncs to disk every two minutes, and writes acknowledged since are lost in a
// power failure. Start it with sync_interval: always in the section jetstream of its configuration.
// Whoever can connect can read the archive: give the server a certificate and accounts.
package natsarchive

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/nats/internal/natsclient"
)

// Bucket is the name of the object store and of the key-value bucket.
const Bucket = "clew-archive"

var (
	// connectTimeout is the time a server may take to greet. Commands that read an archive wait for
	// it.
	connectTimeout = 10 * time.Second
	// answerTimeout is the time it may take for one answer.
	answerTimeout = time.Minute
)

var _ = timelimit.Register(&connectTimeout, &answerTimeout)

// Options are for the connection. Nil and the zero value mean none.
type Options struct {
	// Connect has options for the connection, such as [nats.UserCredentials] and [nats.RootCAs].
	Connect []nats.Option
	// Replicas is the number of servers of a cluster that keep buckets created by Open: 1, 3 or 5.
	// 0 means 1.
	Replicas int
}

// A Target is an [archive.Target] in NATS JetStream.
type Target struct {
	conn      *nats.Conn
	blobs     jetstream.ObjectStore
	manifests jetstream.KeyValue
}

var _ archive.Target = (*Target)(nil)

// Open connects to a server, such as "nats://localhost:4222", or to one of several with commas between
// them, and creates the buckets if they do not exist. After a connection was lost, it is made again. The
// context bounds only Open. opts may be nil.
func Open(ctx context.Context, server string, opts *Options) (*Target, error) {
	return open(ctx, server, opts, true)
}

// OpenExisting is like [Open], but creates nothing: if there are no buckets, the error wraps
// [archive.ErrNotFound].
func OpenExisting(ctx context.Context, server string, opts *Options) (*Target, error) {
	return open(ctx, server, opts, false)
}

func open(ctx context.Context, server string, opts *Options, create bool) (*Target, error) {
	if opts == nil {
		opts = new(Options)
	}
	conn, err := natsclient.Dial(ctx, server, append([]nats.Option{
		nats.Name("clew archive"), nats.Timeout(connectTimeout), nats.ReconnectBufSize(nats.DefaultReconnectBufSize),
	}, opts.Connect...)...)
	if err != nil {
		return nil, fmt.Errorf("natsarchive: %w", err)
	}
	name := Redacted(server)
	t := &Target{conn: conn}
	err = t.setUp(ctx, max(1, opts.Replicas), create)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		err = fmt.Errorf("there is no archive in %s: %w", name, archive.ErrNotFound)
	} else if err != nil {
		err = fmt.Errorf("natsarchive: %s: %w", name, err)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return t, nil
}

// Redacted returns the URL of a server, or several with commas between them, without the user name and
// the password. Of an invalid one it returns nothing that was in it.
func Redacted(server string) string {
	servers, err := natsclient.Servers(server)
	if err != nil {
		return "a NATS server with an invalid URL"
	}
	var names []string
	for _, u := range servers {
		names = append(names, u.Scheme+"://"+u.Host)
	}
	return strings.Join(names, ",")
}

func (t *Target) setUp(ctx context.Context, replicas int, create bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	js, err := jetstream.New(t.conn)
	if err != nil {
		return err
	}
	t.blobs, err = js.ObjectStore(ctx, Bucket)
	if create && errors.Is(err, jetstream.ErrBucketNotFound) {
		t.blobs, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: Bucket, Description: "files of sessions, kept by clew", Replicas: replicas,
		})
	}
	if err != nil {
		return err
	}
	t.manifests, err = js.KeyValue(ctx, Bucket)
	if create && errors.Is(err, jetstream.ErrBucketNotFound) {
		t.manifests, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: Bucket, Description: "manifests of sessions, kept by clew", Replicas: replicas,
		})
	}
	return err
}

// Close closes the connection.
func (t *Target) Close() error {
	t.conn.Close()
	return nil
}

// Put implements [archive.Target].
func (t *Target) Put(ctx context.Context, name string, data []byte) error {
	if err := errors.Join(archive.CheckBlob(name), ctx.Err()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if info, err := t.blobs.GetInfo(ctx, name); err == nil && info.Size == uint64(len(data)) {
		return nil
	}
	_, err := t.blobs.Put(ctx, jetstream.ObjectMeta{Name: name}, bytes.NewReader(data))
	return wrapped(err)
}

// Get implements [archive.Target].
func (t *Target) Get(ctx context.Context, name string) ([]byte, error) {
	if err := errors.Join(archive.CheckBlob(name), ctx.Err()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	data, err := t.blobs.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("blob %s: %w", name, archive.ErrNotFound)
	}
	return data, wrapped(err)
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("natsarchive: %w", err)
}

// A key of the bucket is the parts of an archive's key with dots between them. Each part is encoded,
// since keys of NATS have few characters.

func encode(key archive.Key) string {
	if key.Session == "" {
		return encodePart(key.Machine)
	}
	return encodePart(key.Machine) + "." + encodePart(key.Project) + "." + key.Session
}

func encodePart(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func decode(text string) (archive.Key, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 1 && len(parts) != 3 {
		return archive.Key{}, fmt.Errorf("natsarchive: invalid key %q", text)
	}
	machine, err := base64.RawURLEncoding.DecodeString(parts[0])
	key := archive.Key{Machine: string(machine)}
	if err == nil && len(parts) == 3 {
		var project []byte
		project, err = base64.RawURLEncoding.DecodeString(parts[1])
		key.Project, key.Session = string(project), parts[2]
	}
	if err = errors.Join(err, key.Check()); err != nil {
		return archive.Key{}, fmt.Errorf("natsarchive: invalid key %q: %w", text, err)
	}
	return key, nil
}

// Manifest implements [archive.Target].
func (t *Target) Manifest(ctx context.Context, key archive.Key) (archive.Manifest, error) {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return archive.Manifest{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var replaced error
	for range 10 {
		entry, err := t.manifests.Get(ctx, encode(key))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return archive.Manifest{}, fmt.Errorf("manifest of %s: %w", key, archive.ErrNotFound)
		}
		if err != nil {
			return archive.Manifest{}, wrapped(err)
		}
		data, err := t.content(ctx, entry)
		if err == nil {
			return archive.Manifest{Key: key, Data: data, Revision: revisionOf(entry)}, nil
		}
		if !errors.Is(err, jetstream.ErrObjectNotFound) {
			return archive.Manifest{}, wrapped(err)
		}
		replaced = err // since the entry was read, perhaps: then the next one is whole
	}
	return archive.Manifest{}, wrapped(fmt.Errorf("manifest of %s: %w", key, replaced))
}

// objectMark starts an entry of the bucket that names an object with the manifest: a message of
// NATS has a largest size, 1 MiB by default.
const objectMark = "\x00object "

// content returns the manifest of an entry.
func (t *Target) content(ctx context.Context, entry jetstream.KeyValueEntry) ([]byte, error) {
	name, isObject := strings.CutPrefix(string(entry.Value()), objectMark)
	if !isObject {
		return entry.Value(), nil
	}
	return t.blobs.GetBytes(ctx, name)
}

// revisionOf returns the revision of an entry, and after a space the object that it names, if any.
func revisionOf(entry jetstream.KeyValueEntry) string {
	revision := strconv.FormatUint(entry.Revision(), 10)
	if name, isObject := strings.CutPrefix(string(entry.Value()), objectMark); isObject {
		revision += " " + name
	}
	return revision
}

// Manifests implements [archive.Target].
func (t *Target) Manifests(ctx context.Context, machine string) iter.Seq2[archive.Manifest, error] {
	return func(yield func(archive.Manifest, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(archive.Manifest{}, err)
			return
		}
		pattern := []string{">"}
		if machine != "" {
			pattern = []string{encodePart(machine), encodePart(machine) + ".>"}
		}
		watch, err := t.manifests.WatchFiltered(ctx, pattern, jetstream.IgnoreDeletes())
		if err != nil {
			yield(archive.Manifest{}, wrapped(err))
			return
		}
		defer watch.Stop() //nolint:errcheck // nothing was written
		t.read(ctx, watch, yield)
	}
}

// read yields the manifests that are there when it starts: a nil entry follows the last one.
func (t *Target) read(ctx context.Context, watch jetstream.KeyWatcher, yield func(archive.Manifest, error) bool) {
	silence := time.NewTimer(answerTimeout)
	defer silence.Stop()
	for {
		select {
		case entry, ok := <-watch.Updates():
			if !ok {
				yield(archive.Manifest{}, wrapped(errors.New("the connection was lost")))
				return
			}
			if entry == nil || !t.yieldEntry(ctx, entry, yield) {
				return
			}
			silence.Reset(answerTimeout)
		case <-silence.C:
			yield(archive.Manifest{}, wrapped(errors.New("the server does not answer")))
			return
		case <-ctx.Done():
			yield(archive.Manifest{}, ctx.Err())
			return
		}
	}
}

// yieldEntry yields the manifest of an entry, and reports whether the loop continues.
func (t *Target) yieldEntry(ctx context.Context, entry jetstream.KeyValueEntry, yield func(archive.Manifest, error) bool) bool {
	key, err := decode(entry.Key())
	if err != nil {
		return true // not ours
	}
	if !strings.HasPrefix(string(entry.Value()), objectMark) {
		return yield(archive.Manifest{Key: key, Data: entry.Value(), Revision: revisionOf(entry)}, nil)
	}
	m, err := t.Manifest(ctx, key)
	switch {
	case ctx.Err() != nil:
		yield(archive.Manifest{}, ctx.Err())
		return false
	case err != nil:
		m = archive.Manifest{Key: key, Err: err}
	}
	return yield(m, nil)
}

// Swap implements [archive.Target].
func (t *Target) Swap(ctx context.Context, key archive.Key, data []byte, old string) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	const overhead = 4 << 10 // more than the subject and the headers of the message
	var object string
	if int64(len(data)+overhead) > t.conn.MaxPayload() || strings.HasPrefix(string(data), objectMark) {
		object = "manifest." + encode(key) + "." + rand.Text() // each swap has its own, so that no other one needs it
		if _, err := t.blobs.Put(ctx, jetstream.ObjectMeta{Name: object}, bytes.NewReader(data)); err != nil {
			return wrapped(err)
		}
		data = []byte(objectMark + object)
	}
	revision, before, _ := strings.Cut(old, " ")
	err := t.swap(ctx, encode(key), data, revision)
	switch {
	case errors.Is(err, jetstream.ErrKeyExists) || isWrongRevision(err):
		t.removeObject(ctx, object)
		return fmt.Errorf("%s: %w", key, archive.ErrChanged)
	case err != nil:
		return wrapped(err) // it may have been done
	}
	t.removeObject(ctx, before)
	return nil
}

func (t *Target) swap(ctx context.Context, key string, data []byte, old string) error {
	if old == "" {
		_, err := t.manifests.Create(ctx, key, data)
		return err
	}
	revision, err := strconv.ParseUint(old, 10, 64)
	if err != nil || revision == 0 {
		return jetstream.ErrKeyExists
	}
	_, err = t.manifests.Update(ctx, key, data, revision)
	return err
}

// removeObject removes an object of a manifest that nobody names any more. One that stays takes space
// and nothing else.
func (t *Target) removeObject(ctx context.Context, name string) {
	if name != "" {
		_ = t.blobs.Delete(ctx, name)
	}
}

func isWrongRevision(err error) bool {
	api, ok := errors.AsType[jetstream.JetStreamError](err)
	return ok && api.APIError() != nil && api.APIError().ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}
