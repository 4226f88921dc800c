package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/wire"
)

// A Target keeps the blobs and manifests of an archive. [Dir] is one, and packages sqlitearchive
// and natsarchive have others. Package archivetest tests targets.
//
// All methods may be called at once, even by several processes. They return an error that wraps
// [ErrNotFound] if there is no such blob or manifest.
type Target interface {
	// Put stores a blob. It returns when the blob would survive a crash. A blob that exists stays
	// as it is: blobs are named after their content. The caller may change data afterwards.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns a blob. The caller does not change it.
	Get(ctx context.Context, name string) ([]byte, error)
	// Manifests yields the manifests of a machine, or of all machines if machine is "", in no
	// particular order. An error is the last pair. One that can't be read has Manifest.Err.
	Manifests(ctx context.Context, machine string) iter.Seq2[Manifest, error]
	// Manifest returns one manifest.
	Manifest(ctx context.Context, key Key) (Manifest, error)
	// Swap replaces a manifest as a whole, and returns when the new one would survive a crash. It
	// returns an error that wraps [ErrChanged] if the revision of the present one is not old, where
	// "" means that there is none.
	Swap(ctx context.Context, key Key, data []byte, old string) error
	// Close releases what the target holds.
	Close() error
}

// A Manifest is the manifest of a session, as a target keeps it.
type Manifest struct {
	Key  Key
	Data []byte
	// Revision differs between any two contents of this manifest.
	Revision string
	// Err is the reason the manifest can't be read. Then Data is nil.
	Err error
}

var (
	// ErrNotFound is wrapped by the error that a session, blob or manifest is not in the archive.
	ErrNotFound = errors.New("archive: not found")
	// ErrChanged is wrapped by the error of [Target.Swap] that the manifest changed.
	ErrChanged = errors.New("archive: changed by another process")
)

// A Key names a session in an archive. A key with a machine alone names the manifest of the
// machine, which says when it was last saved.
type Key struct {
	Machine string `json:"machine"`
	Project string `json:"project,omitempty"`
	Session string `json:"session,omitempty"`
}

// String returns the parts of the key with slashes between them.
func (k Key) String() string {
	if k.Session == "" {
		return k.Machine
	}
	return k.Machine + "/" + k.Project + "/" + k.Session
}

// Check returns an error unless every part of the key can be the name of a file on any system.
func (k Key) Check() error {
	if err := CheckMachine(k.Machine); err != nil {
		return err
	}
	if k.Project == "" && k.Session == "" {
		return nil
	}
	if err := (wire.SessionKey{Project: k.Project, SessionID: k.Session}).Check(); err != nil || !newid.IsUUID(k.Session) {
		return fmt.Errorf("archive: %q is not the key of a session", k.String())
	}
	return nil
}

var (
	machineName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}$`)
	})
	blobName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9a-f]{64}$`)
	})
)

// CheckMachine returns an error unless name can be the name of a machine: 1 to 63 letters, digits,
// dots, dashes and underscores, of which the first is not a dot.
func CheckMachine(name string) error {
	if !machineName().MatchString(name) {
		return fmt.Errorf("archive: %q can't be the name of a machine: use letters, digits, dots and dashes", name)
	}
	return nil
}

// CheckBlob returns an error unless name can name a blob: a SHA-256 in lower-case hexadecimal
// digits.
func CheckBlob(name string) error {
	if !blobName().MatchString(name) {
		return fmt.Errorf("archive: %q can't be the name of a blob", name)
	}
	return nil
}

// machineOf turns the name of a host into the name of a machine.
func machineOf(host string) string {
	host, _, _ = strings.Cut(host, ".") // without the domain, which changes with the network
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && machineName().MatchString(string(r)) {
			return r
		}
		return '-'
	}, host)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 63)]
}
