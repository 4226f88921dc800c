package transcript

// addAnswer takes an answer of the model, or something that went back to it.
func (c *chunker) addAnswer(d *digest) {
	switch a := d.answer; {
	case d.interrupted:
		c.addInterruption(d)
	case a == nil:
	case a.meta:
		c.addMeta(d)
	default:
		i := c.turn()
		c.addSummary(&c.list[i], a)
		c.addParts(d)
		c.extend(i, d.time)
		c.count(i, d)
	}
}

func (c *chunker) addSummary(ch *Chunk, a *answerDigest) {
	if ch.Model == "" {
		ch.Model = a.model
	}
	if a.stop != "" {
		ch.StopReason = a.stop
	}
	if a.usage.TotalTokens() > 0 {
		ch.Usage = a.usage
	}
	ch.ThinkingCount += a.thinking
	ch.ToolCalls = append(ch.ToolCalls, a.calls...)
	if a.text != "" {
		c.addText(a.text)
	}
}

// addParts adds the parts of an answer to the open chunk, except those that repeat what an earlier line of the same
// answer has said.
func (c *chunker) addParts(d *digest) {
	c.last.begin(d.answer.message)
	repeated := c.repeated(d.answer.parts)
	for i := range d.answer.parts {
		p := &d.answer.parts[i]
		if i < len(repeated) {
			c.renew(repeated[i], p)
			continue
		}
		c.last.parts = append(c.last.parts, c.addPart(d, p))
	}
}

func (c *chunker) addPart(d *digest, p *part) said {
	item := DisplayItem{Timestamp: d.time, Text: p.text, TokenCount: len(p.text) / 4}
	s := said{kind: p.kind, id: p.id}
	switch p.kind {
	case partThinking:
		item.Type = ItemThinking
		c.list[len(c.list)-1].ThinkingCount++
		s.item = c.addItem(item).item
	case partText:
		item.Type = ItemOutput
		s.text = c.addText(p.text)
		s.item = c.addItem(item).item
	case partCall:
		c.addCall(d, p)
	case partResult:
		c.addResult(d, p)
	case partOther, partInjected:
		item.Type = ItemOutput
		s.item = c.addItem(item).item
	}
	return s
}

// addText adds to the text of the open chunk, and returns which of its texts it is.
func (c *chunker) addText(text string) int {
	c.texts = append(c.texts, text)
	c.stale = true
	return len(c.texts) - 1
}

// addCall adds a call, unless another line of the same answer has it.
func (c *chunker) addCall(d *digest, p *part) {
	message := d.answer.message
	if at, ok := c.calls[p.id]; ok && message != "" && at.message == message {
		c.renewCall(at, p)
		return
	}
	item := DisplayItem{Type: ItemToolCall, Timestamp: d.time, ToolID: p.id, CallAt: d.at}
	if startsSubagent(p.call.name) {
		item.Type = ItemSubagent
	}
	item.setCall(p.call)
	at := c.addItem(item)
	if p.id == "" {
		return
	}
	if c.calls == nil {
		c.calls = make(map[string]place)
	}
	at.message = message
	c.calls[p.id] = at
	if p.call.name != "" {
		ch := &c.list[at.chunk]
		ch.ToolCalls = append(ch.ToolCalls, ToolCall{ID: p.id, Name: p.call.name})
	}
}

func (i *DisplayItem) setCall(from *callDigest) {
	i.ToolName, i.ToolInput, i.ToolSummary = from.name, from.input, from.summary
	i.SubagentType, i.SubagentDesc = from.subagentType, from.subagentDesc
	i.countTokens()
}

func (i *DisplayItem) countTokens() {
	i.TokenCount = len(i.ToolInput)/4 + len(i.ToolResult)/4
}

// addMeta takes what went back to the model. What belongs to a call goes to the item of the call, in whichever chunk it
// is. Results of unknown calls are outputs. Other text goes to the last chunk, and makes none.
func (c *chunker) addMeta(d *digest) {
	home, timed := -1, false // the chunk that the line counts for, and whether its time counts
	for i := range d.answer.parts {
		p := &d.answer.parts[i]
		at, known := c.calls[p.id]
		switch {
		case p.kind == partResult:
			home, timed = max(home, c.addResult(d, p)), true
		case p.kind != partInjected:
			home, timed = c.turn(), true
			c.addPart(d, p)
		case known:
			item := c.item(at)
			item.Injected = append(item.Injected, p.text)
			c.touch(at.chunk)
			home = max(home, at.chunk)
		default:
			home = c.lastChunk()
			c.list[home].Injected = append(c.list[home].Injected, p.text)
			c.touch(home)
		}
	}
	if home < 0 {
		home = c.lastChunk()
	}
	if timed {
		c.extend(home, d.time)
	}
	c.count(home, d)
}

func (c *chunker) item(at place) *DisplayItem { return &c.list[at.chunk].Items[at.item] }

// addResult gives a result to its call, or makes it an output of the open chunk. It returns the index of the chunk.
func (c *chunker) addResult(d *digest, p *part) int {
	at, known := c.calls[p.id]
	if !known {
		i := c.turn()
		item := DisplayItem{Type: ItemOutput, Timestamp: d.time, ToolID: p.id, Text: p.text, TokenCount: len(p.text) / 4}
		item.setOutcome(d, p)
		c.addItem(item)
		return i
	}
	item := c.item(at)
	if p.text == "" && p.images == 0 && (item.ToolResult != "" || item.ResultImages > 0) {
		return at.chunk // of two results the last one that says something counts
	}
	item.HasResult, item.ToolResult = true, p.text
	item.DurationMs = millisBetween(item.Timestamp, d.time)
	item.setOutcome(d, p)
	item.countTokens()
	c.distrustDurations(at)
	c.touch(at.chunk)
	return at.chunk
}

func (i *DisplayItem) setOutcome(d *digest, p *part) {
	i.ToolError, i.ResultImages, i.ResultAt = p.failed, p.images, d.at
	i.Structured, i.Patch, i.Status, i.SpillPath = "", "", "", ""
	if o := p.outcome; o != nil {
		i.Structured, i.Patch, i.Status, i.SpillPath = o.structured, o.patch, o.status, o.spill
		if o.agentID != "" {
			i.AgentID = o.agentID
		}
	}
}

// distrustDurations takes back durations of more than a minute in a chunk with a subagent: while one runs, the results
// of other tools are written late.
func (c *chunker) distrustDurations(at place) {
	const maxMillis = 60_000
	items, b := c.list[at.chunk].Items, &c.books[at.chunk]
	from, to := at.item, at.item+1
	if it := &items[at.item]; it.Type == ItemSubagent && it.DurationMs > 0 && !b.subagentTimed {
		b.subagentTimed = true
		from, to = 0, len(items)
	}
	for i := from; i < to && b.subagentTimed; i++ {
		if items[i].Type != ItemSubagent && items[i].DurationMs > maxMillis {
			items[i].DurationMs = 0
		}
	}
}
