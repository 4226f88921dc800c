package corpus

// A reply is one answer of the model in the making.
type reply struct {
	message, request string
	tokens           Tokens
	thinking         int
	long             int // the part of the cache that lives for an hour
	fast             bool
	searches         int
}

// answer writes one answer of the model, a line for each block, and returns the UUIDs of the lines. Older agents write
// down counts that are not final in all but the last.
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

// spend adds to what the process has used.
func (r *recording) spend(model string, tokens Tokens) {
	if r.spent == nil {
		r.spent = map[string]Tokens{}
	}
	r.spent[model] = r.spent[model].Plus(tokens)
}
