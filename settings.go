package clew

import (
	"encoding/json"
	"fmt"

	"github.com/clewdev/clew/internal/tempconfig"
	"github.com/clewdev/clew/wire"
)

// settingsArg returns the value of --settings: a path, a JSON object, or "" for none.
func settingsArg(o *Options) string {
	if o.Sandbox == nil {
		return o.Settings.File + string(o.Settings.JSON)
	}
	members, err := checkObject("Settings.JSON", o.Settings.JSON)
	if err != nil {
		return string(o.Settings.JSON)
	}
	confined := *o.Sandbox
	if confined.Enabled && confined.FailIfUnavailable == nil {
		confined.FailIfUnavailable = new(true)
	}
	members["sandbox"] = toJSON(confined)
	return string(toJSON(members))
}

// hideSettings moves the settings to a file that only the user can read, since every user of the
// machine can read the command line. The file is in the folder, which is made if it is nil, and the
// caller must remove that even after an error. Settings stay on the command line if the agent might
// not see the file: with another transport, or with a wrapper.
func (o *Options) hideSettings(folder *tempconfig.Folder) (*tempconfig.Folder, error) {
	if o.Settings.JSON == "" || !o.startsProcess() {
		return folder, nil
	}
	if folder == nil {
		made, err := tempconfig.New()
		if err != nil {
			return nil, fmt.Errorf("clew: a file for the settings: %w", err)
		}
		folder = made
	}
	path, err := folder.WriteFlagSettings([]byte(settingsArg(o)))
	if err != nil {
		return folder, fmt.Errorf("clew: a file for the settings: %w", err)
	}
	o.Settings.File, o.Settings.JSON, o.Sandbox = path, "", nil
	return folder, nil
}

// startsProcess reports whether the agent is a process of this machine, started without a wrapper.
func (o *Options) startsProcess() bool {
	local, ok := o.Transport.(*ProcessTransport)
	return o.Transport == nil || ok && local.Wrap == nil
}

// checkSettings checks the settings.
func checkSettings(o *Options) error {
	switch {
	case o.Settings.File != "" && o.Settings.JSON != "":
		return badOption("Settings.File", "can't be combined with Settings.JSON")
	case o.Settings.File != "" && o.Sandbox != nil:
		return badOption("Sandbox", "can't be combined with Settings.File: put it into the file")
	}
	members, err := checkObject("Settings.JSON", o.Settings.JSON)
	if err != nil {
		return err
	}
	if _, ok := members["sandbox"]; ok && o.Sandbox != nil {
		return badOption("Sandbox", "Settings.JSON has a sandbox already")
	}
	_, err = checkObject("Settings.Managed", o.Settings.Managed)
	return err
}

// checkObject returns the members of text, which is a JSON object or empty.
func checkObject(option string, text wire.JSON) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if text == "" {
		return members, nil
	}
	if err := text.Decode(&members); err != nil {
		return nil, badOption(option, "not a JSON object: %v", err)
	}
	if members == nil {
		return nil, badOption(option, "not a JSON object")
	}
	return members, nil
}

// toJSON encodes v, which consists of strings, numbers and raw members, so that it can't fail.
func toJSON(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}
