// Package faulttest tests the SDK with agents that do what no agent should. A table of faults runs
// with every kind of caller, as processes. "make soak" runs each fault 20 times, with the race
// detector. The tests run on Linux, where /proc lists what is left.
package faulttest
