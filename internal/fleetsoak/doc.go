// Package fleetsoak tests fleets of processes that are killed: a server, workers, their agents and
// a submitter, each a process of its own. Workers reach the server through a proxy that cuts and
// delays. Agents write what they do to a file that neither the engine nor the workers can change,
// and at the end the records are compared with it. Another test fills the disks of the server and
// of a worker. Both search: "make soak-fleet" runs them. "make test" runs each fault once. The
// tests run on Unix, and the one with disks on Linux.
package fleetsoak
