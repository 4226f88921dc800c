package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

func TestFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := pause.For(ctx, time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := pause.For(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, over := time.Now(), make(chan struct{})
		if pause.Until(over, time.Minute) || time.Since(began) != time.Minute {
			t.Errorf("an open channel: after %v", time.Since(began))
		}
		time.AfterFunc(time.Second, func() { close(over) })
		if !pause.Until(over, time.Minute) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("a closed channel: after %v", time.Since(began))
		}
	})
}
