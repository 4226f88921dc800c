package tools_test

import (
	"os"
	"testing"

	"github.com/clewdev/clew/internal/timelimit"
)

func TestMain(m *testing.M) {
	timelimit.Lift()
	os.Exit(m.Run())
}
