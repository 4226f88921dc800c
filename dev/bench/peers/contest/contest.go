// Package contest holds the load and the figures that the programs of the comparison share. The
// simulated agent sends the load, and a host prints the figures.
package contest

import (
	"time"
)

// A Query is a host's measurement of one query. Times count from the call, in nanoseconds.
type Query struct {
	// Load is the number of messages of the load that came, and Text the number of bytes of text
	// that the host read in them.
	Load int `json:"load"`
	Text int `json:"text"`
	// First is the time of the first message, and Assistant the time of the first assistant
	// message, 0 for never.
	First     time.Duration `json:"first_ns"`
	Assistant time.Duration `json:"assistant_ns"`
	Result    time.Duration `json:"result_ns"`
	// End is the time at which the query was over, agent and all.
	End time.Duration `json:"end_ns"`
	// Peak is the peak memory of the host in bytes, or 0 if the system does not report it.
	Peak int `json:"peak_bytes"`
}

// Turns is a host's measurement of a session with two turns.
type Turns struct {
	Connect time.Duration `json:"connect_ns"`
	First   time.Duration `json:"first_ns"`
	Second  time.Duration `json:"second_ns"`
	// SameSession reports whether both turns came from one session.
	SameSession bool `json:"same_session"`
}

// Idle is the cost of one of several open sessions that do nothing.
type Idle struct {
	Sessions   int     `json:"sessions"`
	Goroutines float64 `json:"goroutines"`
	Bytes      float64 `json:"bytes"`
}

// Totals is the output of a program that adds up the usage of all sessions.
type Totals struct {
	Totals struct {
		Input      int `json:"inputTokens"`
		Output     int `json:"outputTokens"`
		CacheWrite int `json:"cacheCreationTokens"`
		CacheRead  int `json:"cacheReadTokens"`
	} `json:"totals"`
}
