// Package fleetsoak tests fleets of processes that are killed: a server, workers, their agents and a
// submitter, each a process of its own. Workers reach the server through a proxy that cuts and delays.
// Agents write what they do to a file that neither the engine nor the workers can change, and at the end
// the records are compared with it. Another test fills the disks of the server and of a worker. "make soak"
// does both for longer. The tests run on Unix, and that with disks on Linux.
package fleetsoak
