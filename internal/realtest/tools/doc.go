// Package tools has the tests of in-process tools with the real agent, over a scripted model: what
// the model gets of a result, what ends a call, and what the agent asks of a server.
package tools
