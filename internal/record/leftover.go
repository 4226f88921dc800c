package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// leftovers describes the processes that still run in the environment of a model, told by its folder for settings. It
// finds none on systems without /proc.
func leftovers(config string) []string {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var list []string
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte("CLAUDE_CONFIG_DIR="+config+"\x00")) {
			continue // it ended meanwhile, is another user's, or has nothing to do with this
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		list = append(list, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(file)), command))
	}
	return list
}
