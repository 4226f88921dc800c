package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A SessionKey names one transcript in a session store: that of a session, or
// with a Subpath one below it, such as a subagent's.
type SessionKey struct {
	// Project is the folder name that the agent gives to a working folder.
	Project string
	// SessionID is the ID of the session.
	SessionID string
	// Subpath is a path with slashes, without an extension, such as
	// "subagents/agent-1". It is empty for the session's own transcript.
	Subpath string
}

// String returns the key as a path.
func (k SessionKey) String() string {
	if k.Subpath == "" {
		return k.Project + "/" + k.SessionID
	}
	return k.Project + "/" + k.SessionID + "/" + k.Subpath
}

// Check returns an error unless every part of the key can be the name of a file
// inside a folder: a key may come from somebody else, and must not lead
// elsewhere.
func (k SessionKey) Check() error {
	for _, part := range []string{k.Project, k.SessionID} {
		if !fileName(part) {
			return fmt.Errorf("wire: %q is not part of a session key", part)
		}
	}
	if k.Subpath == "" {
		return nil
	}
	for part := range strings.SplitSeq(k.Subpath, "/") {
		if !fileName(part) {
			return fmt.Errorf("wire: %q is not a subpath of a session", k.Subpath)
		}
	}
	return nil
}

// fileName reports whether name is a file's name on every system, and no path.
func fileName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\:\x00") &&
		utf8.ValidString(name)
}
