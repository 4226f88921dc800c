package clew

import (
	"encoding/json"

	"github.com/clewdev/clew/wire"
)

// settingsArg returns the value of --settings: a path, a JSON object, or "" for none.
func (o *Options) settingsArg() string {
	if o.Sandbox == nil {
		return o.SettingsFile + string(o.Settings)
	}
	members, err := checkObject("Settings", o.Settings)
	if err != nil {
		return string(o.Settings)
	}
	sandbox := *o.Sandbox
	if sandbox.Enabled && sandbox.FailIfUnavailable == nil {
		sandbox.FailIfUnavailable = new(true)
	}
	members["sandbox"] = toJSON(sandbox)
	return string(toJSON(members))
}

// checkSettings returns what is wrong with the settings.
func (o *Options) checkSettings() error {
	switch {
	case o.SettingsFile != "" && o.Settings != "":
		return badOption("SettingsFile", "not together with Settings")
	case o.SettingsFile != "" && o.Sandbox != nil:
		return badOption("Sandbox", "not together with SettingsFile: put it into the file")
	}
	members, err := checkObject("Settings", o.Settings)
	if err != nil {
		return err
	}
	if _, ok := members["sandbox"]; ok && o.Sandbox != nil {
		return badOption("Sandbox", "Settings has a sandbox already")
	}
	_, err = checkObject("ManagedSettings", o.ManagedSettings)
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

// toJSON returns v, whose strings, numbers and raw members all have a JSON form.
func toJSON(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}
