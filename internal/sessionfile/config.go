package sessionfile

import (
	"io/fs"
	"os"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Existing returns a directory under the name by which it exists. The agent normalizes its path to
// composed characters, and some systems decompose them. The info is nil if the directory does not
// exist.
func Existing(dir string) (string, fs.FileInfo) {
	for _, dir := range []string{dir, norm.NFC.String(dir)} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, info
		}
	}
	return dir, nil
}

// ConfigDirs returns the directories of agents that CLAUDE_CONFIG_DIR names, as it names them. If the
// whole value is an existing directory, a comma is part of its name.
func ConfigDirs() []string {
	value := os.Getenv("CLAUDE_CONFIG_DIR")
	names := []string{value}
	if _, info := Existing(value); info == nil {
		names = strings.Split(value, ",")
	}
	var dirs []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			dirs = append(dirs, name)
		}
	}
	return dirs
}
