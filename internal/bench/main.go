// Command bench compares decoding a stream with package wire to what a program
// would use instead: encoding/json into structs or a map, and json.Valid as the
// floor for reading at all.
//
// Everything runs in one process on one processor. A round takes one slice of
// the stream and gives it to every contestant, in random order and with a fresh
// heap. The ratios are medians over the rounds of the ratio inside a round, so
// that noise from the rest of the machine hits both sides.
//
// The report is Markdown, ready for docs/benchmarks.md; -json prints the same as
// one object.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/clewdev/clew/internal/corpus"
)

type options struct {
	rounds int
	size   int
	seed   uint64
	json   bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 48, "slices to measure, each with every contestant")
	flag.IntVar(&o.size, "size", corpus.DefaultSize, "bytes of the generated stream")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the generated stream")
	flag.BoolVar(&o.json, "json", false, "print one JSON object instead of Markdown")
	flag.Parse()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, o options) error {
	if o.rounds < 1 || o.size < 1 {
		return fmt.Errorf("-rounds and -size must be positive")
	}
	runtime.GOMAXPROCS(1)
	rep, err := measureAll(o)
	if err != nil {
		return err
	}
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(rep)
	}
	return rep.writeMarkdown(w)
}

func measureAll(o options) (*report, error) {
	rep, err := measureStream(o)
	if err != nil {
		return nil, err
	}
	if rep.Huge, err = measureHuge(o.seed); err != nil {
		return nil, err
	}
	rep.judge()
	return rep, nil
}

func measureStream(o options) (*report, error) {
	parts, err := newSlices(o.seed, o.size)
	if err != nil {
		return nil, err
	}
	if err := checkWire(parts); err != nil {
		return nil, err
	}
	s, err := measureRounds(parts, o.rounds)
	if err != nil {
		return nil, err
	}
	return newReport(o, parts, s), nil
}
