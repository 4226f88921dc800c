// Package driven tests the agents that pages drive with the real agent, over a scripted model.
package driven
