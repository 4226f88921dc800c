package transcript

// messageMember reads the message of an entry, or returns nil if there is no object.
func (d *entryDecoder) messageMember() *Message {
	if d.Peek() != '{' {
		d.Skip()
		return nil
	}
	m := &d.message
	*m = Message{}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "id":
			m.ID = d.word()
		case "role":
			m.Role = d.word()
		case "model":
			m.Model = d.word()
		case "stop_reason":
			m.StopReason = d.word()
		case "content":
			m.Content = d.content()
		case "usage":
			m.Usage = d.usageMember()
		default:
			d.Skip()
		}
	}
	return m
}

// content passes over the content of a message, and notes the types of blocks that this package does not know.
func (d *entryDecoder) content() []byte {
	d.blocks = d.blocks[:0]
	if d.Peek() != '[' {
		return d.Skip()
	}
	start := d.Pos()
	for ok := d.FirstElem(); ok; ok = d.NextElem() {
		if d.Peek() != '{' {
			d.Skip()
		} else if _, kind := d.typed(); !knownBlock(kind) && len(d.blocks) < maxFindings {
			d.blocks = append(d.blocks, kind)
		}
	}
	return d.since(start)
}

func (d *entryDecoder) usageMember() *Usage {
	if d.Peek() != '{' {
		d.Skip()
		return nil
	}
	u := &d.usage
	*u = Usage{}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "input_tokens":
			u.InputTokens = d.count()
		case "output_tokens":
			u.OutputTokens = d.count()
		case "cache_read_input_tokens":
			u.CacheReadTokens = d.count()
		case "cache_creation_input_tokens":
			u.CacheCreationTokens = d.count()
		case "speed":
			u.Fast = d.word() == "fast"
		case "inference_geo":
			u.InferenceUS = d.word() == "us"
		case "service_tier":
			u.ServiceTier = d.word()
		case "cache_creation", "output_tokens_details", "server_tool_use":
			d.usageDetails(u)
		default:
			d.Skip()
		}
	}
	return u
}

func (d *entryDecoder) usageDetails(u *Usage) {
	if d.Peek() != '{' {
		d.Skip()
		return
	}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "ephemeral_5m_input_tokens":
			u.CacheCreation5mTokens = d.count()
		case "ephemeral_1h_input_tokens":
			u.CacheCreation1hTokens = d.count()
		case "thinking_tokens":
			u.ThinkingTokens = d.count()
		case "web_search_requests":
			u.WebSearches = d.count()
		case "web_fetch_requests":
			u.WebFetches = d.count()
		default:
			d.Skip()
		}
	}
}
