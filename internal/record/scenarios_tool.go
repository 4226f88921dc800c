package record

import (
	"os"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// bash returns a call of the tool that runs a command.
func bash(command, description string) wire.Block {
	return clewtest.ToolUse("Bash", struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}{command, description})
}

// write returns a call of the tool that writes a file.
func write(path, content string) wire.Block {
	return clewtest.ToolUse("Write", struct {
		Path    string `json:"file_path"`
		Content string `json:"content"`
	}{path, content})
}

// done answers every result of a tool that no earlier rule matches.
func done(s *Stage) {
	s.Model.OnToolResult("").Reply(clewtest.Text("All done.")).Usage(100, 42, 300, 20)
}

// toolScenarios are about the tools of the agent, and the permission to use them.
var toolScenarios = []*Scenario{
	{
		Name:    "tool_bash",
		About:   "A command that writes to both of its outputs.",
		Args:    allowAll,
		Prompts: []string{"Run echo"},
		Model: func(s *Stage) {
			s.Model.On("Run echo").Reply(clewtest.Text("Running."), bash("echo one; echo two >&2", "Echo")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:    "tool_allowed_edit",
		About:   "The host allows a file to be written and edited.",
		Prompts: []string{"Write it"},
		Model: func(s *Stage) {
			s.Model.On("Write it").Reply(write(s.Path("out.txt"), "hi\nthere\n")).Usage(100, 42, 300, 20)
			s.Model.OnToolResult("created successfully").Reply(clewtest.ToolUse("Edit", struct {
				Path string `json:"file_path"`
				Old  string `json:"old_string"`
				New  string `json:"new_string"`
			}{s.Path("out.txt"), "there", "world"})).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:    "tool_denied",
		About:   "The host denies a tool.",
		Prompts: []string{"Write it"},
		Tool:    func(*Question) string { return `{"behavior":"deny","message":"not today"}` },
		Model: func(s *Stage) {
			s.Model.On("Write it").Reply(write(s.Path("out.txt"), "hi")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:  "parallel_tools",
		About: "One answer of the model uses three tools, and none of them ends before the last has begun.",
		Args:  allowAll,
		Files: map[string]string{"one.txt": "first\n", "two.txt": "second\n", "three.txt": "third\n"},
		Model: func(s *Stage) {
			const wait = "until test -e go; do sleep 0.05; done; "
			s.Model.On("Read all").Reply(
				bash(wait+"cat one.txt", "Read one"), bash(wait+"cat two.txt", "Read two"), bash(wait+"cat three.txt", "Read three"),
			).Usage(100, 42, 300, 20)
			done(s)
		},
		Play: func(h *Host) {
			h.Prompt("Read all")
			h.Await("assistant tool_use", 3)
			h.fail(os.WriteFile(h.Path("go"), nil, 0o600))
			h.AwaitResult()
		},
	},
}
