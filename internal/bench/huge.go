package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/wire"
)

const (
	pieceSize   = 4 << 10
	hugeSamples = 7
)

// A hugeCase is one frame and a way of giving it to a decoder.
type hugeCase struct {
	Name   string        `json:"name"`
	Bytes  int           `json:"bytes"`
	Pieces int           `json:"pieces"`
	Best   time.Duration `json:"best_ns"`

	run func() error
}

// The places of the cases in the list.
const (
	megabyteWhole = iota
	megabytePieces
	tenWhole
	tenPieces
	tenStructs
	listingWhole
	listingLines
	listingLineByLine
	listingLinesPieces
)

// measureHuge takes the best of a few samples of each case, interleaved.
func measureHuge(seed uint64) ([]hugeCase, error) {
	cases, err := hugeCases(seed)
	if err != nil {
		return nil, err
	}
	for range hugeSamples {
		for i := range cases {
			if err := cases[i].measure(); err != nil {
				return nil, fmt.Errorf("%s: %w", cases[i].Name, err)
			}
		}
	}
	return cases, nil
}

func (c *hugeCase) measure() error {
	runtime.GC()
	start := time.Now()
	err := c.run()
	elapsed := time.Since(start)
	if c.Best == 0 || elapsed < c.Best {
		c.Best = elapsed
	}
	return err
}

func hugeCases(seed uint64) ([]hugeCase, error) {
	var one, ten, listing, lines bytes.Buffer
	err := firstError(
		corpus.Huge(&one, seed, 1<<20),
		corpus.Huge(&ten, seed, 10<<20),
		corpus.HugeListing(&listing, seed, 10<<20),
		json.Indent(&lines, listing.Bytes(), "", ""),
	)
	if err != nil {
		return nil, err
	}
	return []hugeCase{
		megabyteWhole:      feedCase("1 MB text, one piece", whole(one.Bytes())),
		megabytePieces:     feedCase("1 MB text, 4 KB pieces", pieces(one.Bytes())),
		tenWhole:           feedCase("10 MB text, one piece", whole(ten.Bytes())),
		tenPieces:          feedCase("10 MB text, 4 KB pieces", pieces(ten.Bytes())),
		tenStructs:         structsCase("10 MB text, encoding/json, structs", ten.Bytes()),
		listingWhole:       feedCase("10 MB list on one line, one piece", whole(listing.Bytes())),
		listingLines:       feedCase("the same over many lines, one piece", whole(lines.Bytes())),
		listingLineByLine:  feedCase("the same over many lines, a piece per line", lineByLine(lines.Bytes())),
		listingLinesPieces: feedCase("the same over many lines, 4 KB pieces", pieces(lines.Bytes())),
	}, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func whole(data []byte) [][]byte      { return [][]byte{data} }
func pieces(data []byte) [][]byte     { return slices.Collect(slices.Chunk(data, pieceSize)) }
func lineByLine(data []byte) [][]byte { return slices.Collect(bytes.Lines(data)) }

func feedCase(name string, chunks [][]byte) hugeCase {
	total := 0
	for _, chunk := range chunks {
		total += len(chunk)
	}
	return hugeCase{Name: name, Bytes: total, Pieces: len(chunks), run: func() error { return feed(chunks) }}
}

// feed fails unless the chunks make exactly one assistant message.
func feed(chunks [][]byte) error {
	f := wire.NewFeeder(nil)
	var got []wire.Message
	for _, chunk := range chunks {
		got = append(got, f.Feed(chunk)...)
	}
	got = append(got, f.Drain()...)
	if len(got) != 1 {
		return fmt.Errorf("%d messages, want 1", len(got))
	}
	if _, ok := got[0].(*wire.AssistantMessage); !ok {
		return fmt.Errorf("got %T, want *wire.AssistantMessage", got[0])
	}
	runtime.KeepAlive(got)
	return nil
}

func structsCase(name string, data []byte) hugeCase {
	return hugeCase{Name: name, Bytes: len(data), Pieces: 1, run: func() error {
		v, err := intoStructs(data)
		runtime.KeepAlive(v)
		return err
	}}
}
