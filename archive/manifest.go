package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/wire"
)

// format is the version of the format that this package writes. It refuses others.
const format = 1

const (
	maxSegment  = 4 << 20  // plain bytes of a segment
	maxManifest = 64 << 20 // bytes of a manifest that is read
	maxBlob     = 64 << 20 // bytes of a blob that is read
)

// errNewer is wrapped by the error that a manifest has another format.
var errNewer = errors.New("use a newer version of clew")

// A Session is the manifest of one session in an archive.
type Session struct {
	// Format is the version of the format.
	Format int `json:"format"`
	Key
	// Saved is the time something of the session was last saved.
	Saved time.Time `json:"saved"`
	// Files are the files of the session, sorted by path. None is ever removed, even if the agent
	// deleted it.
	Files []File `json:"files"`

	revision string // of the manifest; "" for a session that is not in the archive
}

// A File is a file of a session, as it was when it was last saved.
type File struct {
	// Path is the path of the file in the agent's directory, with slashes, such as
	// "projects/-home-me-code/ID.jsonl".
	Path string `json:"path"`
	// Size is the number of bytes that were saved, and Modified the file's time then.
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	// Segments are the content, in order.
	Segments []Segment `json:"segments,omitempty"`
	// Old are earlier contents that the file no longer starts with, the oldest first.
	Old []Generation `json:"old,omitempty"`
}

// A Segment is a part of a file.
type Segment struct {
	// Size is the number of plain bytes, and SHA256 their hash in hexadecimal digits.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Blob is the name of the blob, in which the zstd frame starts at offset At and has Stored
	// bytes.
	Blob   string `json:"blob"`
	At     int64  `json:"at"`
	Stored int64  `json:"stored"`
}

// A Generation is an earlier content of a file.
type Generation struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	// Replaced is the time another content was saved.
	Replaced time.Time `json:"replaced"`
	Segments []Segment `json:"segments,omitempty"`
}

// Main returns the transcript of the session, or nil if only other files of it were found.
func (s *Session) Main() *File { return s.file(s.mainPath()) }

// Size returns the number of bytes of all files.
func (s *Session) Size() (n int64) {
	for i := range s.Files {
		n += s.Files[i].Size
	}
	return n
}

// Stored returns the number of bytes that the files take in the archive, with earlier contents.
func (s *Session) Stored() (n int64) {
	for i := range s.Files {
		n += stored(s.Files[i].Segments)
		for _, old := range s.Files[i].Old {
			n += stored(old.Segments) // segments that both have are counted twice, which is rare
		}
	}
	return n
}

func stored(segments []Segment) (n int64) {
	for i := range segments {
		n += segments[i].Stored
	}
	return n
}

func (s *Session) mainPath() string { return "projects/" + s.Project + "/" + s.Session + ".jsonl" }

func (s *Session) find(path string) (i int, found bool) {
	return slices.BinarySearchFunc(s.Files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
}

func (s *Session) file(path string) *File {
	if i, ok := s.find(path); ok {
		return &s.Files[i]
	}
	return nil
}

// put adds a file, or replaces the one with its path.
func (s *Session) put(f File) {
	i, found := s.find(f.Path)
	if !found {
		s.Files = slices.Insert(s.Files, i, f)
		return
	}
	s.Files[i] = f
}

// clone returns a copy whose list of files can be changed.
func (s *Session) clone() *Session {
	c := *s
	c.Files = slices.Clone(s.Files)
	return &c
}

// A manifest ends with the SHA-256 of the text before it, as a member of the object that the rest
// is:
//
//	{"format":1,…,"sha256":"9f86d081…"}
//
// Those of earlier versions of clew have none.
const (
	sumStart = `,"sha256":"`
	sumEnd   = `"}`
)

func (s *Session) encode() ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	sum := hashOf(data)
	return append(append(data[:len(data)-1], sumStart+sum...), sumEnd...), nil
}

// checkSum compares a manifest with its checksum, if it has one.
func checkSum(data []byte) error {
	data = bytes.TrimSpace(data)
	at := len(data) - len(sumEnd) - sha256.Size*2
	if at < 0 || !bytes.HasSuffix(data[:at], []byte(sumStart)) {
		return nil
	}
	h := sha256.New()
	h.Write(data[:at-len(sumStart)])
	h.Write([]byte("}"))
	if want := string(data[at : len(data)-len(sumEnd)]); hex.EncodeToString(h.Sum(nil)) != want {
		return fmt.Errorf("its checksum is not %q", want)
	}
	return nil
}

