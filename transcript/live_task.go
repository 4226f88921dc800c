package transcript

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clewdev/clew/wire"
)

func (s *liveState) learnAgent(msg *wire.TaskStartedMessage) {
	if msg.TaskType != wire.TaskTypeLocalAgent {
		return
	}
	if s.agents == nil {
		s.agents = map[string]string{}
	}
	s.agents[msg.TaskID] = msg.Description
}

// await notes that a call waits for a task. Its result tells the end then, and no notice does.
func (s *liveState) await(msg *wire.TaskStartedMessage) {
	if msg.Backgrounded {
		return
	}
	if s.awaited == nil {
		s.awaited = map[string]string{}
	}
	s.awaited[msg.TaskID] = msg.ToolUseID
}

// subagentPrompt returns what a subagent was asked: its transcript begins with it.
func (s *liveState) subagentPrompt(msg *wire.TaskStartedMessage) *liveLine {
	if msg.TaskType != wire.TaskTypeLocalAgent || msg.ToolUseID == "" || msg.Prompt == "" {
		return nil
	}
	t := s.thread(msg.ToolUseID)
	if t.last != "" {
		return nil
	}
	t.prompt = contentSum(wire.Content{&wire.TextBlock{Text: msg.Prompt}})
	return &liveLine{
		thread: msg.ToolUseID, Type: "user", AgentID: msg.TaskID, SessionID: msg.SessionID, Message: userMessage(msg.Prompt),
	}
}

// notification returns the prompt that tells the model that a task has ended.
func (s *liveState) notification(msg *wire.TaskNotificationMessage) *liveLine {
	_, awaited := s.awaited[msg.TaskID]
	delete(s.awaited, msg.TaskID)
	if msg.SkipTranscript || msg.Ambient || awaited {
		return nil
	}
	summary, result := msg.Summary, ""
	if description, ok := s.agents[msg.TaskID]; ok {
		summary, result = agentEnd(description, msg.Status), msg.Summary
	}
	var text strings.Builder
	text.WriteString("<task-notification>\n")
	for _, part := range [][2]string{
		{"task-id", msg.TaskID},
		{"tool-use-id", msg.ToolUseID},
		{"output-file", msg.OutputFile},
		{"status", string(msg.Status)},
		{"summary", summary},
		{"result", result},
	} {
		if part[1] != "" {
			fmt.Fprintf(&text, "<%s>%s</%s>\n", part[0], part[1], part[0])
		}
	}
	text.WriteString("</task-notification>")
	return &liveLine{
		Type: "user", Message: userMessage(text.String()), PermissionMode: s.mode, UUID: msg.UUID, SessionID: msg.SessionID,
	}
}

// agentEnd says that a subagent has ended, in the agent's words.
func agentEnd(description string, status wire.TaskStatus) string {
	how := string(status)
	if status == wire.TaskStatusCompleted {
		how = "finished"
	}
	return fmt.Sprintf("Agent \"%s\" %s", description, how)
}

func userMessage(text string) json.RawMessage {
	message, err := json.Marshal(struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}{"user", text})
	if err != nil {
		return nil
	}
	return message
}
