package clew

import "context"

// Memory returns the instructions and memories that the session can have, as the agent's own dialog shows them.
func (s *Session) Memory(ctx context.Context) (*MemoryReport, error) {
	return call[MemoryReport](ctx, s, "get_memory_dialog", nil)
}

// A MemoryReport lists what an agent remembers, and where.
type MemoryReport struct {
	// Files are instructions such as CLAUDE.md, also those that could be made.
	Files []MemoryFile `json:"files"`
	// Folders are where memories lie, and Memories what is in them.
	Folders  []MemoryFile `json:"folders"`
	Memories []MemoryFile `json:"memories"`
	// AutoMemory says whether the agent takes notes by itself, and AutoDream whether it tidies them up.
	AutoMemory MemorySwitch `json:"auto_memory"`
	AutoDream  MemorySwitch `json:"auto_dream"`
}

// A MemoryFile is a file or a folder of memories. Label and Description are for people.
type MemoryFile struct {
	// Kind is user, project, auto, other, or a newer one.
	Kind        string `json:"kind"`
	Path        string `json:"path"`
	Label       string `json:"label"`
	Description string `json:"description"`
	// Exists is false for a file that could be made. The agent does not say it of folders.
	Exists bool `json:"exists"`
}

// A MemorySwitch says whether a part of the memory is on. Status and Detail are for people.
type MemorySwitch struct {
	Enabled    bool   `json:"enabled"`
	Toggleable bool   `json:"toggleable"`
	Shown      bool   `json:"shown"`
	Status     string `json:"status"`
	Detail     string `json:"detail"`
}

// Skills returns the skills of settings and plugins, as the agent's own dialog shows them.
func (s *Session) Skills(ctx context.Context) ([]SkillInfo, error) {
	answer, err := call[skillsDialogAnswer](ctx, s, "get_skills_dialog", nil)
	if err != nil {
		return nil, err
	}
	return answer.Skills, nil
}

type skillsDialogAnswer struct {
	Skills []SkillInfo `json:"skills"`
}

// A SkillInfo is a skill.
type SkillInfo struct {
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`
	// Source is where the skill comes from, such as user or project.
	Source string `json:"source"`
	// State is "on", or says how the skill is turned off.
	State string `json:"state"`
	// Advertised is true if the model is told of the skill, which costs it so many Tokens.
	Advertised bool `json:"advertised"`
	Tokens     int  `json:"tokens"`
}
