package corpus

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A moment is the state of a session before a turn, to go back to.
type moment struct {
	parent any
	truth  SessionTruth
}

// turn writes a prompt, rounds of tool calls, and an answer.
func (r *recording) turn(rounds int) {
	r.rewind()
	r.before = &moment{r.parent, r.book.t.Sessions[r.id]}
	r.prompt = r.uuid()
	prompt := r.words(r.between(60, 900))
	r.ask()
	r.writePrompt(prompt)
	if !r.current {
		r.note("file-history-snapshot", "messageId", r.parent, "snapshot", object{"messageId", r.parent,
			"trackedFileBackups", object{"main.go", object{"backupFileName", r.hex(16) + "@v1", "version", 1}}, "timestamp",
			r.stamp()},
			"isSnapshotUpdate", false)
	}
	start := r.now
	for range rounds {
		r.wait(800, 5000)
		r.round()
		r.incidents()
	}
	r.wait(500, 2500)
	r.ask()
	r.answer([]object{{"type", "text", "text", r.words(r.between(300, 2500))}}, "end_turn")
	r.system("turn_duration", "durationMs", int(r.now.Sub(start).Milliseconds()), "messageCount", 2*rounds)
	r.bookkeeping(prompt)
	r.wait(20_000, 600_000)
}

// writePrompt writes what the user has typed, in one of the forms that it takes.
func (r *recording) writePrompt(prompt string) {
	switch {
	case r.oneIn(14):
		r.typed("<command-message>review</command-message>\n<command-name>/review</command-name>\n" +
			"<command-args>" + r.word() + "</command-args>")
		r.user([]object{{"type", "text", "text", prompt}}, "isMeta", true)
	case r.oneIn(14):
		r.system("local_command", "content", "<command-name>/model</command-name>\n<command-message>model</command-message>",
			"level", "info")
		r.system("local_command", "content", "<local-command-stdout>Set model to "+r.model+"</local-command-stdout>",
			"level", "info")
		r.typed(prompt)
	case r.oneIn(30):
		picture := object{"type", "base64", "media_type", "image/png", "data",
			r.base64(int(r.scale * float64(r.between(8_000, 40_000))))}
		r.typed([]object{{"type", "image", "source", picture}, {"type", "text", "text", "[Image #1] " + prompt}})
	default:
		r.typed(prompt)
	}
}

// rewind goes back, now and then, to before the last turn, which is then a branch.
func (r *recording) rewind() {
	before := r.before
	if before == nil || len(r.kept) < maxKept || !r.oneIn(12) || before.parent == nil {
		return
	}
	after := r.book.t.Sessions[r.id]
	if after.Compactions > before.truth.Compactions {
		return
	}
	r.parent = before.parent
	before.truth.Rewinds++
	r.book.t.Sessions[r.id] = before.truth
}

// incidents adds the incidents between rounds.
func (r *recording) incidents() {
	if r.oneIn(25) {
		prompt := r.words(60)
		r.note("queue-operation", "operation", "enqueue", "timestamp", r.stamp(), "content", prompt)
		r.note("queue-operation", "operation", "remove", "timestamp", r.stamp())
		r.attach("queued_command", 0, "prompt", prompt, "commandMode", "prompt")
		r.book.change(r.id, func(s *SessionTruth) { s.Queued++ })
	}
	if r.oneIn(18) {
		r.attach("task_reminder", 0, "content", []string{}, "itemCount", 0)
	}
	if r.oneIn(60) {
		r.system("api_error", "level", "error", "error", object{"status", 529}, "retryInMs", 514.73, "retryAttempt", 1,
			"maxRetries", 10)
		r.failed()
	}
	if r.oneIn(40) && len(r.kept) == maxKept {
		r.replay("aside_question-"+r.hex(12), true)
	}
	if r.context > r.window {
		if !r.current {
			r.replay("acompact-"+r.hex(16), false)
		}
		r.compact()
	}
}

// round writes one answer with tool calls, and their results. A result hangs on the line of its
// call.
func (r *recording) round() {
	var blocks []object
	if r.oneIn(3) {
		blocks = append(blocks, object{"type", "thinking", "thinking", r.words(r.between(300, 2500)), "signature",
			r.base64(260)})
	}
	if r.oneIn(2) {
		blocks = append(blocks, object{"type", "text", "text", r.words(r.between(60, 600))})
	}
	calls := make([]call, r.calls())
	for i := range calls {
		calls[i] = r.call()
		blocks = append(blocks, object{"type", "tool_use", "id", calls[i].id, "name", calls[i].name, "input", calls[i].input})
	}
	r.ask()
	uuids := r.answer(blocks, "tool_use")
	uuids = uuids[len(uuids)-len(calls):]
	for i, c := range calls {
		r.wait(80, 2500)
		r.parent = uuids[i]
		if !r.current && r.oneIn(2) {
			r.progress(c.id, object{"type", "hook_progress", "hookEvent", "PostToolUse", "hookName", "PostToolUse:" + c.name,
				"command", "callback"})
		}
		content, structured, failed := c.run(c)
		r.result(c, uuids[i], content, structured, failed)
	}
	if r.agent != "" && r.context > 165_000 {
		r.context = 40_000
	}
}

