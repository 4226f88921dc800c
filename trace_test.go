package clew

import (
	"testing"

	"github.com/clewdev/clew/wire"
)

// BenchmarkNilTrace is what a frame costs because there could be a trace.
func BenchmarkNilTrace(b *testing.B) {
	s, msg := new(Session), new(wire.StreamEventMessage)
	for b.Loop() {
		s.trace.message(msg)
	}
}
