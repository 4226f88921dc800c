package clewtest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

func ask(id string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"mcp_status"}}`, id)
}

func success(id string) string {
	return fmt.Sprintf(`{"response":{"request_id":%q,"response":{},"subtype":"success"},"type":"control_response"}`, id)
}

func TestRespondOutOfOrder(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask("a")).Expect(ask("b")).Expect(ask("c")).
		Do(clewtest.RespondOutOfOrder("a", "b", "c"))
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"), ask("2"), ask("3"))
		h.expect(success("3"), success("2"), success("1"))
		h.close()
		h.ends("")
	})
}

func TestRespondTwice(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask("a")).Do(clewtest.RespondTwice("a"))
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"))
		h.expect(success("1"), success("1"))
		h.close()
		h.ends("")
	})
}

func TestRespondNever(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask("a")).Do(clewtest.RespondNever("a")).Expect(prompt).Send(answer)
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"), prompt)
		h.expect(answer)
		h.close()
		h.ends("")
	})
}

func TestRespondUnknown(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask("a")).Do(clewtest.RespondUnknown("nobody")).Do(clewtest.RespondTwice("a"))
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"))
		h.expect(success("nobody"), success("1"), success("1"))
		h.close()
		h.ends("")
	})
}

func TestRespondNeedsARequest(t *testing.T) {
	fake := &fakeTB{TB: t}
	c := clewtest.NewAgent(fake, new(clewtest.Scenario).Do(clewtest.RespondTwice("a"))).Conn()
	if code := exitCode(c.Wait()); code != 70 {
		t.Errorf("exit %d", code)
	}
	if got := fake.end(); !strings.Contains(got, `the fault respond-twice for the request "a", and has not expected it`) {
		t.Errorf("got %s", got)
	}
}

func TestRequestFaults(t *testing.T) {
	refusal := `{"type":"control_response","response":{"subtype":"error","request_id":"r2","error":"<any>"}}`
	s := new(clewtest.Scenario).Do(clewtest.RequestWithoutID()).Do(clewtest.RequestWithoutBody("r1")).
		Do(clewtest.RequestUnknown("r2", "sing")).Expect(refusal)
	inBothForms(t, s, func(h *host) {
		withoutID := h.hear()
		if strings.Contains(withoutID, "request_id") || !strings.Contains(withoutID, `"request":{`) {
			h.t.Errorf("got %s", withoutID)
		}
		h.expect(`{"request_id":"r1","type":"control_request"}`)
		unknown, ok := wire.Decode([]byte(h.hear())).(*wire.ControlRequestMessage)
		if !ok || unknown.RequestID != "r2" {
			h.t.Fatalf("got %v", unknown)
		}
		h.say(strings.Replace(refusal, clewtest.Any, "no such subtype", 1))
		h.close()
		h.ends("")
	})
}

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

// Neither the agent nor this test keeps the frames, so the heap stays small.
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

// countFlood counts the frames to the end of the output. It checks one frame in a thousand, and the
// size of the heap.
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

// The agent ended, and its output stays open until the test ends.
func TestLeaveGrandchildAsProcess(t *testing.T) {
	stdout, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	fake := &fakeTB{TB: t}
	cmd := clewtest.NewAgent(fake, new(clewtest.Scenario).Do(clewtest.LeaveGrandchild()).Send(answer).Exit(0)).Command(t.Context())
	cmd.Stdout = w
	if err := errors.Join(cmd.Run(), w.Close()); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(answer)+1)
	if _, err := io.ReadFull(stdout, got); string(got) != answer+"\n" {
		t.Errorf("read %q, %v", got, err)
	}
	// At the end of the output, Read would return at once. It may not even be called in this time:
	// that is not a failure.
	if err := stdout.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Skip(err)
	}
	if n, err := stdout.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the output has not stayed open: read %q, %v", got[:n], err)
	}
	if got := fake.end(); got != "" {
		t.Error(got)
	}
	if err := stdout.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(stdout); len(got) > 0 || err != nil {
		t.Errorf("the grandchild runs on after the test: read %q, %v", got, err)
	}
}

func TestLeaveGrandchildInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeTB{TB: t}
		c := clewtest.NewAgent(fake, new(clewtest.Scenario).Do(clewtest.LeaveGrandchild()).Send(answer).Exit(0)).Conn()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		read := make(chan string, 1)
		go func() {
			data, err := io.ReadAll(c.Stdout)
			read <- string(data) + errorText(err)
		}()
		synctest.Wait()
		if len(read) > 0 {
			t.Fatalf("the output has ended: %q", <-read)
		}
		if got := fake.end(); got != "" {
			t.Error(got)
		}
		if got := <-read; got != answer+"\n" {
			t.Errorf("read %q", got)
		}
	})
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestStderr(t *testing.T) {
	const much = 10 << 20
	s := new(clewtest.Scenario).Stderr("a warning\n").Send(alive).Do(clewtest.NoisyStderr(much)).Send(answer).Exit(1)
	inBothForms(t, s, func(h *host) {
		noise := make(chan string)
		go func() {
			data, err := io.ReadAll(h.stderr)
			noise <- string(data) + errorText(err)
		}()
		h.expect(alive, answer)
		got := <-noise
		rest, ok := strings.CutPrefix(got, "a warning\nnoise ")
		if !ok || len(got) != len("a warning\n")+much || !strings.HasSuffix(rest, "\n") {
			h.t.Errorf("%d bytes: %.40q", len(got), got)
		}
		h.ends("exit status 1")
	})
}

// An agent blocks if nobody reads its standard error, as with a pipe.
func TestStderrNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(clewtest.Scenario).Do(clewtest.NoisyStderr(10 << 20)).Send(answer)
		c := clewtest.NewAgent(t, s).Conn()
		read := make(chan string, 1)
		go func() {
			data, err := io.ReadAll(c.Stdout)
			read <- string(data) + errorText(err)
		}()
		synctest.Wait()
		if len(read) > 0 {
			t.Fatalf("the agent wrote %q", <-read)
		}
		if err := c.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := <-read; got != "" {
			t.Errorf("the agent wrote %q", got)
		}
	})
}