// decodeSession decodes and checks a manifest. Accepted manifests are safe to unpack.
func decodeSession(m Manifest) (*Session, error) {
	if m.Err != nil {
		return nil, m.Err
	}
	s := &Session{revision: m.Revision}
	err := decodeStrict(m.Data, s)
	if err == nil {
		err = s.check(m.Key)
	}
	if err == nil {
		err = checkSum(m.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: manifest of %s: %w", m.Key, err)
	}
	return s, nil
}

// decodeStrict decodes one JSON value, and nothing after it.
func decodeStrict(data []byte, v any) error {
	if len(data) > maxManifest {
		return fmt.Errorf("it has more than %d bytes", maxManifest)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more data after its end")
	}
	return nil
}

func (s *Session) check(key Key) error {
	if s.Format != format {
		return fmt.Errorf("%w: unsupported format %d (this version reads %d)", errNewer, s.Format, format)
	}
	if s.Key != key || key.Session == "" {
		return fmt.Errorf("it is that of %s", s.Key)
	}
	if err := key.Check(); err != nil {
		return err
	}
	for i := range s.Files {
		f := &s.Files[i]
		if err := s.checkPath(f.Path); err != nil {
			return err
		}
		if i > 0 && s.Files[i-1].Path >= f.Path {
			return fmt.Errorf("%q is not in order", f.Path)
		}
		if err := checkSegments(f.Segments, f.Size); err != nil {
			return fmt.Errorf("%q: %w", f.Path, err)
		}
		for _, old := range f.Old {
			if err := checkSegments(old.Segments, old.Size); err != nil {
				return fmt.Errorf("%q: %w", f.Path, err)
			}
		}
	}
	return nil
}

func checkSegments(segments []Segment, size int64) error {
	var sum int64
	for i, seg := range segments {
		switch {
		case seg.Size <= 0 || seg.Size > maxSegment || sum+seg.Size > size:
			return fmt.Errorf("segment %d has an invalid size, %d", i, seg.Size)
		case seg.At < 0 || seg.Stored <= 0 || seg.At > maxBlob || seg.Stored > maxBlob:
			return fmt.Errorf("segment %d has an invalid place in its blob", i)
		case CheckBlob(seg.Blob) != nil || CheckBlob(seg.SHA256) != nil:
			return fmt.Errorf("segment %d has an invalid name or hash", i)
		}
		sum += seg.Size
	}
	if sum != size {
		return fmt.Errorf("its segments have %d bytes, not %d", sum, size)
	}
	return nil
}

// checkPath returns an error unless a path can name a file of the session. A manifest may come from
// another machine, and must not name other files.
func (s *Session) checkPath(path string) error {
	parts := strings.Split(path, "/")
	if len(parts) < 2 || !fs.ValidPath(path) {
		return fmt.Errorf("%q is not the path of a file of a session", path)
	}
	key := wire.SessionKey{Project: parts[0], SessionID: parts[1], Subpath: strings.Join(parts[2:], "/")}
	if key.Check() == nil && len(parts) <= maxDepth && s.owns(parts) {
		return nil
	}
	return fmt.Errorf("%q is not the path of a file of this session", path)
}

// maxDepth is more than the agent's directories are deep.
const maxDepth = 32

// owns reports whether the path of a file, in its parts, names a file of the session.
func (s *Session) owns(parts []string) bool {
	name := parts[len(parts)-1]
	switch {
	case parts[0] == "projects" && len(parts) == 3:
		return parts[1] == s.Project && (name == s.Session+".jsonl" || isAgentBeside(name))
	case parts[0] == "projects" && len(parts) > 3:
		return parts[1] == s.Project && parts[2] == s.Session
	case parts[0] == todoFolder && len(parts) == 2:
		return strings.HasPrefix(name, s.Session) && strings.HasSuffix(name, ".json")
	}
	return slices.Contains(sideFolders, parts[0]) && len(parts) > 2 && parts[1] == s.Session
}

// sideFolders are directories of the agent that have a directory for each session.
var sideFolders = []string{"file-history", "tasks"}

// todoFolder is the directory of the agent that has files for sessions.
const todoFolder = "todos"

// isAgentBeside reports whether a name belongs to a subagent's transcript beside its session's
// transcript, where older agents put it.
func isAgentBeside(name string) bool {
	return strings.HasPrefix(name, "agent-") && strings.HasSuffix(name, ".jsonl")
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
