package wire

// A CommandsChangedMessage gives the slash commands that the session now has.
// The list replaces the one before it.
//
//wire:message system commands_changed
type CommandsChangedMessage struct {
	raw string

	Commands  []SlashCommand `json:"commands"`
	UUID      string         `json:"uuid"`
	SessionID string         `json:"session_id" wire:"intern"`
}

// A SlashCommand is a command that a prompt can start with, such as /compact.
type SlashCommand struct {
	raw string

	// Name comes without the slash.
	Name        string `json:"name" wire:"intern"`
	Description string `json:"description"`
	// ArgumentHint shows what may follow the name.
	ArgumentHint string   `json:"argumentHint"`
	Aliases      []string `json:"aliases"`
	Builtin      bool     `json:"builtin"`
}

// A LocalCommandOutputMessage carries what a slash command printed that ran
// without the model.
//
//wire:message system local_command_output
type LocalCommandOutputMessage struct {
	raw string

	Content   string `json:"content"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A PluginInstallMessage follows the installation of plugins at start-up. It
// can come before the first InitMessage.
//
//wire:message system plugin_install
type PluginInstallMessage struct {
	raw string

	Status PluginInstallStatus `json:"status" wire:"intern"`
	// Name is what was being installed, where the message is about one thing.
	Name      string `json:"name" wire:"intern"`
	Error     string `json:"error"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A PluginInstallStatus is a step in the installation of plugins.
type PluginInstallStatus string

// The steps of an installation.
const (
	PluginInstallStarted   PluginInstallStatus = "started"
	PluginInstallInstalled PluginInstallStatus = "installed"
	PluginInstallFailed    PluginInstallStatus = "failed"
	PluginInstallCompleted PluginInstallStatus = "completed"
)

// A Plugin is a plugin that the session has loaded.
type Plugin struct {
	raw string

	Name string `json:"name" wire:"intern"`
	// Path is the plugin's folder, or "builtin".
	Path    string `json:"path" wire:"intern"`
	Version string `json:"version" wire:"intern"`
	// Source is the plugin's full name: name@marketplace.
	Source string `json:"source" wire:"intern"`
}

// A PluginError says why a plugin, or a part of it, was not loaded.
type PluginError struct {
	raw string

	Plugin  string `json:"plugin" wire:"intern"`
	Type    string `json:"type" wire:"intern"`
	Message string `json:"message"`
	Path    string `json:"path" wire:"intern"`
	// ManagedLock is set when managed settings decide about the plugin.
	ManagedLock *PluginLock `json:"managed_lock"`
}

// A PluginLock is a decision about a plugin made by managed settings.
type PluginLock struct {
	raw string

	PluginEnabled bool   `json:"plugin_enabled"`
	Name          string `json:"name" wire:"intern"`
	Marketplace   string `json:"marketplace" wire:"intern"`
}
