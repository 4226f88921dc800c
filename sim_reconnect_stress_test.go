package clew_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// A mortal is an agent that answers every request and every prompt, after a while, and dies at any time.
type mortal struct {
	stdin  *io.PipeReader
	stdout *io.PipeWriter
	host   struct {
		stdin  *io.PipeWriter
		stdout *io.PipeReader
	}
	ended chan struct{}
}

func (m *mortal) Read(p []byte) (int, error)  { return m.host.stdout.Read(p) }
func (m *mortal) Write(p []byte) (int, error) { return m.host.stdin.Write(p) }
func (m *mortal) CloseWrite() error           { return m.host.stdin.Close() }

// Close says that the agent was lost, however it has ended.
func (m *mortal) Close() error {
	m.die()
	<-m.ended
	return io.ErrUnexpectedEOF
}

// die may be called at any time, and more than once.
func (m *mortal) die() {
	m.stdin.CloseWithError(io.ErrClosedPipe)
	_ = m.stdout.Close()
}

// A graveyard starts mortals, one after the other, and counts which prompts any of them got.
type graveyard struct {
	mu       sync.Mutex
	random   *rand.Rand
	starts   int
	prompts  map[string]int
	youngest *mortal
}

func (g *graveyard) intn(n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.random.IntN(n)
}

func (g *graveyard) Connect(context.Context, *clew.Launch) (clew.Connection, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.starts++; g.starts > 1 && g.random.IntN(4) == 0 {
		return nil, errNoAgent
	}
	m := &mortal{ended: make(chan struct{})}
	m.stdin, m.host.stdin = io.Pipe()
	m.host.stdout, m.stdout = io.Pipe()
	g.youngest = m
	go g.live(m)
	return m, nil
}

// live plays an agent until it dies.
func (g *graveyard) live(m *mortal) {
	defer close(m.ended)
	defer m.die()
	var answers sync.WaitGroup
	defer answers.Wait()
	greeted := false
	for lines := bufio.NewReader(m.stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if !greeted && !bytes.Contains(line, []byte(`"subtype":"initialize"`)) {
			panic(fmt.Sprintf("the first frame is %s", line))
		}
		greeted = true
		if answer := g.answer(line); answer != "" {
			delay := time.Duration(g.intn(20)) * time.Millisecond
			answers.Go(func() {
				time.Sleep(delay)
				_, _ = io.WriteString(m.stdout, answer+"\n")
			})
		}
	}
}

func (g *graveyard) answer(line []byte) string {
	var frame struct {
		Type      string
		UUID      string
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal(line, &frame); err != nil {
		panic(fmt.Sprintf("%v: %s", err, line))
	}
	switch frame.Type {
	case "user":
		g.mu.Lock()
		defer g.mu.Unlock()
		g.prompts[frame.UUID]++
		return resultFrame(frame.UUID, frame.UUID)
	case "control_request":
		return controlSuccess(frame.RequestID, `{}`)
	}
	return ""
}

// reap lets agents die at any time until stop is closed.
func (g *graveyard) reap(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(g.intn(60_000)) * time.Microsecond):
			g.mu.Lock()
			m := g.youngest
			g.mu.Unlock()
			m.die()
		}
	}
}

// Whatever dies when, every turn and every request ends, with an answer or an error that says why there is none, no
// prompt reaches two agents, and nothing is left.
func TestReconnectUnderRandomDeaths(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := &graveyard{random: rand.New(rand.NewPCG(seed, 1)), prompts: make(map[string]int)}
				s, err := clew.Connect(t.Context(), &clew.Options{
					Transport: g, Reconnect: &clew.ReconnectOptions{MaxAttempts: 1000, MaxBackoff: time.Second},
				})
				if err != nil {
					t.Fatal(err)
				}
				stop := make(chan struct{})
				var reaper, callers sync.WaitGroup
				reaper.Go(func() { g.reap(stop) })
				for caller := range 4 {
					callers.Go(func() { converse(t, s, caller) })
				}
				callers.Go(func() { command(t, s) })
				callers.Wait()
				close(stop)
				reaper.Wait()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				wantNoGoroutine(t)
				for id, times := range g.prompts {
					if times > 1 {
						t.Errorf("%d agents got the prompt %s", times, id)
					}
				}
				if g.starts < 3 {
					t.Errorf("only %d starts", g.starts)
				}
			})
		})
	}
}

// converse has turns, one after the other.
func converse(t *testing.T, s *clew.Session, caller int) {
	for n := range 20 {
		prompt := textPrompt("Hi")
		prompt.UUID = fmt.Sprintf("prompt %d of caller %d", n, caller)
		var last wire.Message
		var err error
		for msg, failure := range s.TurnMessage(t.Context(), prompt) {
			if err = failure; msg != nil {
				last = msg
			}
		}
		if result, ok := last.(*wire.ResultMessage); err == nil && (!ok || result.Result != prompt.UUID) {
			t.Errorf("the turn of %s ends with %v", prompt.UUID, last)
		}
		if err != nil && !isLostError(err) {
			t.Errorf("turn: %v", err)
		}
	}
}

// command makes requests, one after the other.
func command(t *testing.T, s *clew.Session) {
	for range 40 {
		_, err := s.SetModel(t.Context(), "opus")
		if err != nil && !isLostError(err) {
			t.Errorf("request: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
		if info := s.Info(); info == nil || errors.Is(s.Err(), clew.ErrClosed) {
			t.Error("the session has no agent")
		}
	}
}
