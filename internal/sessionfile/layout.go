// Package sessionfile knows how the agent lays out transcripts below the folder of its settings: the names of projects,
// where the transcript of a session lies, and where those of its subagents.
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

// Folder is where projects lie below the folder of the agent's settings.
const Folder = "projects"

const (
	extension        = ".jsonl"
	sidecarExtension = ".meta.json"
)

// maxProjectName is the length at which the agent cuts the name of a project, and tells it from others by a hash.
const maxProjectName = 200

// ProjectName returns the name that the agent gives to a working folder, which must be its real path. It is the same for
// a path with composed letters and for one with the decomposed ones of some file systems.
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

// maxGivenName is the length of the longest name of a project that the agent takes from its environment.
const maxGivenName = 64

// GivenName reports whether the agent takes a name from CLAUDE_CODE_PROJECT_DIR_NAME for the project of any working
// folder. It passes over another one.
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

// SameCut reports whether two names were cut from paths with the same start.
func SameCut(a, b string) bool {
	return CutName(a) && CutName(b) && a[:maxProjectName+1] == b[:maxProjectName+1]
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// hash is that of the agent: of UTF-16 units, in 32 bits with a sign, in base 36.
func hash(units []uint16) string {
	var h int32
	for _, unit := range units {
		h = h*31 + int32(unit)
	}
	return strconv.FormatInt(max(int64(h), -int64(h)), 36)
}

// Path returns where a transcript lies below [Folder], with slashes.
func Path(key wire.SessionKey) string { return key.String() + extension }

// Key returns the key of the transcript at a path with slashes below [Folder].
func Key(rel string) (wire.SessionKey, error) {
	name, ok := strings.CutSuffix(rel, extension)
	parts := strings.SplitN(name, "/", 3)
	if !ok || len(parts) < 2 {
		return wire.SessionKey{}, fmt.Errorf("sessionfile: %q is not the path of a transcript", rel)
	}
	key := wire.SessionKey{Project: parts[0], SessionID: parts[1]}
	if len(parts) == 3 {
		key.Subpath = parts[2]
		if !strings.Contains(key.Subpath, "/") { // beside the session's folders lie other files
			return wire.SessionKey{}, fmt.Errorf("sessionfile: %q is not the path of a transcript", rel)
		}
	}
	return key, key.Check()
}

// Subpath returns the subpath of the transcript whose file, or the file beside it, lies at a path below the session's
// folder.
func Subpath(rel string) (subpath string, ok bool) {
	for _, end := range []string{extension, sidecarExtension} {
		if subpath, ok = strings.CutSuffix(rel, end); ok {
			key := wire.SessionKey{Project: "any", SessionID: "any", Subpath: subpath}
			return subpath, subpath != "" && key.Check() == nil
		}
	}
	return "", false
}

// SidecarPath returns where what is known of a subagent lies, beside its transcript.
func SidecarPath(key wire.SessionKey) string {
	return path.Join(key.Project, key.SessionID, key.Subpath+sidecarExtension)
}

// metadataType is the type of the entry that stands in a store for the file beside a subagent's transcript. The agent
// writes it to the mirror when that file changes: the last one counts.
const metadataType = "agent_metadata"

// Sidecar returns the content of the file beside a subagent's transcript, if that is what the entry stands for.
func Sidecar(entry wire.JSON) (content []byte, ok bool) {
	if !strings.Contains(string(entry), metadataType) {
		return nil, false // nearly all entries, and fast
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

// SidecarEntry returns the entry that stands for the file beside a subagent's transcript. It reports false if that is
// not a JSON object.
func SidecarEntry(content []byte) (entry wire.JSON, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimSpace(content), &fields) != nil || fields == nil {
		return "", false
	}
	fields["type"] = json.RawMessage(`"` + metadataType + `"`)
	text, err := json.Marshal(fields)
	return wire.JSON(text), err == nil
}
