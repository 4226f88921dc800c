package corpus

import "strings"

// resultSize is the size in bytes of what a tool gives back. Most results are
// small; a few are long enough for frames of more than 60 KB.
func (g *generator) resultSize() int {
	switch k := g.rng.IntN(10); {
	case k < 4:
		return g.between(250, 1900)
	case k < 7:
		return g.between(1900, 5700)
	case k < 9:
		return g.between(5700, 14800)
	}
	return g.between(14800, 26000)
}

// toolResult is the user frame that answers a tool call: the block for the
// model, and beside it the tool's own structured result, which repeats it.
func (g *generator) toolResult(b block) object {
	out := g.runTool(b)
	result := object{"tool_use_id", b.toolUse, "type", "tool_result", "content", out.content}
	if out.isError != nil {
		result = append(result, "is_error", out.isError)
	}
	frame := object{"type", "user", "message", object{"role", "user", "content", []object{result}},
		"parent_tool_use_id", g.parent()}
	if g.agent.id != "" {
		frame = append(frame, "agent_id", g.agent.id)
	}
	frame = append(frame, "session_id", g.session, "uuid", g.uuid(), "timestamp", g.timestamp())
	if g.agent.id == "" {
		frame = append(frame, "tool_use_result", out.structured)
	}
	frame = append(frame, "tool_result_meta", []object{{"id", b.toolUse, "permission_decision", g.decision()}})
	return append(frame, g.agentNames()...)
}

func (g *generator) decision() object {
	if g.oneIn(3) {
		return object{"decision", "accept", "source", "user_temporary"}
	}
	return object{"decision", "accept", "source", "config", "reason_type", "mode"}
}

// An output is what a tool call gives: to the model, and to the host.
type output struct {
	content    any
	structured any
	isError    any // true, false, or nil for a block without the field
}

func (g *generator) runTool(b block) output {
	size := g.resultSize()
	switch {
	case g.oneIn(15):
		text := "Exit code 1\n" + g.log(size)
		return output{content: text, structured: "Error: " + text, isError: true}
	case b.tool == "Bash":
		return shellOutput(g.log(size))
	case b.tool == "Edit":
		return g.editOutput(b, size)
	case b.tool == "Glob" && g.oneIn(3):
		return g.imageOutput(size)
	case b.tool == "Task", b.tool == "WebFetch", strings.HasPrefix(b.tool, "mcp__"):
		return g.listOutput(size)
	}
	return g.fileOutput(size)
}

func shellOutput(text string) output {
	structured := object{"stdout", text, "stderr", "", "interrupted", false, "isImage", false, "noOutputExpected", false}
	return output{content: text, structured: structured, isError: false}
}

func (g *generator) fileOutput(size int) output {
	text := g.code(size)
	lines := strings.Count(text, "\n")
	file := object{"filePath", g.path(), "content", text, "numLines", lines, "startLine", 1, "totalLines", lines}
	return output{content: numbered(text), structured: object{"type", "text", "file", file}}
}

func (g *generator) editOutput(b block, size int) output {
	patch := object{"oldStart", 12, "oldLines", 2, "newStart", 12, "newLines", 3,
		"lines", []string{" " + g.codeLine(), "-" + g.codeLine(), "+" + g.codeLine(), "+" + g.codeLine()}}
	structured := object{"filePath", b.input[1], "oldString", b.input[3], "newString", b.input[5],
		"originalFile", g.code(size), "structuredPatch", []object{patch}, "userModified", false, "replaceAll", false}
	return output{content: "The file has been updated successfully:\n" + numbered(g.code(size/2)), structured: structured}
}

func (g *generator) listOutput(size int) output {
	var list []object
	parts := g.between(1, 3)
	for range parts {
		list = append(list, object{"type", "text", "text", g.code(size / parts)})
	}
	return output{content: list, structured: list}
}

func (g *generator) imageOutput(size int) output {
	data := g.base64(size * 3 / 4)
	source := object{"type", "base64", "media_type", "image/png", "data", data}
	file := object{"base64", data, "type", "image/png", "originalSize", size * 3 / 4}
	return output{
		content:    []object{{"type", "image", "source", source}},
		structured: object{"type", "image", "file", file},
	}
}
