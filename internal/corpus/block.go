package corpus

// A block is one content block in its two forms: as it streams, and whole.
type block struct {
	start     object
	whole     object
	delta     func(*generator) object // nil for a block that comes at once
	signature string                  // of a thinking block
	tool      string                  // name of the tool that a tool_use block calls
	toolUse   string
	input     object
}

var tools = []string{
	"Task", "Bash", "Read", "Edit", "Write", "Grep", "Glob", "WebFetch", "TodoWrite", "mcp__tracker__search_issues",
}

// blocks makes the content of one answer.
func (g *generator) blocks() []block {
	var list []block
	if g.rng.IntN(100) < 37 {
		list = append(list, g.thinkingBlock())
	}
	if g.rng.IntN(100) < 85 {
		list = append(list, g.textBlock())
	}
	if g.oneIn(40) {
		list = append(list, g.redactedBlock())
	}
	for range g.rng.IntN(4) {
		if g.rng.IntN(100) < 88 {
			list = append(list, g.toolBlock())
		}
	}
	if len(list) == 0 {
		list = append(list, g.textBlock())
	}
	return list
}

func (g *generator) textBlock() block {
	return block{
		start: object{"type", "text", "text", ""},
		whole: object{"type", "text", "text", g.prose(g.between(100, 4300))},
		delta: func(g *generator) object {
			return object{"type", "text_delta", "text", g.prose(g.between(1, 36))}
		},
	}
}

func (g *generator) thinkingBlock() block {
	signature := g.base64(g.between(200, 900))
	return block{
		start: object{"type", "thinking", "thinking", "", "signature", ""},
		whole: object{"type", "thinking", "thinking", g.prose(g.between(200, 4800)), "signature", signature},
		delta: func(g *generator) object {
			return object{"type", "thinking_delta", "thinking", g.prose(g.between(1, 36)), "estimated_tokens", nil}
		},
		signature: signature,
	}
}

func (g *generator) redactedBlock() block {
	data := g.base64(g.between(200, 600))
	whole := object{"type", "redacted_thinking", "data", data}
	return block{start: whole, whole: whole}
}

func (g *generator) toolBlock() block {
	name, id := pick(g, tools), g.id("toolu_01")
	input := g.toolInput(name)
	return block{
		start: object{"type", "tool_use", "id", id, "name", name, "input", object{}},
		whole: object{"type", "tool_use", "id", id, "name", name, "input", input},
		delta: func(g *generator) object {
			return object{"type", "input_json_delta", "partial_json", string(appendString(nil, g.codeLine()))}
		},
		tool:    name,
		toolUse: id,
		input:   input,
	}
}

func (g *generator) toolInput(tool string) object {
	switch tool {
	case "Bash":
		command := "cd " + g.cwd + " && go test ./" + g.word() + "/... 2>&1 | grep -v \"no test files\" | tail -40"
		return object{"command", command, "description", g.prose(30), "timeout", g.between(1, 600) * 1000}
	case "Read":
		return object{"file_path", g.path(), "offset", g.rng.IntN(900), "limit", g.between(50, 2000)}
	case "Edit":
		return object{"file_path", g.path(), "old_string", g.code(g.between(100, 1800)),
			"new_string", g.code(g.between(100, 2400)), "replace_all", false}
	case "Write":
		return object{"file_path", g.path(), "content", g.code(g.between(500, 6000))}
	case "Grep":
		return object{"pattern", `func\s+\(` + g.word() + `\)`, "path", g.cwd, "output_mode", "content", "-n", true}
	case "Glob":
		return object{"pattern", "**/*_" + g.word() + ".go", "path", g.cwd}
	case "WebFetch":
		return object{"url", "https://example.com/" + g.word(), "prompt", g.prose(120)}
	case "TodoWrite":
		return object{"todos", g.todos()}
	case "Task":
		return object{"description", g.prose(30), "prompt", g.prose(g.between(300, 3000)),
			"subagent_type", "general-purpose", "run_in_background", g.oneIn(2)}
	}
	return object{"query", g.prose(60), "limit", g.between(5, 50), "weight", g.rng.Float64(),
		"cursor", nil, "filter", object{"labels", []string{g.word(), g.word()}, "open", true}}
}

func (g *generator) todos() []object {
	var list []object
	for range g.between(3, 9) {
		status := pick(g, []string{"pending", "in_progress", "completed"})
		list = append(list, object{"content", g.prose(50), "status", status, "activeForm", g.prose(50)})
	}
	return list
}
