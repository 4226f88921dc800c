package corpus

// A moment is the state of a session before a turn, to go back to.
type moment struct {
	parent any
	truth  SessionTruth
}

// turn writes a prompt and what follows it: rounds of calls of tools, and an answer.
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

// rewind goes back, now and then, to before the last turn: what was said there is left behind.
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

// incidents are what happens between rounds.
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

// round writes one answer with calls of tools, and their results. A result hangs on the line of its call.
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

// calls is how many calls one answer makes.
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
