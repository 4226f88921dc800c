// Command clew inspects what Claude Code writes.
package main

import (
	"os"

	"github.com/clewdev/clew/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
