package clew

import (
	"testing"

	"github.com/clewdev/clew/wire"
)

// BenchmarkNilTrace measures the cost per frame of the checks for a trace.
func BenchmarkNilTrace(b *testing.B) {
	s, msg := new(Session), new(wire.StreamEventMessage)
	for b.Loop() {
		s.trace.message(msg)
	}
}
