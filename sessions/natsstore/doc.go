// Package natsstore keeps transcripts in NATS JetStream: a [sessions.Store] for several machines.
//
// Use it where sessions move between machines, or where NATS is there already: many writers append to one stream of a
// server or a cluster, which keeps as many copies as it is told to. For a single machine, package sqlitestore is the
// simpler choice: one file, and far less code in the program.
//
// [Open] connects to a server, which must be 2.12 or newer, or runs one in the process, over a folder and without a
// port.
//
// # Layout
//
// There is one stream, and in it a subject for each transcript:
//
//	CLEW_SESSIONS.<project>.<session>./                    a session's own
//	CLEW_SESSIONS.<project>.<session>.subagents/agent-1    one below it
//
// A byte that is no letter, digit, '-', '_' or '/' stands there as '=' and two hexadecimal digits.
//
// An append is one message, whose body has an entry on each line. One that is too large for that, as most servers take
// a megabyte, is cut into several, which the server stores all or not at all (an atomic batch). The first message of an
// append names the last one before it on its subject, in the header Nats-Expected-Last-Subject-Sequence: the server
// refuses it if another writer was faster, and a reader sees by it that nothing is missing. The last one has the
// session's [sessions.Summary] in the header Clew-Summary, unless that is very long.
//
// Messages that others put on these subjects are not skipped: Load reports what is not an append with its sequence
// number, and Delete removes it.
//
// # Cost
//
// The UUIDs of a transcript are kept in memory, so an append is one request. They are read with the transcript when a
// Store first appends to one that is there already; after that, and after another writer's append, only what is new
// is. A Store remembers a million of them.
package natsstore
