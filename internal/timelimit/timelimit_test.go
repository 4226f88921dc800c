package timelimit

import (
	"testing"
	"time"
)

func TestLift(t *testing.T) {
	t.Parallel()
	limit := time.Second
	Register(&limit)
	if Lift(); limit != time.Hour {
		t.Errorf("the limit is %v", limit)
	}
}
