// Package natsfleet keeps the jobs of a fleet in NATS JetStream, as a [fleet.Engine] for one
// machine or many.
//
// [Open] connects to a server or a cluster, version 2.12 or newer, or runs a server in this
// process, on a directory. The other programs of the same user find that server by the directory:
// Open connects to it if another process runs it, and [Find] returns how to. When that process
// ends, one of the engines that were opened with the directory and the same settings starts the
// server again, at the same port if that is free. All others follow it to its port and its
// certificate, but neither to another secret nor to a server with users if it had none. An engine
// of Find follows only.
//
//	engine, err := natsfleet.Open(ctx, &natsfleet.Options{Dir: dir})
//	if err != nil {
//		return err
//	}
//	defer engine.Close()
//
// # Durability
//
// With the defaults of a NATS server, acknowledged records may not be on disk for two minutes. The
// server in this process syncs before it acknowledges. For others, [Options] has to state that they
// do so as well (SyncAlways), or that a loss is accepted (AllowUnsynced). Streams that Open creates
// are on one server, unless Options.Replicas says otherwise.
//
// Jepsen tested clusters of NATS 2.12.1 (https://jepsen.io/analyses/nats-2.12.1). This means for
// jobs:
//
//   - Servers that lose their power together, within two minutes after a job was submitted, lose the job, unless
//     they sync always. With pauses or broken connections between servers, the crash of a single machine was
//     enough.
//   - With files that were damaged or cut on a minority of the servers, records were lost, and even whole
//     streams, even with sync always. Records have checksums, but a server drops what it can't read. What is
//     missing is noticed if it is in the middle of the history of a record; and the server in this process does
//     not start if its last messages are missing, which the file fleet.mark knows.
//   - Servers that were added and removed while others were killed lost records, even with sync always.
//   - Processes that were killed lost nothing.
//
// A lost record of a job means that the job is not done, or that it runs a second time.
// [Engine.Doctor] reports everything that can be known about the servers.
//
// # A full disk
//
// The server in this process takes no new jobs when less than 1 GB of its disk is free, or a
// twentieth of a small disk: the rest is for jobs that run, and for removing old ones. If the disk
// is full all the same, a failed write returns an error that names the directory, and the server
// continues by itself when there is room. Nothing that it acknowledged is lost. It has no other
// limit. Servers of a URL have their own: a server at its storage limit can't even remove anything,
// so keep away from it; [Engine.Doctor] reports when a tenth is left.
//
// # Layout
//
// Each table is a stream, and each record a subject in it:
//
//	CLEW_JOBS.<key>         the records of jobs
//	CLEW_WORKERS.<key>      of workers; only the last ones of each are kept
//	CLEW_ACCOUNTS.<key>     of accounts
//	CLEW_QUESTIONS.<job>.<question>    of questions
//	CLEW_DECISIONS.<job>.<decision>    of decisions of people, which stay
//	CLEW_FILES.I.<name>     what describes a file; an element of the name is a token
//	CLEW_FILES.C.<name>.<version>    the parts of a file
//	CLEW_SESSIONS.>         transcripts, see package natsstore
//	CLEW_LIVE.<subject>     messages that nobody keeps, outside of streams
//	CLEW_SERVER.DISK        asks the server of a directory for the state of its disk
//
// The first dot of a key separates two tokens, so that a job's questions are listed without the others.
// Bytes other than letters, digits, '-' and '_' are written as '=' and two hexadecimal digits. Messages with other
// subjects, which only another program can write there, are no records and are left out.
//
// Each change of a record is a message with the whole record. It names the message that it
// replaces, in the header Nats-Expected-Last-Subject-Sequence: if another one was faster, the
// server refuses it, and the history of a record shows whether a change is missing. The number of
// the message is the revision. The label is in the header Clew-Label, so that lists need no bodies,
// and the header Clew-Write distinguishes writes of the same data. Several records are an atomic
// batch. A record that is removed leaves a message without a body and with the header Clew-Removed,
// which the server drops after an hour. Each message has a CRC-32C of its subject, its headers and
// its body, in the header Clew-Checksum.
//
// A file has parts of 128 KB, and is there when the message that describes it is. It is not an object store of
// NATS, since that leaves a message for each file that was removed, and has to be listed as a whole to find the
// files of a job.
//
// # Access
//
// The server in this process listens on the loopback interface. Programs of the same user prove
// that they have read the secret in the file fleet.json of its directory, and never send it. They
// can't check whether the program that listens on that port is the server, so on a machine with
// several users, another user's program on the port could receive jobs while no server runs: set
// Options.Certificate there. On an address that others can reach, the server needs a certificate
// and users. [Permissions] returns the subjects of three roles; see [Role] for their limits.
//
// Roles guard against mistakes and curiosity. A user that may ask the server for messages can also
// have the answer sent to the subject of a record. Such a message has no valid checksum, or no
// right predecessor, so it is never taken for a record, but it hides one until that is written
// again. Don't give a role to a user with bad intentions.
//
// # Takeover
//
// The server of a directory belongs to the process that has the lock of the directory. Clients read
// fleet.json each time they connect, and so follow the server to its new port and certificate. A
// server is never taken over where the mark of the last one is missing: that would be an empty
// fleet. A NATS stream whose write fails once writes nothing more, so the server takes no new jobs
// while there is still room for running ones, and is started again after its disk was full.
package natsfleet
