package sessions_test

import (
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sessions/storetest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) sessions.Store { return sessions.NewMemory() })
}
