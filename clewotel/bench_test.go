//go:build unix

package clewotel_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
	"github.com/clewdev/clew/wire"
)

// A flood is an agent that answers each prompt with the same frames.
type flood struct {
	frames []byte
	count  int
	wake   chan struct{}

	mu     sync.Mutex
	unread []byte
	ended  bool
}

const floodAnswers = 2000

// newFlood returns an agent whose turns have answers in 20 pieces, each with a tool call if calls
// is set.
func newFlood(calls bool) *flood {
	var b bytes.Buffer
	said := strings.Repeat("All work and no play makes a dull answer. ", 25)
	for i := range floodAnswers {
		event := func(body string) {
			fmt.Fprintf(&b, `{"type":"stream_event","event":%s,"session_id":"s","uuid":"e"}`+"\n", body)
		}
		event(fmt.Sprintf(`{"type":"message_start","message":{"id":"m%d","model":"m","role":"assistant","content":[],"usage":{"input_tokens":10}}}`, i))
		for range 20 {
			event(fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, said[:50]))
		}
		id := fmt.Sprintf("m%d", i)
		fmt.Fprintln(&b, text("", id, said))
		event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":42}}`)
		if calls {
			fmt.Fprintln(&b, toolUse("", id, "Bash", "t"+id))
			fmt.Fprintln(&b, toolResult("", "t"+id))
		}
	}
	return &flood{frames: b.Bytes(), count: bytes.Count(b.Bytes(), []byte("\n")), wake: make(chan struct{}, 1)}
}

func (f *flood) Read(p []byte) (int, error) {
	for {
		f.mu.Lock()
		n, ended := copy(p, f.unread), f.ended
		f.unread = f.unread[n:]
		f.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case ended:
			return 0, io.EOF
		}
		<-f.wake
	}
}

func (f *flood) Write(p []byte) (int, error) {
	switch msg := wire.Decode(bytes.TrimSpace(p)).(type) {
	case *wire.ControlRequestMessage:
		f.say([]byte(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{}}}`+"\n", msg.RequestID)), false)
	case *wire.UserMessage:
		f.say(append(slices.Clip(f.frames), result(msg.UUID, 10*floodAnswers, 10*floodAnswers)+"\n"...), false)
	}
	return len(p), nil
}

func (f *flood) say(frames []byte, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unread, f.ended = append(f.unread, frames...), last
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *flood) CloseWrite() error {
	f.say(nil, true)
	return nil
}

func (f *flood) Close() error { return f.CloseWrite() }

// A flooded session is one with an agent that floods it.
type flooded struct {
	*clew.Session
	agent *flood
	best  time.Duration // the least processor time of a turn
}

func connectFlood(b *testing.B, calls bool, instrument func(*clew.Options) *clew.Options) *flooded {
	b.Helper()
	agent := newFlood(calls)
	s, err := clew.Connect(b.Context(), instrument(&clew.Options{
		Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) { return agent, nil }),
	}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return &flooded{Session: s, agent: agent, best: time.Hour}
}

// turn reads a turn.
func (f *flooded) turn(b *testing.B) {
	b.Helper()
	began, n := processorTime(b), 0
	for _, err := range f.Turn(b.Context(), clew.Text("Go")) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != f.agent.count+1 {
		b.Fatalf("%d messages", n)
	}
	f.best = min(f.best, processorTime(b)-began)
}

// processorTime returns the processor time of this process, which other processes hardly change.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// noTelemetry returns options with a trace that records nothing.
func noTelemetry(o *clew.Options) *clew.Options {
	return clewotel.Instrument(o, &clewotel.Options{
		TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider(),
	})
}

// traceOnly returns how long the functions of the trace take for a turn, without a session.
func traceOnly(b *testing.B, messages []wire.Message) time.Duration {
	b.Helper()
	opts := noTelemetry(nil)
	trace := opts.Trace.Start(b.Context(), opts)
	prompt := clew.Text("Go")
	prompt.UUID = "p"
	began := time.Now()
	trace.Prompt(b.Context(), prompt)
	for _, msg := range messages {
		trace.Message(b.Context(), msg)
	}
	trace.Settled(b.Context(), "p", nil)
	return time.Since(began)
}

// BenchmarkOverhead has turns of some 50,000 frames, one after the other without a trace and with a
// trace that records nothing, and compares the processor time of the cheapest turn of each. On a
// busy machine that difference is noise. The time of the trace alone is not: the shortest one fits
// between two other processes.
func BenchmarkOverhead(b *testing.B) {
	for name, calls := range map[string]bool{"answers": false, "answers and calls": true} {
		b.Run(name, func(b *testing.B) {
			plain := connectFlood(b, calls, func(o *clew.Options) *clew.Options { return o })
			traced := connectFlood(b, calls, noTelemetry)
			var messages []wire.Message
			for line := range bytes.Lines(append(slices.Clip(plain.agent.frames), result("p", 10*floodAnswers, 10*floodAnswers)...)) {
				messages = append(messages, wire.Decode(bytes.TrimSpace(line)))
			}
			alone := time.Hour
			for b.Loop() {
				plain.turn(b)
				traced.turn(b)
				alone = min(alone, traceOnly(b, messages))
			}
			frames, base := float64(plain.agent.count), float64(plain.best)
			b.ReportMetric(base/frames, "ns/frame-plain")
			b.ReportMetric(100*(float64(traced.best)/base-1), "%-more")
			b.ReportMetric(float64(alone)/frames, "ns/frame-trace")
			b.ReportMetric(100*float64(alone)/base, "%-trace")
		})
	}
}
