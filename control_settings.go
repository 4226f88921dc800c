package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// Settings returns the settings of the session: what is in force, and which layer says what.
func (s *Session) Settings(ctx context.Context) (*SettingsReport, error) {
	return call[SettingsReport](ctx, s, "get_settings", nil)
}

// ApplySettings lays settings over those of the session, for as long as it lives; no file changes. A value of nil
// removes what an earlier call has set. The agent refuses all of them if it finds one invalid, and passes over keys and
// some values that it does not know.
func (s *Session) ApplySettings(ctx context.Context, settings map[string]any) error {
	return s.Control(ctx, "apply_flag_settings", applySettingsRequest{settings}, nil)
}

type applySettingsRequest struct {
	Settings map[string]any `json:"settings"`
}

// UpdateSettings writes settings to a file, from which later sessions read them too. The agent takes few: outputStyle
// for [SettingsLayerLocal] and effortLevel for [SettingsLayerUser], as strings. It refuses all others, and a layer that
// the session does not read.
func (s *Session) UpdateSettings(ctx context.Context, layer SettingsLayer, settings map[string]any) error {
	return s.Control(ctx, "update_settings", updateSettingsRequest{layer, settings}, nil)
}

type updateSettingsRequest struct {
	Source   SettingsLayer  `json:"source"`
	Settings map[string]any `json:"settings"`
}

// A SettingsLayer is one of the places that settings come from.
type SettingsLayer string

// The layers, from the one that counts least to the one that counts most.
const (
	// SettingsLayerUser is the user's own file.
	SettingsLayerUser SettingsLayer = "userSettings"
	// SettingsLayerProject is the file that a project shares, .claude/settings.json.
	SettingsLayerProject SettingsLayer = "projectSettings"
	// SettingsLayerLocal is the user's own file for a project, .claude/settings.local.json.
	SettingsLayerLocal SettingsLayer = "localSettings"
	// SettingsLayerFlag is what the session was started with, and [Session.ApplySettings].
	SettingsLayerFlag SettingsLayer = "flagSettings"
	// SettingsLayerPolicy is what an administrator has set.
	SettingsLayerPolicy SettingsLayer = "policySettings"
)

// A SettingsReport is the settings of a session.
type SettingsReport struct {
	// Effective is an object: all layers laid over one another.
	Effective wire.JSON `json:"effective"`
	// Sources are the layers that say something. A later one counts more.
	Sources []LayerSettings `json:"sources"`
	// Applied is what the next prompt will run with, after environment and defaults. Nil is an agent that does not say.
	Applied *AppliedSettings `json:"applied"`
	// Errors are the files that are wrong, and count for nothing.
	Errors []SettingsError `json:"errors"`
	// Withheld is true when the agent has left out settings because others can read its answer.
	Withheld bool `json:"withheld"`
}

// LayerSettings is what one layer says.
type LayerSettings struct {
	Layer SettingsLayer `json:"source"`
	// Settings is an object.
	Settings wire.JSON `json:"settings"`
}

// AppliedSettings is what the next prompt of a session will run with.
type AppliedSettings struct {
	Model string `json:"model"`
	// Effort is empty for a model without levels of effort.
	Effort wire.Effort `json:"effort"`
	// Advisor is the model that advises, or empty.
	Advisor string `json:"advisor"`

	// Ultracode says that the agent runs workflows on its own accord, UltracodeRequested that it was asked to, and
	// UltracodeAvailable that it could.
	Ultracode          bool `json:"ultracode"`
	UltracodeRequested bool `json:"ultracodeRequested"`
	UltracodeAvailable bool `json:"ultracodeAvailable"`
	// UltrathinkAvailable says that the word "ultrathink" in a prompt has an effect.
	UltrathinkAvailable bool `json:"ultrathinkAvailable"`

	// The two say whether the file tools are kept from reading and from writing outside of the working folders.
	OutsideFileToolReadsBlocked  bool `json:"outsideFileToolReadsBlocked"`
	OutsideFileToolWritesBlocked bool `json:"outsideFileToolWritesBlocked"`
}

// A SettingsError says what is wrong with a settings file. All of the file counts for nothing, its permission rules
// included.
type SettingsError struct {
	// File is the file, if it is known.
	File string `json:"file"`
	// Path leads to the setting, with dots. It is empty when the file is wrong as a whole.
	Path    string `json:"path"`
	Message string `json:"message"`
}
