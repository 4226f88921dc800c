package clewotel_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
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
	wake   chan struct{}

	mu     sync.Mutex
	unread []byte
	ended  bool
}

const floodAnswers, floodFrames = 2000, 2000 * 25

// newFlood returns an agent whose turns have answers in pieces, each with a call of a tool: 25
// frames an answer, 20 of which are pieces.
func newFlood() *flood {
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
		fmt.Fprintln(&b, toolUse("", id, "Bash", "t"+id))
		event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":42}}`)
		fmt.Fprintln(&b, toolResult("", "t"+id))
	}
	return &flood{frames: b.Bytes(), wake: make(chan struct{}, 1)}
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

// connectFlood opens a session with an agent of its own.
func connectFlood(b *testing.B, instrument func(*clew.Options) *clew.Options) *clew.Session {
	b.Helper()
	agent := newFlood()
	s, err := clew.Connect(b.Context(), instrument(&clew.Options{
		Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) { return agent, nil }),
	}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// readFlood runs a turn, and returns how long it took.
func readFlood(b *testing.B, s *clew.Session) time.Duration {
	b.Helper()
	began, n := time.Now(), 0
	for _, err := range s.Turn(b.Context(), clew.Text("Go")) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != floodFrames+1 {
		b.Fatalf("%d messages", n)
	}
	return time.Since(began)
}

// BenchmarkOverhead has turns of 50,000 frames, one after the other without a trace and with one
// that records nothing. Of each it takes the fastest, since the machine may be busy with others.
func BenchmarkOverhead(b *testing.B) {
	none := connectFlood(b, func(o *clew.Options) *clew.Options { return o })
	traced := connectFlood(b, func(o *clew.Options) *clew.Options {
		return clewotel.Instrument(o, &clewotel.Options{
			TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider(),
		})
	})
	readFlood(b, none)
	readFlood(b, traced)
	var without, with []time.Duration
	for b.Loop() {
		without = append(without, readFlood(b, none))
		with = append(with, readFlood(b, traced))
	}
	fast, slow := slices.Min(without), slices.Min(with)
	b.ReportMetric(float64(fast.Nanoseconds())/floodFrames, "ns/frame-plain")
	b.ReportMetric(float64((slow-fast).Nanoseconds())/floodFrames, "ns/frame-more")
	b.ReportMetric(100*(float64(slow)/float64(fast)-1), "%-more")
}
