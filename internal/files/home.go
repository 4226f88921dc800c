package files

import (
	"os"
	"path/filepath"
	"strings"
)

// ExpandHome replaces a leading "~" of a path by the home directory, unless that is "".
func ExpandHome(path, home string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || home == "" || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path
	}
	return filepath.Join(home, rest)
}
