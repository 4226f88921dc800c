// Package sessions finds, lists, reads and changes recorded sessions, in the agent's own folder or in a [Store].
//
//	infos, err := sessions.List(ctx, &sessions.ListOptions{Project: "/home/me/code", Limit: 10})
//	if err != nil {
//		return err
//	}
//	for _, info := range infos {
//		fmt.Println(info.Modified, info.ID, info.Title())
//	}
//
// # Reading and changing
//
// [List] and [Get] tell which sessions there are, [Messages], [Subagents] and [SubagentMessages] what was said. [Read]
// gives the whole of a session as a person would look at it, subagents included, [Tail] the same while it grows, and [Open]
// a handle on its files.
// [Rename], [Tag], [Delete] and [Fork] change sessions, [Restore] brings a deleted one back, and [Import] copies one into
// another store. All of them take a store in their options; without one they work on the agent's own files, below all of
// [Roots]. The ID of a session is a UUID: another text is an error, and one that is not there an error that wraps
// [ErrNotFound]. [History] has the prompts that were typed, and [Lost] those of sessions that are gone.
//
// A change is an entry at the end of the transcript, or a transcript that is new or gone: what is there is never
// rewritten, and nothing else is ever written into the agent's folder. An agent that runs in the session at that time
// goes on, but does not see the change. One write appends whole lines, and waits while the agent is in the middle of one;
// what remains is a moment between that look and the write. A session that an agent has open should not be deleted.
//
// # Which store
//
//   - [Memory], for tests and for programs that keep nothing. It ends with the process.
//   - [Folder], for files on one machine, laid out as the agent's own: other programs can read them, and a session can be
//     copied between folders. It doesn't wait for the disk, and one process at a time may write to a session.
//   - Package sqlitestore, the one to begin with where sessions must not get lost: one file without a server, which any
//     number of processes of a machine may use, and which has on disk what it has taken.
//   - Package natsstore, for sessions that move between machines: a stream of a NATS server or cluster.
//
// clew.Options.Store takes each of them, writes a running session into it, and takes sessions up from it. It should not
// be the folder in which the agent keeps the same session anyway: entries without a UUID would be there twice.
//
// For a store of your own, implement [Store], and let package storetest test it:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) sessions.Store { return openMine(t) })
//	}
//
// If it can tell its projects, make it a [ProjectLister], or the functions here need the name of one. If it has many
// sessions or a long way to them, make it a [Summarizer], or a list loads each session.
//
// # What is in a store
//
// A store has the transcripts of a session and of its subagents, with all that the agent has written down there: what
// was said, and what tools were given and have read. That may be secret: the files of Folder and sqlitestore are for the
// user alone, and a NATS server has to be guarded. What the agent keeps elsewhere is not in a store: credentials,
// settings and memory, long results of tools that it has put into files of their own, and copies of files for rewinding.
// What was mirrored lacks the copies of the agent's requests to the API, too, which no conversation needs.
//
// # Bad input
//
// A transcript may have been cut by a crash, or written by an agent that is newer than this package. Entries that are
// not understood are kept and passed over. A line of a file that is not an entry costs that line alone, and is reported:
// see [Folder.Skipped].
package sessions
