package simtest_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// controlLimit is the time that a request may take while nobody reads. A request that waited for a
// reader would never end.
const controlLimit = 5 * time.Minute

// floodHeap is the maximum growth of the heap by unread messages: frames of 4 MiB, and their
// decoded forms.
const floodHeap = 12 << 20

// With 100,000 unread messages, an interrupt, a permission and a hook are answered as ever, memory
// stays bounded, and no message is lost. It measures memory, and so runs while no other test does.
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
	if _, err := s.Send(t.Context(), clew.Text("Hi")); err != nil {
		t.Fatal(err)
	}
	events.await(t, "flooded", controlLimit)
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), controlLimit)
	defer cancel()
	if _, err := s.Interrupt(ctx, nil); err != nil {
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

// Messages that come back from disk are decoded with little memory: the decoder's tables are not
// made for each of them. It measures memory, and so runs while no other test does.
func TestFloodIsReadBackCheaply(t *testing.T) {
	const messages, perMessage = 20_000, 4 << 10
	agent := clewtest.NewAgent(t, connected().
		Expect(promptFrame("p", "Hi")).Do(clewtest.Flood(2*messages)).Stderr("flooded\n").Send(resultFrame("done", "p")))
	opts, events := signallingHost()
	opts.AgentPath, opts.Env = agent.Path(), agent.Env()
	s := dial(t, opts)
	if _, err := s.Send(t.Context(), clew.Text("Hi")); err != nil {
		t.Fatal(err)
	}
	events.await(t, "flooded", controlLimit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantFlood(t, s, messages)
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / messages; n > perMessage {
		t.Errorf("%d bytes for each message", n)
	}
}

// BenchmarkUnread has turns of 50,000 messages that nobody reads until the session took all of
// them. The answer to an interrupt comes after them.
func BenchmarkUnread(b *testing.B) {
	const answers, messages = 2381, 2381 * 21
	conn := newFlood(answers, false)
	s, err := clew.Connect(b.Context(), &clew.Options{
		Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) { return conn, nil }),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var taken time.Duration
	b.SetBytes(int64(len(conn.frames)))
	for b.Loop() {
		begin := time.Now()
		if _, err := s.Send(b.Context(), clew.Text("go")); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Interrupt(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		taken += time.Since(begin)
		if n := countToResult(b, s); n != messages {
			b.Fatalf("%d messages, want %d", n, messages)
		}
	}
	b.ReportMetric(float64(taken.Milliseconds())/float64(b.N), "ms-unread/op")
}

// countToResult reads until the first result and counts the messages before it.
func countToResult(b *testing.B, s *clew.Session) int {
	n := 0
	for msg, err := range s.Messages(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		if _, over := msg.(*clew.ResultMessage); over {
			break
		}
		n++
	}
	return n
}

// A signals channel receives events, in order.
type signals chan string

// signallingHost returns the options for a host that signals each line on standard error,
// permission and hook.
func signallingHost() (*clew.Options, signals) {
	events := make(signals, 10)
	return &clew.Options{
		Debug: clew.DebugOptions{Stderr: func(line string) { events <- line }},
		CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
			events <- "permission"
			return permission.Allow(), nil
		},
		Hooks: map[hook.Event][]hook.Matcher{hook.Stop: {{Hooks: []hook.Func{
			func(context.Context, hook.Input) (*hook.Output, error) {
				events <- "hook"
				return nil, nil
			},
		}}}},
	}, events
}

// await waits for the next event.
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages = 30_000
		s, agent := simulate(t, connected().Expect(promptFrame("p", "Hi")).
			Do(clewtest.Flood(2*messages)).Send(resultFrame("done", "p")), &clew.Options{Limits: clew.Limits{MaxBacklogBytes: 1}})
		if _, err := s.Send(t.Context(), clew.Text("Hi")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if dialogue := agent.Dialogue(); !strings.Contains(dialogue, "fault flood") || strings.Contains(dialogue, "done") {
			t.Error("the agent has written everything, and nobody has read")
		}
		wantFlood(t, s, messages)
	})
}

// A call gets its answer even then, after the messages that wait.
func TestSlowReaderDelaysNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages = 30_000
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Do(clewtest.Flood(2*messages)).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), resultFrame("done", "p")), &clew.Options{Limits: clew.Limits{MaxBacklogBytes: 1}})
		if _, err := s.Send(t.Context(), clew.Text("Hi")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		begin := time.Now()
		if _, err := s.Interrupt(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if passed := time.Since(begin); passed > time.Second {
			t.Errorf("it took %v", passed)
		}
		wantFlood(t, s, messages)
	})
}

// A watched session has an agent that may be silent for a minute.
func watched() *clew.Options { return &clew.Options{Limits: clew.Limits{IdleTimeout: time.Minute}} }

