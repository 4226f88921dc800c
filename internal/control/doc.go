// Package control speaks the control protocol: it matches answers with requests, runs what the agent asks for, and
// fails everybody who waits when the agent is gone.
//
// One agent can take the place of another that is gone: see [Conn.Break].
//
// A [Conn] holds all requests that are under way, in both directions, behind one lock. It knows frames and no process:
// it is given what was read, and writes to an [Outbox].
package control
