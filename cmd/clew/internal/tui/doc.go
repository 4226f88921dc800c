// Package tui is the terminal interface of the program, the viewer and the chat.
//
// There is one tea.Model, the model, which has a stack of screens. A screen is passive: it keeps
// what it shows, handles keys and messages, and draws itself as lines of a given width. Neither
// handling nor drawing does any I/O. Commands do that, beside the loop, through the interface
// [Source], and return a message to the screen that asked. Package view implements Source, and
// the tests have one in memory.
//
// Bubble Tea brings the keys and the loop of messages. Frames are drawn by package paint: the
// renderer of Bubble Tea wakes up sixty times a second, even if nothing changes.
//
// # Keys
//
// One table, [Bindings], has the keys. Help, palette, the last line of each screen, the manual page
// and docs/program.md are made from it, and the setting keys changes it; a project's file can't.
//
// # The list of sessions
//
// A [view.Listing] reads the list: names and times at once, then summaries of the visible rows, then
// the other summaries in slices, which the filter needs. Turns and costs are counted for visible rows
// only. The program's lock guards it, which is held while a message is handled and a screen is drawn.
// The selected session is known by its file, so that a change of the list does not move the
// selection. A session is live if an agent's process has it open, or if its transcript looks like
// that, and the screen shows which. Before a session is resumed or deleted, that is checked again.
// Another program, such as claude or an editor, gets the terminal as the shell had it.
//
// # The chat
//
// A chat is inline: finished output is printed once and belongs to the scrollback, and at most
// twelve rows, or half of the screen, are drawn again below it. The
// conversation runs in package agentcli and leaves its state in a [Mailbox], so that neither waits for
// the other: a state replaces the one before, and only lines to print are kept, up to a limit.
// Nothing wakes the chat up but keys, news, and each second of a turn.
//
// Keys go to the composer unless a question has the focus. A question gets it by ctrl+g, or by
// itself if there is no text and no key came for half a second. A key in the half second after that
// was meant for the composer, which gets the key and the focus back. So no key answers a question
// that was not on the screen. The next of several questions starts the same way. A question that
// does not fit into half of the screen has to be paged through before it can be allowed. "Always"
// lists the changes of the permissions verbatim, marks only the rules, and takes a narrower rule.
//
// # Jobs
//
// Job lists come from a [jobview.Board], which connects beside the loop. They are also made there,
// one at a time, so that 100,000 jobs delay no key. A question is answered on its own screen only,
// and no key counts in its first half second.
package tui
