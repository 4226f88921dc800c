// Package sessions finds, lists, reads and changes recorded sessions. They are in the agent's own
// files, or in a [Store].
//
//	infos, err := sessions.List(ctx, &sessions.ListOptions{Project: "/home/me/code", Limit: 10})
//	if err != nil {
//		return err
//	}
//	for _, info := range infos {
//		fmt.Println(info.Modified, info.ID, info.Title())
//	}
//
// # Reading
//
//   - [List] and [Get] return what is known of sessions without reading all of them: title, first
//     prompt, model, times. [Names] and [Summarize] are the two phases of List, for long lists, and
//     [Watch] follows the list as it changes.
//   - [Read] returns a whole session in the form in which a viewer shows it, with its subagents.
//     [Tail] does the same for a session that still grows.
//   - [Messages], [Subagents] and [SubagentMessages] return the conversation as the agent would
//     continue it.
//   - [Open] returns a handle to the files of a session, to read single entries and long results.
//   - [ScanUsage] counts the tokens of all sessions.
//
// All of them take a store in their options. Without one they use the agent's own files, in every
// directory that [Roots] returns. The ID of a session is a UUID, such as
// "0b7d2c7e-5a63-4d0c-9a3c-6a1b2d9e8f10". Any other text is an error. If there is no session with
// that ID, the error wraps [ErrNotFound].
//
// # Changing
//
// [Rename] and [Tag] append an entry to the transcript. [Fork] and [Import] write a new transcript.
// [MarkDone] writes a mark beside the transcript. [Delete] moves the files of a session to a trash
// directory, from which [Restore] brings them back. Nothing that the agent wrote is ever rewritten,
// and nothing else is written to the agent's directory.
//
// An agent with the session open keeps running, but does not see the change. A change is one write
// of whole lines, which waits while the agent is in the middle of a line. Between that check and
// the write the agent could still start a line; the time between them is very short. Don't delete a
// session that an agent has open.
//
// # Choosing a store
//
//   - [Memory], for tests and for programs that keep nothing. It lasts as long as the process.
//   - [Folder], for files on one machine, with the layout of the agent's own files. Other programs
//     can read them, and sessions can be copied from one directory to another. It does not wait for
//     the disk, and only one process at a time may write to a session.
//   - Package sqlitestore, if sessions must not be lost: one file without a server. Any number of
//     processes on one machine may use it, and an append returns once its entries are on disk. If
//     in doubt, begin with this one.
//   - Package natsstore, for sessions that move between machines: a stream of a NATS server or
//     cluster.
//
// Set clew.Options.Store.Store to one of them, and clew writes the running session to it and resumes
// sessions from it. Don't use the directory in which the agent itself keeps the session: entries
// without a UUID would be stored twice.
//
// To write another store, implement [Store] and run the tests of package storetest over it:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) sessions.Store { return openMine(t) })
//	}
//
// Implement [ProjectLister] if the store can list its projects; otherwise the functions of this
// package need the name of a project. Implement [Summarizer] if the store has many sessions or is
// slow to load; otherwise List loads every session.
//
// # Contents of a store
//
// A store has the transcripts of a session and of its subagents, with everything the agent wrote
// there: prompts, answers, the tool inputs and their results. These may contain secrets. Only the
// user can read the files of Folder and sqlitestore; a NATS server needs its own protection.
//
// A store does not have what the agent keeps elsewhere: credentials, settings, memory, long results
// that the agent saved to separate files, and copies of files for rewinding. A session that clew
// mirrored to a store also lacks the copies of API requests, which no conversation needs.
//
// # Bad input
//
// A crash may have cut a transcript, and an agent newer than this package may have written it.
// Entries of unknown types are kept and ignored. A line that is not an entry is skipped, and
// reported through [Folder.Skipped]; it does not affect other lines.
//
// # Files and time
//
// Lists have two phases: Names reads directories and opens no file, and Summarize reads the ends of
// the files that are shown. Where the system does not report changes, Tail polls every 200 ms.
// Watch then compares the times of directories, and looks at the newest sessions, every 2 seconds,
// and at all of them every 30. It also polls where watching a directory takes an open file for each
// file in it, as on macOS and the BSDs.
//
// Tail reports the session itself before it looks for subagents, so that a viewer shows a large
// session in half the time. After that it reads everything that changed, links subagents if a fact
// that links depend on is new, and then reports.
//
// An append that finds a last line without a line end waits for it up to a second, since an agent
// may be writing, and then ends the line first. A long result in a separate file is read only below
// the session's own directory. ScanUsage reads every line: a filter that is right for escaped names
// as well would cost as much.
package sessions
