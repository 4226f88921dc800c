package corpus

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A call is one of a tool. run makes its result: what the model gets, what the agent keeps, and whether it failed.
type call struct {
	id, name string
	input    object
	run      func(call) (content, structured any, failed bool)
}

// call makes one of some tool.
func (r *recording) call() call {
	var c call
	switch k := r.rng.IntN(100); {
	case k < 34:
		c = r.read()
	case k < 58:
		c = r.bash()
	case k < 72:
		c = r.edit()
	case k < 79:
		c = r.compose()
	case k < 88:
		c = r.grep()
	case k < 93:
		c = r.fetch()
	case k < 98 || r.depth >= 2:
		c = r.mcp()
	default:
		c = r.delegate()
	}
	c.id = r.newID("toolu_01")
	if !slices.Contains(r.used, c.name) {
		r.used = append(r.used, c.name)
	}
	return c
}

// amount is the size of a result, larger in large sessions.
func (r *recording) amount(low, high int) int { return int(r.scale * float64(r.between(low, high))) }

func (r *recording) source() string {
	return fmt.Sprintf("%s/internal/%s/%s_%s.go", r.cwd, r.word(), r.word(), r.word())
}

func (r *recording) read() call {
	path := r.source()
	return call{name: "Read", input: object{"file_path", path}, run: func(call) (any, any, bool) {
		text := r.codeOf(r.amount(600, 14_000))
		lines := strings.Count(text, "\n")
		return numbered(text), object{"type", "text", "file", object{"filePath", path, "content", text, "numLines", lines,
			"startLine", 1, "totalLines", lines}}, false
	}}
}

func (r *recording) bash() call {
	input := object{"command", "cd " + r.cwd + " && go test ./" + r.word() + "/... | tail -40", "description",
		"Test " + r.word()}
	return call{name: "Bash", input: input, run: func(c call) (any, any, bool) {
		for i := range r.rng.IntN(4) {
			if r.current {
				break
			}
			r.wait(900, 1100)
			r.progress(c.id, object{"type", "bash_progress", "output", r.output(200),
				"fullOutput", r.output(900), "elapsedTimeSeconds", i + 2, "totalLines", 40, "timeoutMs", 120_000})
		}
		output := r.output(r.amount(200, 9_000))
		if r.agent == "" && r.oneIn(25) {
			return r.spilled()
		}
		if r.oneIn(9) {
			return "Exit code 1\n" + output, "Error: Exit code 1\n" + output, true
		}
		return output, object{"stdout", output, "stderr", "", "interrupted", false, "isImage", false, "noOutputExpected",
			false}, false
	}}
}

// spilled is an output that is too long for the transcript.
func (r *recording) spilled() (content, structured any, failed bool) {
	output := r.output(r.between(32_000, 90_000))
	path := r.spill(output)
	head := output[:min(len(output), 2000)]
	text := fmt.Sprintf("<persisted-output>\nOutput too large (%dKB). Full output saved to: %s\n\n"+
		"Preview (first 2KB):\n%s\n</persisted-output>", len(output)/1024, path, head)
	return text, object{"stdout", head, "stderr", "", "interrupted", false, "isImage", false,
		"persistedOutputPath", path, "persistedOutputSize", len(output)}, false
}

func (r *recording) edit() call {
	path, old, fresh := r.source(), r.codeOf(r.between(80, 500)), r.codeOf(r.between(80, 700))
	input := object{"file_path", path, "old_string", old, "new_string", fresh}
	return call{name: "Edit", input: input, run: func(call) (any, any, bool) {
		var lines []string
		for line := range strings.Lines(old) {
			lines = append(lines, "-"+strings.TrimSuffix(line, "\n"))
		}
		for line := range strings.Lines(fresh) {
			lines = append(lines, "+"+strings.TrimSuffix(line, "\n"))
		}
		patch := object{"oldStart", 10, "oldLines", strings.Count(old, "\n"), "newStart", 10, "newLines",
			strings.Count(fresh, "\n"), "lines", lines}
		return "The file " + path + " has been updated successfully.",
			object{"filePath", path, "oldString", old, "newString", fresh,
				"originalFile", r.codeOf(r.amount(1500, 12_000)), "structuredPatch", []object{patch},
				"userModified", false, "replaceAll", false}, false
	}}
}

func (r *recording) compose() call {
	path, text := r.source(), r.codeOf(r.amount(500, 6_000))
	return call{name: "Write", input: object{"file_path", path, "content", text}, run: func(call) (any, any, bool) {
		return "File created successfully at: " + path, object{"type", "create", "filePath", path, "content", text,
			"structuredPatch", []object{}, "originalFile", nil, "userModified", false}, false
	}}
}

func (r *recording) grep() call {
	input := object{"pattern", r.word() + ".*" + r.word(), "path", r.cwd, "output_mode", "content"}
	return call{name: "Grep", input: input, run: func(call) (any, any, bool) {
		found := r.codeOf(r.amount(100, 4_000))
		return found, object{"mode", "content", "numFiles", 0, "filenames", []string{}, "content", found, "numLines",
			strings.Count(found, "\n")}, false
	}}
}

func (r *recording) fetch() call {
	url := "https://example.com/docs/" + r.word()
	input := object{"url", url, "prompt", "What is a " + r.word()}
	return call{name: "WebFetch", input: input, run: func(call) (any, any, bool) {
		text := r.words(r.between(800, 5_000))
		return text, object{"bytes", 12_345, "code", 200, "codeText", "OK", "result", text,
			"durationMs", r.between(90, 4000), "url", url}, false
	}}
}

// mcp is a call of a server's tool, which answers with blocks, a picture among them at times.
func (r *recording) mcp() call {
	input := object{"query", r.word(), "limit", r.between(1, 50)}
	return call{name: "mcp__tracker__search", input: input, run: func(call) (any, any, bool) {
		blocks := []object{{"type", "text", "text", r.words(r.between(200, 2500))}}
		if r.scale > 1 && r.oneIn(3) {
			picture := object{"type", "base64", "data", r.base64(r.between(30_000, 150_000)), "media_type", "image/png"}
			blocks = append(blocks, object{"type", "image", "source", picture})
		}
		return blocks, blocks, false
	}}
}

// delegate starts a subagent.
func (r *recording) delegate() call {
	kind, prompt := pick(r.generator, []string{"Explore", "general-purpose", "Plan"}), r.words(r.between(300, 1500))
	input := object{"description", "Look at " + r.word(), "prompt", prompt, "subagent_type", kind}
	return call{name: "Agent", input: input, run: func(c call) (any, any, bool) {
		start := r.now
		id, answer := r.subagent(c.id, kind, prompt)
		text := []object{{"type", "text", "text", answer}}
		return append(slices.Clone(text), object{"type", "text", "text", "agentId: " + id}),
			object{"status", "completed", "prompt", prompt,
				"agentId", id, "agentType", kind, "content", text, "totalDurationMs", int(r.now.Sub(start).Milliseconds()),
				"totalTokens", 12_345, "totalToolUseCount", 3, "usage", object{"input_tokens", 7, "output_tokens", 8}}, false
	}}
}

func writeFile(path string, content object) error {
	return os.WriteFile(path, content.append(nil), 0o600)
}
