package clew

// A ConfigChangeInput tells that settings have changed on disk.
type ConfigChangeInput struct {
	HookBase
	// Source is user_settings, project_settings, local_settings, policy_settings or skills.
	Source   string `json:"source"`
	FilePath string `json:"file_path"`
}

// An InstructionsLoadedInput tells that a file with instructions was read.
type InstructionsLoadedInput struct {
	HookBase
	FilePath string `json:"file_path"`
	// MemoryType is User, Project, Local or Managed.
	MemoryType string `json:"memory_type"`
	// LoadReason is session_start, nested_traversal, path_glob_match, include or compact.
	LoadReason      string   `json:"load_reason"`
	Globs           []string `json:"globs"`
	TriggerFilePath string   `json:"trigger_file_path"`
	ParentFilePath  string   `json:"parent_file_path"`
}

// A CWDChangedInput tells that the agent works in another folder.
type CWDChangedInput struct {
	HookBase
	OldCWD string `json:"old_cwd"`
	NewCWD string `json:"new_cwd"`
}

// A DirectoryAddedInput tells that the agent may work in one more folder.
type DirectoryAddedInput struct {
	HookBase
	Directory string `json:"directory"`
	// Source is slash_command or register_repo_root.
	Source string `json:"source"`
}

// A FileChangedInput tells that a watched file has changed.
type FileChangedInput struct {
	HookBase
	FilePath string `json:"file_path"`
	// Change is change, add or unlink.
	Change string `json:"event"`
}

// A WorktreeCreateInput tells that the agent wants a git worktree.
type WorktreeCreateInput struct {
	HookBase
	Name string `json:"name"`
}

// A WorktreeRemoveInput tells that the agent gives a git worktree up.
type WorktreeRemoveInput struct {
	HookBase
	WorktreePath string `json:"worktree_path"`
}