// calls returns the number of calls that one answer makes.
func (r *recording) calls() int {
	if r.oneIn(6) {
		return r.between(3, 5)
	}
	return r.between(1, 2)
}

func (r *recording) result(c call, source string, content, structured any, failed bool) {
	block := object{"tool_use_id", c.id, "type", "tool_result", "content", content}
	if failed {
		block = append(block, "is_error", true)
	}
	r.user([]object{block}, "toolUseResult", structured, "sourceToolAssistantUUID", source)
}

// A reply is one answer of the model in the making.
type reply struct {
	message, request string
	tokens           Tokens
	thinking         int
	long             int // the part of the cache that lives for an hour
	fast             bool
	searches         int
}

// answer writes one answer of the model, a line for each block, and returns the UUIDs of the lines.
// Older agents write down counts that are not final in all but the last.
func (r *recording) answer(blocks []object, stop string) []string {
	p := r.newReply(blocks)
	a := &answered{tokens: p.tokens, model: r.model, session: r.id}
	r.book.answers = append(r.book.answers, a)
	r.spend(r.model, p.tokens)
	var uuids []string
	for i, block := range blocks {
		output, reason := p.tokens.Output, any(stop)
		if !r.current && i < len(blocks)-1 {
			output, reason = min(r.between(1, 8), output), nil
		}
		uuids = append(uuids, r.answerLine(p, a, block, output, reason, i))
		a.day = r.now.Format("2006-01-02")
		r.wait(150, 1000)
	}
	return uuids
}

func (r *recording) newReply(blocks []object) *reply {
	size := 0
	for _, b := range blocks {
		size += len(b.append(r.line[:0]))
	}
	fresh := r.between(200, 4200)
	p := &reply{
		message:  r.newID("msg_01"),
		tokens:   Tokens{Input: r.between(3, 14), Output: size/4 + r.between(5, 45), CacheWrite: fresh, CacheRead: r.context},
		thinking: r.rng.IntN(size/8 + 1), long: pick(r.generator, []int{0, fresh}), fast: r.oneIn(40),
	}
	if !r.gateway {
		p.request = r.newID("req_011C")
	}
	if r.oneIn(60) {
		p.searches = r.between(1, 3)
	}
	r.context += fresh + p.tokens.Output
	return p
}

// newID makes an identifier of the API. The field of the session's has the name of the method.
func (p *projects) newID(prefix string) string { return p.generator.id(prefix) }

func (p *reply) usage(output int) object {
	speed := "standard"
	if p.fast {
		speed = "fast"
	}
	return object{
		"input_tokens", p.tokens.Input, "cache_creation_input_tokens", p.tokens.CacheWrite,
		"cache_read_input_tokens", p.tokens.CacheRead, "output_tokens", output,
		"output_tokens_details", object{"thinking_tokens", min(p.thinking, output)},
		"server_tool_use", object{"web_search_requests", p.searches, "web_fetch_requests", 0}, "service_tier", "standard",
		"cache_creation", object{"ephemeral_1h_input_tokens", p.long, "ephemeral_5m_input_tokens",
			p.tokens.CacheWrite - p.long},
		"inference_geo", "", "iterations", []object{}, "speed", speed,
	}
}

func (r *recording) answerLine(p *reply, a *answered, block object, output int, stop any, index int) string {
	message := object{"model", r.model, "id", p.message, "type", "message", "role", "assistant", "content",
		[]object{block},
		"stop_reason", stop, "stop_sequence", nil, "stop_details", nil, "usage", p.usage(output)}
	before := object{"message", message}
	if p.request != "" {
		before = append(before, "requestId", p.request)
	}
	if r.current {
		before = append(before, "apiBlockIndex", index, "requestRef", r.request, "requestedModel", r.model)
	}
	used := a.tokens.Total() - a.tokens.Output + output
	r.book.t.Naive += used
	return r.entry("assistant", append(before, "type", "assistant"), nil, keptEntry{answer: a, used: used})
}

// failed writes what the agent says when the API has failed. No model has said it.
func (r *recording) failed() {
	message := object{"model", "<synthetic>", "id", r.uuid(), "type", "message", "role", "assistant",
		"content", []object{{"type", "text", "text", "API Error: 529 overloaded"}}, "stop_reason", "stop_sequence",
		"usage", object{"input_tokens", 0, "output_tokens", 0}}
	r.entry("assistant", object{"message", message, "type", "assistant"}, object{"isApiErrorMessage", true}, keptEntry{})
}

// spend adds tokens to the usage of the process.
func (r *recording) spend(model string, tokens Tokens) {
	if r.spent == nil {
		r.spent = map[string]Tokens{}
	}
	r.spent[model] = r.spent[model].Plus(tokens)
}

// A call is one of a tool. run makes its result: what the model gets, what the agent keeps, and
// whether it failed.
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

// mcp calls a server's tool, which answers with blocks, at times including a picture.
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
