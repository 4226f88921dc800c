package tui

import (
	tea "charm.land/bubbletea/v2"
)

type outline struct{ shown, focused bool }

func (o *outline) do(*sessionScreen, Action) (tea.Cmd, bool) { return nil, false }
func (o *outline) toggle(*sessionScreen)                     {}
func (o *outline) columns(*sessionScreen, int) int           { return 0 }
func (o *outline) lines(*sessionScreen, int, int) []string   { return nil }
func (o *outline) click(*sessionScreen, int) tea.Cmd         { return nil }
func (o *outline) forget()                                   {}
func (s *sessionScreen) openPanel(Action) tea.Cmd            { return nil }
