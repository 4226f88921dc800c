package fleets

import (
	"os"
	"testing"

	"github.com/clewdev/clew/internal/gittest"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }
