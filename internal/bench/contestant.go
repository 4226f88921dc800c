package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/clewdev/clew/wire"
)

// A contestant decodes every line of a slice and says how many there were.
type contestant struct {
	name string
	run  func(slice) (int, error)
}

// The places of the contestants in the list.
const (
	structs = iota
	structsFlat
	structsResults
	maps
	valid
	wireRaw
	wireBare
	wireReader
)

func contestants() []contestant {
	return []contestant{
		structs:        {"encoding/json, structs", each(intoStructs)},
		structsFlat:    {"encoding/json, structs, flat unions", each(intoFlatStructs)},
		structsResults: {"encoding/json, structs, tool results decoded too", each(intoStructsWithResults)},
		maps:           {"encoding/json, map[string]any", each(intoMap)},
		valid:          {"json.Valid", each(onlyValid)},
		wireRaw:        {"wire, raw kept", decodeWire(&wire.ReaderOptions{})},
		wireBare:       {"wire, raw off", decodeWire(&wire.ReaderOptions{DiscardRaw: true})},
		wireReader:     {"wire.Reader, raw kept", readWire(&wire.ReaderOptions{})},
	}
}

// each decodes line by line. What comes out is kept alive, here as in the other
// contestants, so that none of it is optimised away.
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

// readWire counts what the reader yields: that it is as much as there are lines
// shows that framing lost and added nothing.
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
