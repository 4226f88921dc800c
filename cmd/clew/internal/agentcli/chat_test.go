package agentcli

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/drive/drivetest"
	"github.com/clewdev/clew/wire"
)

// A statusUser is a user who only sees the status.
type statusUser struct {
	user
	seen []wire.PermissionMode
}

func (u *statusUser) showStatus(s *chatStatus) { u.seen = append(u.seen, s.permissionMode()) }

// The status has the permission mode of the agent, although it answers the first change after the second one.
func TestChatModesInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made []string // as the agent made them
		held := make(chan struct{})
		sim := &drivetest.Agent{Hold: func(m *wire.ControlRequestMessage) <-chan struct{} {
			if m.Request.Subtype != "set_permission_mode" {
				return nil
			}
			made = append(made, m.Request.Raw())
			if len(made) == 1 {
				return held
			}
			return nil
		}}
		session, err := sim.Connect(t.Context(), &clew.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close() //nolint:errcheck // the test is over
		u := new(statusUser)
		c := &chat{ctx: t.Context(), user: u, setting: make(chan struct{}, 1)}
		c.ready.Store(session)
		var both sync.WaitGroup
		for _, mode := range []wire.PermissionMode{wire.PermissionModeAcceptEdits, wire.PermissionModePlan} {
			both.Go(func() { c.changeMode(mode) })
			synctest.Wait()
		}
		close(held)
		both.Wait()
		mode := c.status.permissionMode()
		if len(made) != 2 || !strings.Contains(made[1], `"`+string(mode)+`"`) || len(u.seen) != 2 || u.seen[1] != mode {
			t.Errorf("the status has %s, and was shown with %s, after %s", mode, u.seen, made)
		}
	})
}
