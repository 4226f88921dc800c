// Command totals prints what the sessions below a projects directory used, as JSON. It is a
// separate program, so that its memory is the memory of a small program and nothing else.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
	"github.com/clewdev/clew/sessions"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "totals:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: totals PROJECTS")
	}
	r, err := sessions.ScanUsage(context.Background(), &sessions.UsageOptions{Store: sessions.NewFolder(args[0])})
	if err != nil {
		return err
	}
	sum, _ := r.Tally.Total()
	var out contest.Totals
	out.Totals.Input, out.Totals.Output = sum.InputTokens, sum.OutputTokens
	out.Totals.CacheWrite, out.Totals.CacheRead = sum.CacheCreationTokens, sum.CacheReadTokens
	return json.NewEncoder(os.Stdout).Encode(out)
}
