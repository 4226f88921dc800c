// Command clew runs Claude Code, and reads, searches and exports its sessions.
package main

import (
	"os"

	"github.com/clewdev/clew/cmd/clew/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
