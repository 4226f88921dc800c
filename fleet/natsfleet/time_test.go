package natsfleet

import "time"

func init() {
	answerTimeout = 30 * time.Second // the machine may be busy
	markInterval = 100 * time.Millisecond
}
