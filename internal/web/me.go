package web

import (
	"net/http"

	"github.com/clewdev/clew/internal/tui"
)

// A keyBinding is a key as the pages get it.
type keyBinding struct {
	Scope  string   `json:"scope"`
	Action string   `json:"action"`
	Keys   []string `json:"keys"` // as in tui.Bindings
	Text   string   `json:"text"`
}

// scopes are the names that pages have for the screens of the terminal.
var scopes = []struct {
	name  string
	scope tui.Scope
}{
	{"sessions", tui.InSessions}, {"session", tui.InSession}, {"row", tui.InRow}, {"panel", tui.InPanel}, {"search", tui.InSearch},
	{"help", tui.InHelp}, {"chat", tui.InChat}, {"question", tui.InQuestion},
}

// keyBindings returns the keys of all screens.
func (s *Server) keyBindings() []keyBinding {
	var list []keyBinding
	for _, in := range scopes {
		for _, b := range s.opts.Keys.In(in.scope) {
			if b.Action == tui.Close { // a page can't quit
				b.Action, b.Text = tui.Back, "go back"
			}
			list = append(list, keyBinding{Scope: in.name, Action: string(b.Action), Keys: b.Keys, Text: b.Text})
		}
	}
	return list
}

// me says what the server is and allows.
func (s *Server) me(w http.ResponseWriter, r *http.Request) error {
	board, _ := s.findBoard() // this page does not wait for the search
	return reply(w, struct {
		Version string       `json:"version"`
		Start   string       `json:"start"` // another one means that the server was started again
		Drive   bool         `json:"drive"`
		Fleet   bool         `json:"fleet"` // there are jobs
		Keys    []keyBinding `json:"keys"`
		driveData
	}{s.opts.Version, s.feed.start, s.opts.Drive != nil, board != nil, s.keyBindings(), s.drivable(r.Context())})
}
