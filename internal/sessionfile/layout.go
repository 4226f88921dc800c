// Package sessionfile knows the layout of transcripts in the agent's configuration directory. It
// has the names of projects, and the paths of the transcripts of sessions and subagents.
package sessionfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"

	"github.com/clewdev/clew/wire"
)

// Folder is the name of the directory of the projects, in the directory of the agent's settings.
const Folder = "projects"

const (
	extension        = ".jsonl"
	sidecarExtension = ".meta.json"
)

// maxProjectName is the length at which the agent cuts the name of a project and adds a hash, to
// keep names distinct.
const maxProjectName = 200

// ProjectName returns the name that the agent gives to a working directory: "/home/me/code" becomes
// "-home-me-code". dir must be the real path, without symbolic links. Composed characters and the
// decomposed ones of some file systems give the same name.
func ProjectName(dir string) string {
	units := utf16.Encode([]rune(norm.NFC.String(dir)))
	name := make([]byte, len(units))
	for i, unit := range units {
		name[i] = '-'
		if unit < 0x80 && isAlphanumeric(byte(unit)) {
			name[i] = byte(unit)
		}
	}
	if len(name) <= maxProjectName {
		return string(name)
	}
	return string(name[:maxProjectName]) + "-" + hash(units)
}

// maxGivenName is the length of the longest project name that the agent accepts from its
// environment.
const maxGivenName = 64

// GivenName reports whether the agent accepts a name from CLAUDE_CODE_PROJECT_DIR_NAME, which it
// then uses for every working directory. It ignores other names.
func GivenName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return name != "" && len(name) <= maxGivenName
}

// CutName reports whether the name of a project was cut.
func CutName(name string) bool { return len(name) > maxProjectName }

// SameCut reports whether two names were cut, and are equal except for the hash.
func SameCut(a, b string) bool {
	return CutName(a) && CutName(b) && a[:maxProjectName+1] == b[:maxProjectName+1]
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// hash returns the hash that the agent uses: over UTF-16 units, in signed 32 bits, in base 36.
func hash(units []uint16) string {
	var h int32
	for _, unit := range units {
		h = h*31 + int32(unit)
	}
	return strconv.FormatInt(max(int64(h), -int64(h)), 36)
}

// Path returns the path of a transcript relative to [Folder], with slashes.
func Path(key wire.SessionKey) string { return key.String() + extension }

// Key returns the key of the transcript at a path relative to [Folder], with slashes.
func Key(rel string) (wire.SessionKey, error) {
	name, ok := strings.CutSuffix(rel, extension)
	names := strings.SplitN(name, "/", 3)
	if !ok || len(names) < 2 {
		return wire.SessionKey{}, fmt.Errorf("sessionfile: %q is not the path of a transcript", rel)
	}
	key := wire.SessionKey{Project: names[0], SessionID: names[1]}
	if len(names) == 3 {
		key.Subpath = names[2]
		if !strings.Contains(key.Subpath, "/") { // other files are next to the session's directories
			return wire.SessionKey{}, fmt.Errorf("sessionfile: %q is not the path of a transcript", rel)
		}
	}
	return key, key.Check()
}

// Subpath returns the subpath of a transcript. rel is the path of its file, or of its metadata
// file, relative to the session's directory.
func Subpath(rel string) (subpath string, ok bool) {
	for _, end := range []string{extension, sidecarExtension} {
		if subpath, ok = strings.CutSuffix(rel, end); ok {
			key := wire.SessionKey{Project: "any", SessionID: "any", Subpath: subpath}
			return subpath, subpath != "" && key.Check() == nil
		}
	}
	return "", false
}

// SidecarPath returns the path of the metadata file of a subagent, next to its transcript.
func SidecarPath(key wire.SessionKey) string {
	return path.Join(key.Project, key.SessionID, key.Subpath+sidecarExtension)
}

// metadataType is the type of the entry that stands for the metadata file of a subagent in a store.
// The agent mirrors one each time the file changes, and the last one counts.
const metadataType = "agent_metadata"

// Sidecar returns the content of a subagent's metadata file, if the entry stands for one.
func Sidecar(entry wire.JSON) (content []byte, ok bool) {
	if !strings.Contains(string(entry), metadataType) {
		return nil, false // the fast path for nearly all entries
	}
	var head struct {
		Type string `json:"type"`
	}
	if entry.Decode(&head) != nil || head.Type != metadataType {
		return nil, false
	}
	var fields map[string]json.RawMessage
	if entry.Decode(&fields) != nil {
		return nil, false
	}
	delete(fields, "type")
	content, err := json.Marshal(fields)
	return content, err == nil
}

// SidecarEntry returns the entry that stands for a subagent's metadata file. It returns false if
// the content is not a JSON object.
func SidecarEntry(content []byte) (entry wire.JSON, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimSpace(content), &fields) != nil || fields == nil {
		return "", false
	}
	fields["type"] = json.RawMessage(`"` + metadataType + `"`)
	text, err := json.Marshal(fields)
	return wire.JSON(text), err == nil
}