// An agent that falls silent in the middle of a turn ends the session.
func TestSilentAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(promptFrame("p", "Hi")).Send(assistantFrame("Well,")).Do(clewtest.Hang()), watched())
		begin := time.Now()
		got, err := textsOf(s.Turn(t.Context(), clew.Text("Hi")))
		wantError(t, err, clew.ErrIdle)
		if diff := cmp.Diff([]string{"Well,"}, got); diff != "" {
			t.Errorf("turn (-want +got):\n%s", diff)
		}
		// It takes a minute to notice, and some time to end an agent that does not listen.
		if passed := time.Since(begin); passed < time.Minute || passed > 2*time.Minute {
			t.Errorf("it took %v", passed)
		}
		wantError(t, s.Err(), clew.ErrIdle)
		_, err = s.Interrupt(t.Context(), nil)
		wantError(t, err, clew.ErrIdle)
	})
}

// With a callback for it, the session stays open.
func TestSilentAgentIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := watched()
		var silences []time.Duration
		opts.Limits.OnIdle = func(silence time.Duration) { silences = append(silences, silence) }
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Send(assistantFrame("Well,")).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), resultFrame("interrupted", "p")), opts)
		turn := inBackground(t.Context(), s, clew.Text("Hi"))
		time.Sleep(150 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]time.Duration{time.Minute, 2 * time.Minute}, silences); diff != "" {
			t.Errorf("silences (-want +got):\n%s", diff)
		}
		if _, err := s.Interrupt(t.Context(), nil); err != nil {
			t.Error(err)
		}
		turn.want(t, nil, "Well,", "result: interrupted")
	})
}

// A panic in the callback ends neither the program nor the session.
func TestSilentAgentIsReportedInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, opts := new(lockedBuffer), watched()
		opts.Logger = slog.New(slog.NewTextHandler(log, nil))
		opts.Limits.OnIdle = func(time.Duration) { panic("ouch") }
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), resultFrame("interrupted", "p")), opts)
		turn := inBackground(t.Context(), s, clew.Text("Hi"))
		time.Sleep(150 * time.Second)
		synctest.Wait()
		if n := strings.Count(log.String(), "clew: panic in OnIdle: ouch"); n != 2 {
			t.Errorf("%d panics in the log: %s", n, log)
		}
		if _, err := s.Interrupt(t.Context(), nil); err != nil {
			t.Error(err)
		}
		turn.want(t, nil, "result: interrupted")
	})
}

// An agent may be silent as long as it likes when nothing is expected of it.
func TestSilenceThatIsNone(t *testing.T) {
	t.Parallel()
	hi, done := promptFrame("p", "Hi"), resultFrame("done", "p")
	for name, test := range map[string]struct {
		scenario *clewtest.Scenario
		before   time.Duration // the prompt
	}{
		"a frame that comes slowly": {connected().Expect(hi).Do(clewtest.Trickle(done, 30*time.Second)), 0},
		"between turns":             {connected().Expect(hi).Send(done), time.Hour},
		"just before the agent is looked at": {
			connected().Expect(hi).Do(clewtest.Trickle(done, 30*time.Second)), 59 * time.Second,
		},
		"a question that takes long": {
			connected().Expect(hi).Send(controlRequest("q", canUse("Bash"))).Expect(controlSuccess("q", `{}`)).
				Do(clewtest.Trickle(done, 30*time.Second)), 59 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opts := watched()
				opts.CanUseTool = func(context.Context, *permission.Request) (permission.Result, error) {
					time.Sleep(time.Hour)
					return permission.Allow(), nil
				}
				s, _ := simulate(t, test.scenario, opts)
				time.Sleep(test.before)
				wantTurn(t, s, "Hi", "result: done")
			})
		})
	}
}

// An agent that waits for an answer from somewhere else reports it, and is not silent.
func TestSilenceOfAnAgentThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).
			Send(`{"type":"system","subtype":"session_state_changed","state":"requires_action"}`).
			Expect(controlRequest("m", `{"subtype":"set_model","model":"x"}`)).Send(controlSuccess("m", `{}`)).
			Send(resultFrame("done", "p"), `{"type":"system","subtype":"session_state_changed","state":"idle"}`), watched())
		turn := inBackground(t.Context(), s, clew.Text("Hi"))
		time.Sleep(time.Hour)
		if _, err := s.SetModel(t.Context(), "x"); err != nil {
			t.Error(err)
		}
		turn.want(t, nil, "*wire.SessionStateChangedMessage", "result: done")
	})
}

// The agent is not to blame for a reader that is slower than it.
func TestSilenceOfASlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages = 30_000
		opts := watched()
		opts.Limits.MaxBacklogBytes = 1
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Do(clewtest.Flood(2*messages)).
			Send(resultFrame("done", "p")), opts)
		if _, err := s.Send(t.Context(), clew.Text("Hi")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		wantFlood(t, s, messages)
	})
}
