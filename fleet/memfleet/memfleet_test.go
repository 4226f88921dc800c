package memfleet_test

import (
	"testing"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/fleettest"
	"github.com/clewdev/clew/fleet/memfleet"
)

func TestEngine(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, func(*testing.T) fleet.Engine { return memfleet.New() })
}

func TestClientWithoutFaults(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, func(*testing.T) fleet.Engine { return memfleet.New().Client(nil) })
}
