// Package natsarchive keeps an archive in NATS JetStream, for several machines: blobs in an object
// store, and manifests in a key-value bucket.
//
//	target, err := natsarchive.Open(ctx, "nats://archive.example.com:4222", nil)
//	if err != nil {
//		return err
//	}
//	defer target.Close()
//	saved, err := archive.New(target).Save(ctx, nil)
//
// By default a server syncs to disk every two minutes, and what it has acknowledged since is lost
// with its power. Start it with sync_interval: always in the section jetstream of its configuration.
// Whoever can connect can read the archive: give the server a certificate and accounts.
package natsarchive

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/archive"
)

// Bucket is the name of the object store and of the key-value bucket.
const Bucket = "clew-archive"

// answerTimeout is how long a server may take for one answer.
const answerTimeout = time.Minute

// Options are for the connection. Nil and the zero value mean none.
type Options struct {
	// Connect has options for the connection, such as [nats.UserCredentials] and [nats.RootCAs].
	Connect []nats.Option
	// Replicas is how many servers of a cluster keep buckets that Open creates: 1, 3 or 5. 0 means
	// 1.
	Replicas int
}

// A Target is an [archive.Target] in NATS JetStream.
type Target struct {
	conn      *nats.Conn
	blobs     jetstream.ObjectStore
	manifests jetstream.KeyValue
}

var _ archive.Target = (*Target)(nil)

// Open connects to a server, such as "nats://localhost:4222", and creates the buckets if they do not
// exist. The context bounds only Open. opts may be nil.
func Open(ctx context.Context, server string, opts *Options) (*Target, error) {
	if opts == nil {
		opts = new(Options)
	}
	conn, err := nats.Connect(server, append([]nats.Option{nats.Name("clew archive")}, opts.Connect...)...)
	if err != nil {
		return nil, fmt.Errorf("natsarchive: %s: %w", shown(server), err)
	}
	t := &Target{conn: conn}
	if err := t.setUp(ctx, max(1, opts.Replicas)); err != nil {
		conn.Close()
		return nil, fmt.Errorf("natsarchive: %s: %w", shown(server), err)
	}
	return t, nil
}

// shown returns a URL without its password, or user name that is a token.
func shown(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return "the server"
	}
	return u.Scheme + "://" + u.Host
}

func (t *Target) setUp(ctx context.Context, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	js, err := jetstream.New(t.conn)
	if err != nil {
		return err
	}
	t.blobs, err = js.ObjectStore(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		t.blobs, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: Bucket, Description: "files of sessions, kept by clew", Replicas: replicas,
		})
	}
	if err != nil {
		return err
	}
	t.manifests, err = js.KeyValue(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
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
	entry, err := t.manifests.Get(ctx, encode(key))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return archive.Manifest{}, fmt.Errorf("manifest of %s: %w", key, archive.ErrNotFound)
	}
	if err != nil {
		return archive.Manifest{}, wrapped(err)
	}
	return archive.Manifest{Key: key, Data: entry.Value(), Revision: revisionOf(entry)}, nil
}

func revisionOf(entry jetstream.KeyValueEntry) string {
	return strconv.FormatUint(entry.Revision(), 10)
}

// Manifests implements [archive.Target].
func (t *Target) Manifests(ctx context.Context, machine string) iter.Seq2[archive.Manifest, error] {
	return func(yield func(archive.Manifest, error) bool) {
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

// read yields the manifests that are there when it begins: a nil entry follows the last one.
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
			if entry == nil {
				return
			}
			silence.Reset(answerTimeout)
			key, err := decode(entry.Key())
			if err != nil {
				continue // not ours
			}
			if !yield(archive.Manifest{Key: key, Data: entry.Value(), Revision: revisionOf(entry)}, nil) {
				return
			}
		case <-silence.C:
			yield(archive.Manifest{}, wrapped(errors.New("the server does not answer")))
			return
		case <-ctx.Done():
			yield(archive.Manifest{}, ctx.Err())
			return
		}
	}
}

// Swap implements [archive.Target].
func (t *Target) Swap(ctx context.Context, key archive.Key, data []byte, old string) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	if most := t.conn.MaxPayload(); int64(len(data)) > most {
		return fmt.Errorf("natsarchive: the manifest of %s has %d bytes, and the server takes %d: raise its max_payload", key, len(data), most)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var err error
	if old == "" {
		_, err = t.manifests.Create(ctx, encode(key), data)
	} else {
		revision, parseErr := strconv.ParseUint(old, 10, 64)
		if parseErr != nil || revision == 0 {
			return fmt.Errorf("%s: %w", key, archive.ErrChanged)
		}
		_, err = t.manifests.Update(ctx, encode(key), data, revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || isWrongRevision(err) {
		return fmt.Errorf("%s: %w", key, archive.ErrChanged)
	}
	return wrapped(err)
}

func isWrongRevision(err error) bool {
	api, ok := errors.AsType[jetstream.JetStreamError](err)
	return ok && api.APIError() != nil && api.APIError().ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}
