package clew_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// Agents that are processes leave nothing, however many die, and their last words are told.
func TestReconnectProcesses(t *testing.T) {
	agent := clewtest.NewAgent(t, asked().Send(aWord).Stderr("out of memory\n").Do(clewtest.KilledBy(os.Kill)))
	opts := asProcess(agent)
	opts.Reconnect = &clew.ReconnectOptions{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1}
	wantNothingLeft(t, func() {
		s := connectTo(t, opts)
		lost := 0
		var err error
		for s.Err() == nil {
			_, err = hearOut(t, s.Turn(t.Context(), "Hi"))
			exit := wantExit(t, err)
			if exit.Stderr != "out of memory\n" || runtime.GOOS != "windows" && exit.Signal != os.Kill {
				t.Errorf("exit %+v", exit)
			}
			if isLostError(err) {
				lost++
			}
		}
		if given, ok := errors.AsType[*clew.ReconnectError](err); !ok || given.Attempts != 3 || lost != 3 {
			t.Errorf("%d turns are lost, the last error is %v", lost, err)
		}
		wantClosed(t, s)
	})
}
