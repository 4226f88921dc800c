package sessions_test

import (
	"os"
	"testing"

	"github.com/clewdev/clew/internal/polltest"
)

func TestMain(m *testing.M) {
	if err := polltest.AtOnce(8); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
