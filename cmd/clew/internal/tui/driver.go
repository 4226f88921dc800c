package tui

import (
	"context"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/compose"
	"github.com/clewdev/clew/sessions"
)

// ResetModes returns the sequence that resets a terminal after a chat, for a program that has to
// exit immediately.
func ResetModes(full bool) string {
	modes := resetModes + "\x1b[?25h\x1b[?7h"
	if full {
		modes = resetMouse + modes + mainPage
	}
	return modes
}

// A Driver is the conversation that a chat shows. The methods without a context return immediately;
// their outcome arrives by mail. The others are called in commands and may block.
type Driver interface {
	// Send sends a prompt or runs a command. The chat calls it only while the mail reports an idle
	// conversation.
	Send(prompt string)
	// Keep adds a prompt to the history of later chats, even if it is never sent.
	Keep(prompt string)
	// Interrupt stops what runs.
	Interrupt()
	// NextMode changes the permission mode to the next one.
	NextMode()
	// Answer answers a question. It does nothing if the question was withdrawn.
	Answer(id string, a ask.Answer)
	// Resize sets the size of the terminal.
	Resize(columns, rows int)
	// Acted notes that the user pressed a key.
	Acted()
	// End ends the conversation. If force is set, a running turn is given up.
	End(force bool)

	// Complete returns completions of a word.
	Complete(ctx context.Context, q compose.Query) []compose.Choice
	// Session returns the session of the conversation.
	Session(ctx context.Context) (sessions.SessionInfo, error)
	// Edit lets the user edit a text in another program, which has the terminal meanwhile.
	Edit(ctx context.Context, text string) (string, error)
}

// A Status is the conversation's state for the last line of a chat. Its texts are clean.
type Status struct {
	Model   string
	Mode    string
	Context string
	Cost    string
}

// Work is the agent's current activity. The zero value means that the agent is idle.
type Work struct {
	Doing string    // a clean line, or "" if it is idle
	Since time.Time // when the turn started, shifted by the time that the user took
	// Stopping means that it was interrupted.
	Stopping bool
}

// A Proposal is a text for an empty composer: a prompt that was lost, or not accepted.
type Proposal struct{ Text string }

// News holds everything that happened since the mail was last taken.
type News struct {
	Print     []string // painted lines that are final, to be shown once
	Open      []string // painted lines that are not final
	Work      Work
	Status    Status
	Questions []*ask.Question // all that are open, oldest first
	Idle      bool            // a prompt can be sent
	Proposal  *Proposal
	Notice    string // an escape sequence that notifies the user, or ""
	Ended     bool
}

// maxUnread is the number of unread lines at which [Mailbox.Print] blocks.
const maxUnread = 10000

// A Mailbox holds the newest state of a conversation for its chat, and the lines that were not shown.
// Writers wait only if very many lines are unread, and never once it is closed. The zero value is
// not ready: use [NewMailbox].
type Mailbox struct {
	wake chan struct{} // has an element if there is news

	mu     sync.Mutex
	taken  sync.Cond
	news   News
	fresh  bool
	closed bool
}

// NewMailbox returns an empty mailbox.
func NewMailbox() *Mailbox {
	m := &Mailbox{wake: make(chan struct{}, 1)}
	m.taken.L = &m.mu
	return m
}

// Post changes the state.
func (m *Mailbox) Post(change func(*News)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.news)
	m.fresh = true
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Print adds final lines, and replaces the open ones.
func (m *Mailbox) Print(lines, open []string) {
	m.mu.Lock()
	for len(lines) > 0 && len(m.news.Print) > maxUnread && !m.closed {
		m.taken.Wait()
	}
	m.mu.Unlock()
	m.Post(func(n *News) {
		n.Print = append(n.Print, lines...)
		n.Open = open
	})
}

// Take returns the news.
func (m *Mailbox) Take() (news News, fresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	news, fresh = m.news, m.fresh
	m.news.Print, m.news.Proposal, m.news.Notice, m.fresh = nil, nil, "", false
	m.taken.Broadcast()
	return news, fresh
}

// wait waits for news. It reports false if the mailbox was closed.
func (m *Mailbox) wait() bool {
	<-m.wake
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.closed
}

// Close stops the delivery of mail: nobody reads it any more.
func (m *Mailbox) Close() {
	m.mu.Lock()
	m.closed = true
	m.taken.Broadcast()
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
