package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/wire"
)

// A sample is one contestant over one slice.
type sample struct {
	elapsed time.Duration
	allocs  uint64
	bytes   uint64
}

// A series holds all samples of a run.
type series struct {
	slices  []int      // by round: which slice it took
	samples [][]sample // by contestant, then by round
}

// measureRounds gives every contestant the first slice unmeasured, to warm up, and then measures
// round after round.
func measureRounds(parts []slice, rounds int) (*series, error) {
	defer debug.SetGCPercent(smallHeapPercent())
	list := contestants()
	for _, c := range list {
		if _, err := measure(c, parts[0]); err != nil {
			return nil, err
		}
	}
	s := &series{samples: make([][]sample, len(list))}
	rng := rand.New(rand.NewPCG(uint64(rounds), uint64(len(parts))))
	for round := range rounds {
		at := round % len(parts)
		s.slices = append(s.slices, at)
		for _, i := range rng.Perm(len(list)) {
			got, err := measure(list[i], parts[at])
			if err != nil {
				return nil, err
			}
			s.samples[i] = append(s.samples[i], got)
		}
	}
	return s, nil
}

// smallHeapPercent sets the collector to run after every 4 MiB of allocation, as it does in a small
// program, and returns the setting before. With the stream on the heap it would otherwise run so
// rarely that garbage cost nothing.
func smallHeapPercent() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	const allowance = 4 << 20
	return debug.SetGCPercent(max(1, int(100*allowance/max(m.HeapAlloc, allowance))))
}

// measure lets c take s twice and measures the second time. So it sees the contestant at work, with
// a heap of the size that it needs, and not the way there: after a collection by force the memory
// is with the operating system, and getting it back would be what is measured.
func measure(c contestant, s slice) (sample, error) {
	if _, err := c.run(s); err != nil {
		return sample{}, fmt.Errorf("%s: %w", c.name, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	n, err := c.run(s)
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w", c.name, err)
	}
	if n != s.frames() {
		return sample{}, fmt.Errorf("%s: %d frames, want %d", c.name, n, s.frames())
	}
	return sample{elapsed, after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc}, nil
}

// ratio returns the speed of a contestant as a multiple of the speed of base: the median over the
// rounds.
func (s *series) ratio(base, contestant int) float64 {
	ratios := make([]float64, len(s.slices))
	for round := range ratios {
		ratios[round] = float64(s.samples[base][round].elapsed) / float64(s.samples[contestant][round].elapsed)
	}
	return benchreport.Median(ratios)
}

// total sums over the slices what reduce makes of a contestant's times on one.
func (s *series) total(contestant int, reduce func([]float64) float64) time.Duration {
	bySlice := map[int][]float64{}
	for round, at := range s.slices {
		bySlice[at] = append(bySlice[at], float64(s.samples[contestant][round].elapsed))
	}
	var sum float64
	for _, times := range bySlice {
		sum += reduce(times)
	}
	return time.Duration(sum)
}

func least(values []float64) float64 { return slices.Min(values) }

// A contestant decodes every line of a slice and returns the number of lines.
type contestant struct {
	name string
	run  func(slice) (int, error)
}

// The places of the contestants in the list.
const (
	structs = iota
	structsFlat
	maps
	valid
	wireRaw
	wireBare
	wireReader
)

func contestants() []contestant {
	return []contestant{
		structs:     {"encoding/json, structs", each(intoStructs)},
		structsFlat: {"encoding/json, structs, flat unions", each(intoFlatStructs)},
		maps:        {"encoding/json, map[string]any", each(intoMap)},
		valid:       {"json.Valid", each(onlyValid)},
		wireRaw:     {"wire, raw kept", decodeWire(&wire.ReaderOptions{})},
		wireBare:    {"wire, raw off", decodeWire(&wire.ReaderOptions{DiscardRaw: true})},
		wireReader:  {"wire.Reader, raw kept", readWire(&wire.ReaderOptions{})},
	}
}

// each decodes line by line. The results are kept alive, here as in the other contestants, so that
// none of it is optimised away.
func each(decode func([]byte) (any, error)) func(slice) (int, error) {
	return func(s slice) (int, error) {
		n := 0
		for line := range s.lines() {
			n++
			v, err := decode(line)
			if err != nil {
				return n, fmt.Errorf("line %d: %w", n, err)
			}
			runtime.KeepAlive(v)
		}
		return n, nil
	}
}

func intoMap(line []byte) (any, error) {
	var m map[string]any
	err := json.Unmarshal(line, &m)
	return m, err
}

func onlyValid(line []byte) (any, error) {
	if !json.Valid(line) {
		return nil, fmt.Errorf("not valid: %.200s", line)
	}
	return nil, nil
}

// decodeWire starts each slice with a new decoder, as readWire must.
func decodeWire(opts *wire.ReaderOptions) func(slice) (int, error) {
	return func(s slice) (int, error) {
		d := wire.NewDecoder(opts)
		n := 0
		for line := range s.lines() {
			n++
			runtime.KeepAlive(d.Decode(line))
		}
		return n, nil
	}
}

// readWire counts what the reader yields: that it is as much as there are lines shows that framing
// lost and added nothing.
func readWire(opts *wire.ReaderOptions) func(slice) (int, error) {
	return func(s slice) (int, error) {
		n := 0
		for m, err := range wire.NewReader(bytes.NewReader(s.data), opts).Messages() {
			if err != nil {
				return n, err
			}
			runtime.KeepAlive(m)
			n++
		}
		return n, nil
	}
}
