//go:build linux

package faulttest

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/polltest"
)

const (
	// faultVariable makes the test binary an agent with the fault of that name.
	faultVariable = "FAULTTEST_FAULT"
	// familyVariable marks all processes of the runs of one fault.
	familyVariable = "FAULTTEST_FAMILY"
	// sleeper is the name with which the test binary only sleeps.
	sleeper = "sleeper"
)

// long is longer than anything takes here, even on a busy machine.
const long = 3 * time.Minute

func TestMain(m *testing.M) {
	name := os.Getenv(faultVariable)
	switch name {
	case "":
		os.Exit(m.Run())
	case sleeper:
		polltest.Forever()
	}
	f := faultNamed(name)
	if f == nil {
		fmt.Fprintln(os.Stderr, "no such fault:", name)
		os.Exit(70)
	}
	a := newAgent(f)
	if slices.Contains(os.Args, "--version") {
		a.reach(atVersion)
		fmt.Println(clewtest.AgentVersion, "(Claude Code)")
		os.Exit(0)
	}
	os.Exit(a.run())
}

func faultNamed(name string) *fault {
	for _, f := range allFaults() {
		if f.name == name {
			return f
		}
	}
	return nil
}
