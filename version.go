package clew

import (
	"strconv"
	"strings"
)

// MinAgentVersion is the oldest version of Claude Code that this package is meant for. An older one is used all the
// same, with a warning to [Options.Logger].
const MinAgentVersion = "2.0.0"

// checkVersion warns of an agent that is too old. An agent that does not tell its version is not judged.
func (s *Session) checkVersion(version string) {
	if olderThan(version, MinAgentVersion) && !s.warned.Swap(true) {
		s.log.Warn("the agent is older than this package was made for: update it", "version", version, "minimum", MinAgentVersion)
	}
}

// olderThan compares versions by their numbers. What is not a version is not older.
func olderThan(version, minimum string) bool {
	have, ok := numbers(version)
	want, _ := numbers(minimum)
	if !ok {
		return false
	}
	for i := range want {
		if have[i] != want[i] {
			return have[i] < want[i]
		}
	}
	return false
}

// numbers returns the three numbers that a version begins with.
func numbers(version string) (n [3]int, ok bool) {
	parts := strings.SplitN(version, ".", len(n))
	if len(parts) < len(n) {
		return n, false
	}
	for i, part := range parts {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		value, err := strconv.Atoi(digits)
		if err != nil {
			return n, false
		}
		n[i] = value
	}
	return n, true
}
