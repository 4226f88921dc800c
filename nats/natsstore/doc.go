// Package natsstore keeps transcripts in NATS JetStream, as a [sessions.Store] for several
// machines.
//
// Use it if sessions move between machines, or if you already run NATS. Many writers append to one
// stream of a server or cluster, which keeps as many copies as it is configured to. For a single
// machine, package sqlitestore is simpler: one file, and much less code in the program.
//
// [Open] connects to a server, version 2.12 or newer. It can also run a server in this process, on
// a directory and without a port.
//
// # Durability
//
// With the defaults of a NATS server, an acknowledged append may not be on disk for two minutes.
// The server in this process syncs before it acknowledges. For others, [Options] has to declare
// that they do so as well (SyncAlways), or that a loss is accepted (AllowUnsynced). A stream that
// Open creates is on one server, unless Options.Replicas says otherwise.
//
// # Layout
//
// There is one stream. Each transcript has a subject in it:
//
//	CLEW_SESSIONS.<project>.<session>./                    the main transcript of a session
//	CLEW_SESSIONS.<project>.<session>.subagents/agent-1    the transcript of a subagent
//
// Bytes other than letters, digits, '-', '_' and '/' are written as '=' and two hexadecimal digits.
//
// An append is one message, with an entry on each line of its body. Most servers limit messages to
// a megabyte, so a larger append becomes several messages, which the server stores all or not at
// all (an atomic batch). The first message of an append names the previous message on its subject,
// in the header Nats-Expected-Last-Subject-Sequence. If another writer was faster, the server
// refuses the append; and a reader can see that no message is missing. The last message has the
// [sessions.Summary] of the session in the header Clew-Summary, unless the summary is very long.
//
// Each message has a CRC-32C of its subject, its body and its summary, in hexadecimal digits, in
// the header Clew-Checksum. Load returns an error for a message that does not match, and if the
// server has more messages than it can read. A server drops messages that are damaged on its disk;
// the one in this process is compared with a file next to its own, natsstore.mark, which has the
// number of messages that it confirmed. Its files are checked before it starts: with a damaged
// number of a message it would take all memory.
//
// Messages that other programs put on these subjects are not skipped: Load returns an error with
// the sequence number of a message that is not an append. Delete removes such messages as well.
//
// # Cost
//
// A Store keeps the UUIDs of transcripts in memory, so an append is one request. When it first
// appends to an existing transcript, it reads the whole transcript. After that it reads only what
// other writers appended. It remembers about a million UUIDs.
package natsstore
