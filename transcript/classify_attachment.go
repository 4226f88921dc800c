package transcript

import "fmt"

// attachment classifies what the agent has attached to a prompt. Most of it is context for the model.
func (c *classifier) attachment(e *Entry) (ClassifiedMsg, string) {
	if e.AttachmentType == "queued_command" {
		return c.queued(e)
	}
	text, isError := attachmentNotice(e)
	if text == "" {
		return nil, noiseName("attachment:", e.AttachmentType)
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: text, IsError: isError}, ""
}

// queued classifies what was typed, or what the agent was told, while it worked.
func (c *classifier) queued(e *Entry) (ClassifiedMsg, string) {
	p, ok := c.readPrompt(valueAt(e.Attachment, "prompt"))
	if !ok {
		return c.sentBack(e, c.blocks(p.content)), ""
	}
	p.queued, p.meta = true, trueAt(e.Attachment, "isMeta")
	return c.prompt(e, p)
}

// attachmentNotice returns what an attachment tells the user, or "" if it does not.
func attachmentNotice(e *Entry) (text string, isError bool) {
	a := []byte(e.Attachment)
	switch e.AttachmentType {
	case "hook_blocking_error", "hook_non_blocking_error", "hook_error_during_execution":
		return sentence(hookName(a)+" hook error", hookText(a)), true
	case "hook_system_message":
		if text := hookText(a); text != "" {
			return hookName(a) + " hook: " + text, false
		}
	case "max_turns_reached":
		if most := intAt(a, "maxTurns"); most != 0 {
			return fmt.Sprintf("Reached the limit of %d turns", most), false
		}
		return "Reached the limit of turns", false
	case "goal_status":
		if trueAt(a, "met") {
			return sentence("Goal met", textAt(a, "condition")), false
		}
		return sentence("Goal not met yet", textAt(a, "condition")), false
	}
	return "", false
}

func hookName(attachment []byte) string {
	if name := firstText(attachment, "hookName", "hookEvent"); name != "" {
		return name
	}
	return "A"
}

// hookText returns what a hook has said.
func hookText(attachment []byte) string {
	if text := textAt(attachment, "blockingError", "blockingError"); text != "" {
		return trimOutput(text)
	}
	return trimOutput(firstText(attachment, "blockingError", "content", "stderr", "stdout", "error", "message"))
}
