package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/internal/corpus"
)

// Names of the actors, and titles of their windows.
const (
	ours   = "clew"
	theirs = "claude"
)

// question shows how each program asks whether a file may be changed.
func (s *stage) question(ctx context.Context) (left, right window, err error) {
	if left.lines, err = s.ask(ctx); err != nil {
		return
	}
	right.lines, err = s.askTheirs(ctx)
	left.title, right.title = "clew run, a question", "claude, a question"
	return
}

// ask brings our program to its question.
func (s *stage) ask(ctx context.Context) (string, error) {
	a, fresh, err := s.actor(ctx, ours)
	if err == nil && fresh {
		err = a.screen.open(ctx, a.project, a.env, s.clew, "run", prompt)
	}
	if err != nil {
		return "", err
	}
	return a.screen.see(ctx, "Allow it?")
}

// askTheirs brings Claude Code to its question.
func (s *stage) askTheirs(ctx context.Context) (string, error) {
	a, fresh, err := s.actor(ctx, theirs)
	if err == nil && fresh {
		err = a.start(ctx, s.claude)
	}
	if err != nil {
		return "", err
	}
	return a.screen.see(ctx, "Do you want to")
}

// start starts Claude Code and types the prompt.
func (a *actor) start(ctx context.Context, claude string) error {
	if err := a.screen.open(ctx, a.project, a.env, claude, "--permission-mode", "default"); err != nil {
		return err
	}
	if _, err := a.screen.see(ctx, "❯"); err != nil {
		return err
	}
	if err := a.screen.typeText(ctx, prompt); err != nil {
		return err
	}
	if _, err := a.screen.see(ctx, prompt); err != nil {
		return err
	}
	return a.screen.press(ctx, "Enter")
}

// turn shows how a turn ends.
func (s *stage) turn(ctx context.Context) (left, right window, err error) {
	if _, _, err = s.question(ctx); err != nil {
		return
	}
	s.played = true
	for _, a := range s.actors {
		if a.name == chatting {
			continue
		}
		keys := []string{"Enter"}
		if a.name == ours {
			keys = []string{"y", "Enter"}
		}
		if err = a.screen.press(ctx, keys...); err != nil {
			return
		}
		w := window{title: a.name + ", the end of a turn"}
		if w.lines, err = a.screen.see(ctx, "PEP 498"); err != nil {
			return
		}
		if a.name == ours {
			left = w
		} else {
			right = w
		}
	}
	return
}

// show shows the session that our program has just run, in both programs.
func (s *stage) show(ctx context.Context) (left, right window, err error) {
	if !s.played {
		if _, _, err = s.turn(ctx); err != nil {
			return
		}
	}
	a, _, err := s.actor(ctx, ours)
	if err != nil {
		return
	}
	id, err := a.session()
	if err != nil {
		return
	}
	left.title, right.title = "clew show", "claude --resume"
	left.lines, err = s.look(ctx, a, "show", "clew run --resume", s.clew, "show", "--no-pager", id)
	if err != nil {
		return
	}
	right.lines, err = s.look(ctx, a, "continue", "PEP 498", s.claude, "--resume", id)
	return
}

// session returns the ID of the actor's only session.
func (a *actor) session() (string, error) {
	found, err := filepath.Glob(filepath.Join(a.model.ConfigDir(), "projects", "*", "*.jsonl"))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("there are %d sessions, not one", len(found))
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(filepath.Base(found[0]), ".jsonl"), nil
}

// look runs an actor's command in another terminal until it shows a text.
func (s *stage) look(ctx context.Context, a *actor, name, until string, command ...string) (string, error) {
	t := s.terminal(name)
	defer t.close(context.WithoutCancel(ctx))
	if err := t.open(ctx, a.project, a.env, command...); err != nil {
		return "", err
	}
	return t.see(ctx, until)
}

// lived returns the actor who has many sessions.
func (s *stage) lived(ctx context.Context) (*actor, error) {
	a, fresh, err := s.actor(ctx, "history")
	if err == nil && fresh {
		_, err = corpus.Projects(filepath.Join(a.model.ConfigDir(), "projects"), 1, 20<<20)
	}
	return a, err
}

// list shows the session list.
func (s *stage) list(ctx context.Context) (left, right window, err error) {
	a, err := s.lived(ctx)
	if err != nil {
		return
	}
	left.title, right.title = "clew ls --all", "claude --resume, all projects"
	if left.lines, err = s.look(ctx, a, "ls", "sessions", s.clew, "ls", "--all"); err != nil {
		return
	}
	t := s.terminal("resume")
	defer t.close(context.WithoutCancel(ctx))
	if err = t.open(ctx, a.project, a.env, s.claude, "--resume"); err != nil {
		return
	}
	if _, err = t.see(ctx, "esume"); err != nil {
		return
	}
	if err = t.press(ctx, "C-a"); err != nil {
		return
	}
	right.lines, err = t.see(ctx, "esume")
	return
}

// chatting is the name of the actor that chats.
const chatting = "chat"

// chatQuestion shows how our chat and Claude Code ask.
func (s *stage) chatQuestion(ctx context.Context) (left, right window, err error) {
	if left.lines, err = s.chatTo(ctx); err != nil {
		return
	}
	right.lines, err = s.askTheirs(ctx)
	left.title, right.title = "clew chat, a question", "claude, a question"
	return
}

// chatTo brings our chat to its question.
func (s *stage) chatTo(ctx context.Context) (string, error) {
	a, fresh, err := s.actor(ctx, chatting)
	if err != nil {
		return "", err
	}
	if fresh {
		if err := a.screen.open(ctx, a.project, a.env, s.clew, "chat"); err != nil {
			return "", err
		}
		if _, err := a.screen.see(ctx, "? keys"); err != nil {
			return "", err
		}
		if err := a.screen.typeText(ctx, prompt); err != nil {
			return "", err
		}
		if err := a.screen.press(ctx, "Enter"); err != nil {
			return "", err
		}
	}
	return a.screen.see(ctx, "yes, once")
}

// chatTurn shows how a turn of our chat and of Claude Code ends.
func (s *stage) chatTurn(ctx context.Context) (left, right window, err error) {
	if _, err = s.chatTo(ctx); err != nil {
		return
	}
	a, _, err := s.actor(ctx, chatting)
	if err != nil {
		return
	}
	if err = a.screen.press(ctx, "y"); err != nil {
		return
	}
	if left.lines, err = a.screen.see(ctx, "PEP 498"); err != nil {
		return
	}
	if _, right, err = s.turn(ctx); err != nil {
		return
	}
	left.title, right.title = "clew chat, after a turn", "claude, after a turn"
	return
}
