package jsonlex

import (
	"encoding/binary"
	"math/bits"
)

// Source text in a string has an escape every dozen bytes. Stopping at each of
// them, a scan spends its time on branches that the processor cannot foresee.
// So long strings are read in blocks of 64 bytes: first the places of all quotes
// and backslashes, as bits of a word, then one short loop over those bits.

const (
	block = 64
	lows  = 0x7f7f7f7f7f7f7f7f
)

// skipBlocks passes over whole blocks of a string, starting at i inside of it.
// It returns where the string ended, with done set, or where to go on byte by
// byte: at a fault, at a control character, or near the end of the text.
func skipBlocks(b []byte, i int) (next int, done bool) {
	for i+block <= len(b) {
		text := (*[block]byte)(b[i:])
		places, plain := places(text)
		if !plain {
			return i, false
		}
		end := block
		for places != 0 {
			at := bits.TrailingZeros64(places) % block
			if text[at] == '"' {
				return i + at + 1, true
			}
			if at < block-1 && escaped[text[(at+1)%block]] != 0 {
				places &^= 3 << at
				continue
			}
			after, fault := skipEscape(b, i+at)
			if fault != 0 {
				return i + at, false
			}
			end = max(end, after-i)
			places &= ^uint64(0) << (after - i)
		}
		i += end
	}
	return i, false
}

// places returns the places of quotes and backslashes, the first byte in the
// lowest bit, and whether the block is free of control characters.
func places(b *[block]byte) (places uint64, plain bool) {
	w0, w1 := binary.LittleEndian.Uint64(b[0:]), binary.LittleEndian.Uint64(b[8:])
	w2, w3 := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	w4, w5 := binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint64(b[40:])
	w6, w7 := binary.LittleEndian.Uint64(b[48:]), binary.LittleEndian.Uint64(b[56:])
	places = quoteOrSlash(w0) | quoteOrSlash(w1)<<8 | quoteOrSlash(w2)<<16 | quoteOrSlash(w3)<<24 |
		quoteOrSlash(w4)<<32 | quoteOrSlash(w5)<<40 | quoteOrSlash(w6)<<48 | quoteOrSlash(w7)<<56
	controls := control(w0) | control(w1) | control(w2) | control(w3) |
		control(w4) | control(w5) | control(w6) | control(w7)
	return places, controls&highs == 0
}

// quoteOrSlash returns, as the bits of one byte, which of the eight bytes of w
// are quotes or backslashes. Adding 0x7f sets the high bit of every byte that is
// not zero, and carries nothing over; the product gathers the eight high bits.
func quoteOrSlash(w uint64) uint64 {
	low := w & lows
	neither := (low ^ ones*'"') + lows
	neither &= (low ^ ones*'\\') + lows
	return (^(neither | w) & highs >> 7) * 0x0102040810204080 >> 56
}

// control sets the high bits of those bytes of w that are control characters.
func control(w uint64) uint64 {
	return ^((w&lows + ones*(0x80-' ')) | w)
}
