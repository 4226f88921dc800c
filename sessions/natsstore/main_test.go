package natsstore_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// endLimit is how long goroutines may take to return when all tests are over.
const endLimit = 5 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftBehind(); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the tests leave %d goroutines behind\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// leftBehind returns the stacks of goroutines of stores and servers that don't end.
func leftBehind() []string {
	for deadline := time.Now().Add(endLimit); ; runtime.Gosched() {
		buf := make([]byte, 4<<20)
		stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		left := slices.DeleteFunc(stacks[1:], func(stack string) bool { return !strings.Contains(stack, "nats") })
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}
