package clew

import (
	"slices"
	"sync"

	"github.com/clewdev/clew/wire"
)

// Subtypes of requests that are treated in a way of their own.
const (
	rewindSubtype     = "rewind_conversation"
	serversSubtype    = "mcp_set_servers"
	settingsSubtype   = "apply_flag_settings"
	modeSubtype       = "set_permission_mode"
	serverModeSubtype = "set_mcp_permission_mode_override"
	thinkingSubtype   = "set_max_thinking_tokens"
	cwdSubtype        = "set_cwd"
)

// remembered are the requests that change how an agent works for as long as it lives, by their subtype, each with the
// field that tells what it changes, if it can change several things. Of those that change the same, the last counts.
var remembered = map[string]string{
	"set_model":                     "",
	modeSubtype:                     "",
	settingsSubtype:                 "",
	thinkingSubtype:                 "",
	serversSubtype:                  "",
	serverModeSubtype:               "serverName",
	"mcp_toggle":                    "serverName",
	"channel_enable":                "serverName",
	"register_repo_root":            "directory",
	"reload_plugins":                "add_plugins",
	"remote_control":                "",
	"select_chrome_browser":         "",
	"set_chrome_browser_hints":      "",
	"set_color":                     "",
	"set_has_subscribers":           "",
	"set_prompt_suggestions_paused": "",
}

// changes are the requests that have changed how the agent works, for one that takes its place.
type changes struct {
	mu   sync.Mutex
	list []change // the newest last
}

// A change is a request that has changed something, which its key names.
type change struct {
	key, subtype string
	fields       map[string]wire.JSON
}

// remember notes a request that was granted, if it has changed something for as long as the agent lives.
func (s *Session) remember(subtype string, in any) {
	what, ok := remembered[subtype]
	if !ok || s.opts.Reconnect == nil {
		return
	}
	fields := fieldsOf(in)
	switch subtype {
	case modeSubtype:
		var mode wire.PermissionMode
		if fields["mode"].Decode(&mode) == nil {
			s.progress.setPermissionMode(mode)
		}
	case settingsSubtype:
		s.changes.merge(fields)
	case thinkingSubtype:
		for name, value := range fields {
			s.changes.add(change{subtype + name, subtype, map[string]wire.JSON{name: value}})
		}
	default:
		if what == "" || !absent(fields[what]) {
			s.changes.add(change{subtype + string(fields[what]), subtype, fields})
		}
	}
}

// rememberThat notes a request whose answer says that it has changed something.
func (s *Session) rememberThat(subtype string, in any) {
	if s.opts.Reconnect != nil {
		s.changes.add(change{subtype, subtype, fieldsOf(in)})
	}
}

// fieldsOf returns the fields of a request that was sent, and so has a JSON form.
func fieldsOf(in any) map[string]wire.JSON {
	var fields map[string]wire.JSON
	if data, err := encode(in); err == nil {
		_ = data.Decode(&fields) // it is an object, or null
	}
	return fields
}

// add puts a change behind all others, in place of an earlier one of the same.
func (c *changes) add(newest change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(newest.key)
	c.list = append(c.list, newest)
}

// merge adds settings to those of earlier requests. As with the agent, each takes the place of one of the same name.
func (c *changes) merge(fields map[string]wire.JSON) {
	settings := make(map[string]wire.JSON)
	for _, old := range c.all() {
		if old.key == settingsSubtype {
			_ = old.fields["settings"].Decode(&settings) // it was encoded here
		}
	}
	if fields["settings"].Decode(&settings) != nil {
		return
	}
	if merged, err := encode(settings); err == nil {
		c.add(change{settingsSubtype, settingsSubtype, map[string]wire.JSON{"settings": merged}})
	}
}

// forget removes a change that is of no interest any more.
func (c *changes) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
}

func (c *changes) drop(key string) {
	c.list = slices.DeleteFunc(c.list, func(old change) bool { return old.key == key })
}

// all returns the changes in the order in which they were made.
func (c *changes) all() []change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// strict reports whether an agent must not go on without the change: it could do what it may not.
func (c *change) strict() bool {
	return c.subtype == settingsSubtype || c.subtype == serverModeSubtype || c.subtype == rewindSubtype
}
