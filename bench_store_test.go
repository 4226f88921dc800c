package clew_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// A flood is an agent that answers each prompt with the same frames as fast as they are read.
type flood struct {
	frames []byte // of a turn, without its result

	mu     sync.Mutex
	wake   chan struct{} // one slot
	unread []byte
	ended  bool
}

// newFlood returns an agent whose turns have so many answers: for each 20 pieces of it, the answer, and, if it is
// mirrored, what is written down of it.
func newFlood(answers int, mirrored bool) *flood {
	var b bytes.Buffer
	text := strings.Repeat("All work and no play makes a dull answer. ", 25)
	for i := range answers {
		for range 20 {
			fmt.Fprintf(&b, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":`+
				`{"type":"text_delta","text":%q}},"session_id":"s","uuid":"e"}`+"\n", text[:50])
		}
		fmt.Fprintln(&b, assistantFrame(text))
		if mirrored {
			fmt.Fprintln(&b, mirrorFrame("s", fmt.Sprintf(`{"uuid":"%d","message":%s}`, i, assistantFrame(text))))
		}
	}
	return &flood{frames: b.Bytes(), wake: make(chan struct{}, 1)}
}

func (f *flood) Read(p []byte) (int, error) {
	for {
		f.mu.Lock()
		n, ended := copy(p, f.unread), f.ended
		f.unread = f.unread[n:]
		f.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if ended {
			return 0, io.EOF
		}
		<-f.wake
	}
}

func (f *flood) Write(p []byte) (int, error) {
	switch msg := wire.Decode(bytes.TrimSpace(p)).(type) {
	case *wire.ControlRequestMessage:
		f.say([]byte(controlSuccess(msg.RequestID, `{}`)+"\n"), false)
	case *wire.UserMessage:
		f.say(append(f.frames[:len(f.frames):len(f.frames)], resultFrame("done", msg.UUID)+"\n"...), false)
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

// BenchmarkMirror has turns of 200 answers: without a store, with an agent that mirrors and the caller gets the frames,
// and with a store in memory. What the store costs is the difference in MB/s.
func BenchmarkMirror(b *testing.B) {
	for _, bench := range []struct {
		name     string
		mirrored bool
		opts     clew.Options
	}{
		{"without", false, clew.Options{}},
		{"frames only", true, clew.Options{}},
		{"store", true, clew.Options{Store: &keepingStore{}}},
		{"eager store", true, clew.Options{Store: &keepingStore{}, StoreEager: true}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			conn := newFlood(200, bench.mirrored)
			bench.opts.Transport = clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
				return conn, nil
			})
			s, err := clew.Connect(b.Context(), &bench.opts)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.SetBytes(int64(len(conn.frames)))
			for b.Loop() {
				for _, err := range s.Turn(b.Context(), "go") {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// A keepingStore keeps the newest entries, so that a benchmark does not fill the memory.
type keepingStore struct {
	mu      sync.Mutex
	entries []wire.JSON
}

func (s *keepingStore) Append(_ context.Context, _ wire.SessionKey, entries []wire.JSON) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = entries
	return nil
}

func (*keepingStore) Load(context.Context, wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return entriesOf()
}

func (*keepingStore) Sessions(context.Context, string) (map[string]time.Time, error) { return nil, nil }

func (*keepingStore) Subpaths(context.Context, wire.SessionKey) ([]string, error) { return nil, nil }
