package agentcli

import (
	"os"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/internal/timelimit"
)

func TestMain(m *testing.M) {
	termio.DrawsLines = func() bool { return false }                                       // whatever the locale is
	termio.Open = func() (in, out *os.File, err error) { return nil, nil, os.ErrNotExist } // people who run the tests are not asked
	_ = os.Setenv("TERM", "xterm")                                                         // whatever the tests run in
	for _, name := range []string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "ACCESSIBLE"} {
		_ = os.Unsetenv(name)
	}
	timelimit.Lift()
	os.Exit(m.Run())
}
