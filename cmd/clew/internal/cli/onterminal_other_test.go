//go:build !linux

package cli

import (
	"fmt"
	"os"
)

// onTerminal fails: scripts with a terminal need Linux.
func onTerminal() {
	fmt.Fprintln(os.Stderr, "onterminal: needs Linux")
	os.Exit(1)
}
