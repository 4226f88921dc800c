package transcript

import "strings"

// Ongoing reports whether the agent has more to do after chunks: it has to answer a prompt, waits for a tool or a
// subagent, or was last seen thinking or using tools. An answer in words or as structured output, a plan that waits for
// approval, a refusal of the user and an interruption are ends. Chunks cannot tell whether the agent is still running.
func Ongoing(chunks []Chunk) bool {
	if len(chunks) == 0 {
		return false
	}
	last := &chunks[len(chunks)-1]
	if last.Interrupted || last.Type == UserChunk {
		return !last.Interrupted
	}
	return ongoingTurn(currentTurn(chunks))
}

// currentTurn returns the chunks after the last prompt or interruption. A prompt that was queued belongs to the turn in
// which it was typed.
func currentTurn(chunks []Chunk) []Chunk {
	for i := len(chunks) - 1; i >= 0; i-- {
		ch := &chunks[i]
		if ch.Interrupted || ch.Type == UserChunk && !ch.Queued {
			return chunks[i+1:]
		}
	}
	return chunks
}

func ongoingTurn(turn []Chunk) bool {
	var active, anyItem, unfinished bool
	for i := range turn {
		for j := range turn[i].Items {
			item := &turn[i].Items[j]
			anyItem = true
			switch item.Type {
			case ItemThinking:
				active = true
			case ItemOutput:
				isResult := item.ToolID != ""
				active = isResult || active && blank(item.Text)
			case ItemToolCall, ItemSubagent:
				active = !endsTurn(item)
				unfinished = unfinished || active && !item.HasResult
			}
		}
		if ch := &turn[i]; ch.Type == AIChunk && !anyItem && !onlyInjected(ch) {
			active = ch.StopReason != "end_turn"
		}
	}
	return active || unfinished
}

// onlyInjected reports whether a chunk holds nothing that the model said.
func onlyInjected(ch *Chunk) bool { return len(ch.Injected) > 0 && ch.Model == "" && ch.Text == "" }

const rejected = "User rejected tool use"

// endsTurn reports whether the agent waits for the user after a call, or is done.
func endsTurn(item *DisplayItem) bool {
	switch item.ToolName {
	case "ExitPlanMode":
		return true
	case "StructuredOutput":
		return item.HasResult && !item.ToolError
	case "SendMessage":
		in, _ := item.Input()
		if message, ok := in.(*SendMessageInput); ok && message.ApprovesShutdown() {
			return true
		}
	}
	return item.Structured == `"`+rejected+`"` || strings.TrimSpace(item.ToolResult) == rejected
}
