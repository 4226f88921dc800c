package simtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew"
)

// Starts of which every second dies cost callers nothing, whether they come one after the other or
// at once.
func TestPoolStartsDie(t *testing.T) {
	for name, callers := range map[string]int{"one after the other": 1, "at once": 20} {
		for _, size := range []int{1, 4, 8} {
			t.Run(fmt.Sprint(name, ", ", size), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := newFakeTransport()
					c.broken = func(n int) error {
						if n%2 == 0 {
							return errBroken
						}
						return nil
					}
					p := openPool(t, c, &clew.PoolOptions{Warm: size, MaxAgents: size})
					var all sync.WaitGroup
					for i := range callers {
						all.Go(func() {
							for j := range 20 / callers {
								wantRun(t.Context(), t, p, fmt.Sprint("word ", i, " ", j))
							}
						})
					}
					all.Wait()
					if stats := p.Stats(); stats.Served != 20 || stats.Failed == 0 {
						t.Errorf("%+v", stats)
					}
				})
			})
		}
	}
}

// When starts keep failing, callers get the reason, after a bounded number of starts. A reason that
// another start can't change is reported at once.
func TestPoolStartsKeepFailing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		var failure atomic.Value // of starts
		type start struct{ err error }
		failure.Store(start{})
		c.broken = func(int) error { return failure.Load().(start).err }
		p := openPool(t, c, &clew.PoolOptions{MaxAgents: 3})
		wantRun(t.Context(), t, p, "first")
		failure.Store(start{errBroken})
		c.agent(len(c.agents)).kill()
		synctest.Wait()
		before := len(c.tries)
		for _, most := range []int{3 + 8, 2} {
			_, err := p.Run(t.Context(), clew.Text("second"))
			wantError(t, err, errBroken)
			if err != nil && !strings.Contains(err.Error(), "in a row failed") {
				t.Errorf("error %v", err)
			}
			if tries := len(c.tries) - before; tries > most {
				t.Errorf("%d starts, want at most %d", tries, most)
			}
			before = len(c.tries)
		}
		failure.Store(start{})
		wantRun(t.Context(), t, p, "third")

		synctest.Wait()
		failure.Store(start{&clew.OptionsError{Option: "Model", Reason: "is odd"}})
		c.agent(len(c.agents)).kill()
		synctest.Wait()
		before = len(c.tries)
		_, err := p.Run(t.Context(), clew.Text("fourth"))
		if _, ok := errors.AsType[*clew.OptionsError](err); !ok || len(c.tries)-before > 2 {
			t.Errorf("error %v after %d starts", err, len(c.tries)-before)
		}
	})
}

// isPrompt reports whether a frame is a prompt.
func isPrompt(frame []byte) bool { return bytes.Contains(frame, []byte(`"type":"user"`)) }

// A prompt that did not reach an agent that died goes to the next one, and a prompt that may have
// reached it does not.
func TestPoolAgentDiesAtItsPrompt(t *testing.T) {
	for name, test := range map[string]struct {
		deaths  int // how many agents die
		write   func(a *fakeAgent, frame []byte) (int, error)
		prompts int // how many agents got the prompt
		fails   bool
		lost    bool
	}{
		"nothing was written": {
			3, func(*fakeAgent, []byte) (int, error) { return 0, io.ErrClosedPipe }, 1, false, false,
		},
		"half of it was written": {
			3, func(_ *fakeAgent, frame []byte) (int, error) { return len(frame) / 2, io.ErrClosedPipe }, 1, false, false,
		},
		"all but its brace was written": {
			3, func(_ *fakeAgent, frame []byte) (int, error) { return len(frame) - 2, io.ErrClosedPipe }, 1, false, false,
		},
		"all but its line end was written": {
			3, func(_ *fakeAgent, frame []byte) (int, error) { return len(frame) - 1, io.ErrClosedPipe }, 0, true, true,
		},
		"all of it was written": {
			3, func(a *fakeAgent, frame []byte) (int, error) { return a.in.Write(frame) }, 1, true, true,
		},
		"all of it was written, and not read": {
			3, func(_ *fakeAgent, frame []byte) (int, error) { return len(frame), nil }, 0, true, true,
		},
		"no agent takes it": {
			1000, func(*fakeAgent, []byte) (int, error) { return 0, io.ErrClosedPipe }, 0, true, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newFakeTransport()
				deaths := 0
				c.write = func(a *fakeAgent, frame []byte) (int, error) {
					if !isPrompt(frame) || deaths == test.deaths {
						return a.in.Write(frame)
					}
					deaths++
					defer a.kill()
					return test.write(a, frame)
				}
				p := openPool(t, c, &clew.PoolOptions{MaxAgents: 2})
				if !test.fails {
					close(c.goOn)
				}
				_, err := p.Run(t.Context(), clew.Text("wait"))
				if (err != nil) != test.fails || isLostError(err) != test.lost {
					t.Errorf("error %v", err)
				}
				synctest.Wait()
				if got := slices.Concat(c.prompts()...); len(got) != test.prompts {
					t.Errorf("agents got %d prompts, want %d", len(got), test.prompts)
				}
				if want := min(test.deaths, 10); !test.lost && deaths != want || test.lost && deaths != 1 {
					t.Errorf("%d agents died", deaths)
				}
			})
		})
	}
}

// A prompt that was answered is no failure when its agent dies before it exits.
func TestPoolAgentDiesAfterItsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wantRun(t.Context(), t, openPool(t, newFakeTransport(), nil), "answer and die")
	})
}

// A claim goes to the next agent if one dies before it has made the changes.
func TestPoolAgentDiesAtItsClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		deaths := 0
		c.write = func(a *fakeAgent, frame []byte) (int, error) {
			if bytes.Contains(frame, []byte("set_permission_mode")) && deaths < 2 {
				deaths++
				a.kill()
				return len(frame), nil
			}
			return a.in.Write(frame)
		}
		p := openPool(t, c, nil)
		s, err := p.Claim(t.Context(), &clew.Claim{PermissionMode: clew.PermissionModePlan})
		if err != nil || deaths != 2 {
			t.Fatalf("error %v after %d deaths", err, deaths)
		}
		wantTurn(t, s, "Hi", "*wire.InitMessage", "You said Hi", "result: You said Hi")
		wantClosed(t, s)
	})
}
