// Package fleetsoak tests fleets whose processes are killed. A server, workers, their agents and a
// submitter are separate processes, and workers reach the server through a proxy that cuts and
// delays. Agents write what they do to a file that neither the engine nor the workers can change,
// and at the end the records are compared with it. Another test fills the disks of the server and
// of a worker. Both are searches, which "make soak-fleet" runs. "make test" runs each fault once.
// The tests run on Unix, and the one with disks on Linux.
package fleetsoak
