package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// ChromeStatus returns whether the agent can use a Chrome browser, as its own dialog shows it.
func (s *Session) ChromeStatus(ctx context.Context) (*ChromeStatus, error) {
	return call[ChromeStatus](ctx, s, "get_chrome_dialog", nil)
}

// A ChromeStatus says how Claude in Chrome stands.
type ChromeStatus struct {
	// Allowed says whether the account and its organization may use it, and Subscriber whether the account pays for it.
	Allowed    bool `json:"allowed"`
	Subscriber bool `json:"subscriber"`
	// Installed says whether the extension is there, and Connected whether the session can use it now.
	Installed bool `json:"installed"`
	Connected bool `json:"connected"`
	// EnabledByDefault is the setting for new sessions, and AtStartup how this one began.
	EnabledByDefault bool `json:"enabled_by_default"`
	AtStartup        bool `json:"at_startup"`
	WSL              bool `json:"wsl"`
	// URLs are pages for the user, by what they are for, such as install.
	URLs map[string]string `json:"urls"`
}

// ChromeBrowsers returns the browsers that the session can use, as the agent lists them: the shape of the list is not
// known to this package. The agent refuses unless [ChromeStatus.Connected].
func (s *Session) ChromeBrowsers(ctx context.Context) (wire.JSON, error) {
	answer, err := call[wire.JSON](ctx, s, "get_chrome_browsers", nil)
	if err != nil {
		return "", err
	}
	return *answer, nil
}

// SelectChromeBrowser chooses the browser that the session uses. The fields of the request are not known to this
// package: fields is anything that marshals to a JSON object. The agent refuses unless [ChromeStatus.Connected].
func (s *Session) SelectChromeBrowser(ctx context.Context, fields any) error {
	return s.Control(ctx, "select_chrome_browser", fields, nil)
}

// SetChromeBrowserHints tells an agent on another machine of the user's browsers. Every other agent refuses. The
// fields of the request are not known to this package: fields is anything that marshals to a JSON object.
func (s *Session) SetChromeBrowserHints(ctx context.Context, fields any) error {
	return s.Control(ctx, "set_chrome_browser_hints", fields, nil)
}
