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
	hugeSamples = 20
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
	megabytePieces = iota
	tenDecoded
	tenWhole
	tenPieces
	tenWrapped
	tenWrappedPieces
	tenStructs
	listingWhole
	listingLines
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

// measure runs the case twice and takes the time of the second, for the same reason as measure does
// with slices.
func (c *hugeCase) measure() error {
	if err := c.run(); err != nil {
		return err
	}
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
		megabytePieces:   feedCase("1 MB text, 4 KB pieces", pieces(one.Bytes())),
		tenDecoded:       decodeCase("10 MB text, decoded without framing", ten.Bytes()),
		tenWhole:         feedCase("10 MB text, one piece", whole(ten.Bytes())),
		tenPieces:        feedCase("10 MB text, 4 KB pieces", pieces(ten.Bytes())),
		tenWrapped:       feedCase("10 MB text wrapped into 250,000 lines, one piece", whole(wrap(ten.Bytes()))),
		tenWrappedPieces: feedCase("10 MB text wrapped into 250,000 lines, 4 KB pieces", pieces(wrap(ten.Bytes()))),
		tenStructs:       structsCase("10 MB text, encoding/json, structs", ten.Bytes()),
		listingWhole:     feedCase("10 MB list, one piece", whole(listing.Bytes())),
		listingLines:     feedCase("10 MB list over 230,000 lines, one piece", whole(lines.Bytes())),
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

// wrap cuts a frame into 250,000 lines, as a terminal would: wherever it is.
func wrap(frame []byte) []byte {
	frame = bytes.TrimSpace(frame)
	return append(bytes.Join(slices.Collect(slices.Chunk(frame, len(frame)/250_000+1)), []byte{'\n'}), '\n')
}

func whole(data []byte) [][]byte  { return [][]byte{data} }
func pieces(data []byte) [][]byte { return slices.Collect(slices.Chunk(data, pieceSize)) }

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
	return wantAnswer(got[0])
}

func wantAnswer(got wire.Message) error {
	if _, ok := got.(*wire.AssistantMessage); !ok {
		return fmt.Errorf("got %T, want *wire.AssistantMessage", got)
	}
	runtime.KeepAlive(got)
	return nil
}

func decodeCase(name string, data []byte) hugeCase {
	return hugeCase{Name: name, Bytes: len(data), Pieces: 1, run: func() error { return wantAnswer(wire.Decode(data)) }}
}

func structsCase(name string, data []byte) hugeCase {
	return hugeCase{Name: name, Bytes: len(data), Pieces: 1, run: func() error {
		v, err := intoStructs(data)
		runtime.KeepAlive(v)
		return err
	}}
}
