package clewtest_test

import (
	"bufio"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

const (
	prompt = `{"type":"user","message":{"role":"user","content":"Hi"}}`
	answer = `{"type":"result","subtype":"success","result":"Hello","session_id":"s","uuid":"u"}`
	alive  = `{"type":"keep_alive"}`
)

func TestGarbage(t *testing.T) {
	s := new(clewtest.Scenario).Expect(prompt).Send(alive).
		Do(clewtest.Garbage("Warning: \x1b[31mold\xff")).Do(clewtest.Garbage("one\ntwo\n")).Send(answer)
	inBothForms(t, s, func(h *host) {
		h.say(prompt)
		h.expect(alive, "Warning: \x1b[31mold\xff", "one", "two", answer)
		h.close()
		h.ends("")
	})
}

func TestHalfFrame(t *testing.T) {
	s := new(clewtest.Scenario).Send(alive).Do(clewtest.HalfFrame(answer)).Exit(0)
	inBothForms(t, s, func(h *host) {
		messages := readMessages(h, nil)
		if len(messages) != 2 {
			h.t.Fatalf("%d messages: %v", len(messages), messages)
		}
		cut, ok := messages[1].(*wire.InvalidFrame)
		if !ok || cut.Raw() != answer[:len(answer)/2] {
			h.t.Errorf("got %T %s", messages[1], messages[1].Raw())
		}
		h.ended("")
	})
}

func TestBigFrame(t *testing.T) {
	const size = 20 << 20
	s := new(clewtest.Scenario).Do(clewtest.BigFrame(size)).Do(clewtest.BigFrame(0)).Send(answer).Exit(0)
	inBothForms(t, s, func(h *host) {
		messages := readMessages(h, nil)
		if len(messages) != 3 {
			h.t.Fatalf("%d messages", len(messages))
		}
		big, ok := messages[0].(*wire.AssistantMessage)
		if !ok || len(big.Raw()) != size || len(big.Content.Text()) < size-1000 {
			h.t.Errorf("got %T of %d bytes", messages[0], len(messages[0].Raw()))
		}
		if small, ok := messages[1].(*wire.AssistantMessage); !ok || small.Content.Text() != "" {
			h.t.Errorf("got %T", messages[1])
		}
		h.ended("")
	})
}

func TestInvalidUTF8(t *testing.T) {
	s := new(clewtest.Scenario).Do(clewtest.InvalidUTF8()).Send(answer).Exit(0)
	inBothForms(t, s, func(h *host) {
		messages := readMessages(h, nil)
		if len(messages) != 2 {
			h.t.Fatalf("%d messages", len(messages))
		}
		msg, ok := messages[0].(*wire.AssistantMessage)
		if !ok || !strings.HasPrefix(msg.Content.Text(), "caf\uFFFD \uFFFD") || !strings.Contains(msg.Raw(), "caf\xe9 \xff\xfe") {
			h.t.Errorf("got %T %q", messages[0], messages[0].Raw())
		}
		h.ended("")
	})
}

// The reader of a flood takes part in its bound: it keeps nothing.
func TestFlood(t *testing.T) {
	const frames, most = 1_000_000, 64 << 20
	for form, start := range forms {
		t.Run(form, func(t *testing.T) {
			a := clewtest.NewAgent(t, new(clewtest.Scenario).Do(clewtest.Flood(frames)).Exit(0))
			h := start(t, a)
			lines, peak := countFlood(t, h)
			if lines != frames {
				t.Errorf("%d frames", lines)
			}
			if peak > most {
				t.Errorf("the heap grew to %d bytes", peak)
			}
			if got, want := a.Dialogue(), "# fault flood 1000000\n# exit 0\n"; !strings.HasSuffix(got, want) || len(got) > 200 {
				t.Errorf("dialogue %.300q", got)
			}
			h.ended("")
		})
	}
}

// countFlood counts the frames to the end of the output, and looks at one in a thousand and at the size of the heap.
func countFlood(t *testing.T, h *host) (lines int, peak uint64) {
	t.Helper()
	for scan := bufio.NewScanner(h.stdout); scan.Scan(); lines++ {
		want := []wire.Kind{{Type: "keep_alive"}, {Type: "stream_event"}}[lines%2]
		if lines%999 == 0 && wire.Decode(scan.Bytes()).Kind() != want {
			t.Fatalf("frame %d is %s, want %v", lines, scan.Bytes(), want)
		}
		if lines%200_000 == 0 {
			peak = max(peak, heap())
		}
	}
	return lines, peak
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestTrickleInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(clewtest.Scenario).Do(clewtest.Trickle(answer, time.Minute)).Exit(0)
		c := clewtest.NewAgent(t, s).Conn()
		begin, got := time.Now(), make([]byte, len(answer)+2)
		for i := range len(answer) + 1 {
			if n, err := c.Stdout.Read(got); n != 1 || err != nil {
				t.Fatalf("read %d bytes, %v", n, err)
			}
			if passed := time.Since(begin); passed != time.Duration(i)*time.Minute {
				t.Fatalf("byte %d came after %v", i, passed)
			}
		}
		if _, err := c.Stdout.Read(got); !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTrickleAsProcess(t *testing.T) {
	s := new(clewtest.Scenario).Do(clewtest.Trickle(answer, time.Microsecond)).Exit(0)
	inBothForms(t, s, func(h *host) {
		h.expect(answer)
		h.ends("")
	})
}

// readMessages reads the output to its end.
func readMessages(h *host, opts *wire.ReaderOptions) []wire.Message {
	h.t.Helper()
	var messages []wire.Message
	for msg, err := range wire.NewReader(h.stdout, opts).Messages() {
		if err != nil {
			h.t.Fatal(err)
		}
		messages = append(messages, msg)
	}
	return messages
}
