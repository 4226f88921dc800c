package clew_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// controlLimit is how long a request may take while nobody reads. It is meant for the slowest of machines.
const controlLimit = 5 * time.Second

// floodHeap is how far unread messages may let the heap grow: frames of 4 MiB, and what they are decoded to.
const floodHeap = 12 << 20

// With 100,000 messages that nobody has read, an interrupt, a permission and a hook are answered as ever, memory stays
// bounded, and no message is lost. It measures memory, and so runs while no other test does.
func TestFloodDelaysNoControlRequest(t *testing.T) {
	const messages = 100_000
	agent := clewtest.NewAgent(t, connected().
		Expect(promptFrame("p", "Hi")).Do(clewtest.Flood(2*messages)).Stderr("flooded\n").
		Expect(controlRequest("i", `{"subtype":"interrupt"}`)).Send(controlSuccess("i", `{}`)).
		Send(controlRequest("q", canUse("Bash"))).Expect(controlSuccess("q", `{"behavior":"allow"}`)).
		Send(controlRequest("h", `{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"Stop"}}`)).
		Expect(controlSuccess("h", `{}`)).Send(resultFrame("done", "p")))
	opts, events := signallingHost()
	opts.AgentPath, opts.Env = agent.Path(), agent.Env()
	s := dial(t, opts)
	before := heapBytes()
	if _, err := s.Send(t.Context(), "Hi"); err != nil {
		t.Fatal(err)
	}
	events.await(t, "flooded", time.Minute)
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), controlLimit)
	defer cancel()
	if _, err := s.Interrupt(ctx); err != nil {
		t.Fatal(err)
	}
	interrupted := time.Since(begin)
	events.await(t, "permission", controlLimit)
	events.await(t, "hook", controlLimit)
	answered, grown := time.Since(begin), heapBytes()-before
	t.Logf("the interrupt took %v, all three %v; the heap has grown by %d KiB", interrupted, answered, grown>>10)
	if grown > floodHeap {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	wantFlood(t, s, messages)
}

// A signals channel tells what has happened, in order.
type signals chan string

// signallingHost returns options of a host that tells of each line on standard error, permission and hook.
func signallingHost() (*clew.Options, signals) {
	events := make(signals, 10)
	return &clew.Options{
		Stderr: func(line string) { events <- line },
		CanUseTool: func(context.Context, *clew.PermissionRequest) (clew.PermissionResult, error) {
			events <- "permission"
			return clew.Allow(), nil
		},
		Hooks: map[clew.HookEvent][]clew.HookMatcher{clew.HookStop: {{Hooks: []clew.HookFunc{
			func(context.Context, clew.HookInput) (*clew.HookOutput, error) {
				events <- "hook"
				return nil, nil
			},
		}}}},
	}, events
}

// await waits for what must happen next.
func (s signals) await(t *testing.T, want string, limit time.Duration) {
	t.Helper()
	select {
	case got := <-s:
		if got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	case <-time.After(limit):
		t.Fatalf("no %q after %v", want, limit)
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// wantFlood reads until the first result. All messages of the flood come before it, in order.
func wantFlood(t *testing.T, s *clew.Session, messages int) {
	t.Helper()
	next := 0
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, over := msg.(*clew.ResultMessage); over {
			break
		}
		// The frames between them are heartbeats, which are for no reader.
		want := fmt.Sprintf("fault-%d", 2*next+1)
		if event, ok := msg.(*wire.StreamEventMessage); !ok || event.UUID != want {
			t.Fatalf("message %d is %s, want %s", next, msg.Raw(), want)
		}
		next++
	}
	if next != messages {
		t.Errorf("%d messages, want %d", next, messages)
	}
}

// When as much waits as the options allow, the agent has to wait as well until somebody reads.
func TestSlowReaderSlowsTheAgent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const messages = 30_000
		s, agent := simulate(t, connected().Expect(promptFrame("p", "Hi")).
			Do(clewtest.Flood(2*messages)).Send(resultFrame("done", "p")), &clew.Options{MaxBacklogBytes: 1})
		if _, err := s.Send(t.Context(), "Hi"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if dialogue := agent.Dialogue(); !strings.Contains(dialogue, "fault flood") || strings.Contains(dialogue, "done") {
			t.Error("the agent has written everything, and nobody has read")
		}
		wantFlood(t, s, messages)
	})
}

// A call gets its answer even then: it comes behind what waits.
func TestSlowReaderDelaysNoCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const messages = 30_000
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Do(clewtest.Flood(2*messages)).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), resultFrame("done", "p")), &clew.Options{MaxBacklogBytes: 1})
		if _, err := s.Send(t.Context(), "Hi"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		begin := time.Now()
		if _, err := s.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
		if passed := time.Since(begin); passed > time.Second {
			t.Errorf("it took %v", passed)
		}
		wantFlood(t, s, messages)
	})
}
