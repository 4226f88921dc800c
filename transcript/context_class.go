package transcript

import (
	"bytes"
	"strings"

	"github.com/clewdev/clew/internal/jsonlex"
)

// contextClasses are all classes, in the order in which a filling counts them.
var contextClasses = [...]ContextClass{
	ContextMemory, ContextSkills, ContextTools, ContextHooks, ContextFiles,
	ContextToolCalls, ContextThinking, ContextConversation, ContextSystem,
}

// Indexes into contextClasses.
const (
	inMemory = iota
	inSkills
	inTools
	inHooks
	inFiles
	inToolCalls
	inThinking
	inConversation
	inSystem
)

// attachmentClass returns the class of what the agent has attached for the model.
func attachmentClass(kind string) uint8 {
	switch kind {
	case "nested_memory", "instructions", "memory", "relevant_memories":
		return inMemory
	case "skill_listing", "invoked_skills", "dynamic_skill", "skill_discovery":
		return inSkills
	case "deferred_tools_delta", "mcp_instructions_delta", "agent_listing_delta":
		return inTools
	case "file", "edited_text_file", "edited_image_file", "compact_file_reference", "pdf_reference", "directory",
		"already_read_file", "selected_lines_in_ide", "opened_file_in_ide", "mcp_resource", "read_truncation_notice":
		return inFiles
	case "queued_command", "teammate_mailbox":
		return inConversation
	}
	if strings.HasPrefix(kind, "hook_") || kind == "async_hook_response" {
		return inHooks
	}
	return inSystem
}

// attachedText returns the part of an attachment entry that goes to the model: newer versions write it beside the
// attachment, as it was sent.
func attachedText(e *Entry) []byte {
	if text := jsonlex.Lookup(e.Raw, 0, "rendered"); text != nil {
		return text
	}
	part := func(name string) []byte { return jsonlex.Lookup(e.Attachment, 0, name) }
	switch e.AttachmentType {
	case "hook_success":
		return part("content") // and nothing if it has none
	case "hook_blocking_error":
		return part("blockingError")
	case "queued_command":
		return part("prompt")
	case "skill_listing", "nested_memory", "file", "hook_additional_context", "invoked_skills":
		if text := part("content"); text != nil {
			return text
		}
	}
	return e.Attachment
}

// pictureTokens is about what a picture takes, whatever the length of its text. In a text that is shorter than
// pictureBytes it makes no difference.
const (
	pictureTokens = 1600
	pictureBytes  = 32 << 10
)

// estimate returns about how many tokens a JSON text stands for.
func estimate(text []byte) int {
	size := len(text)
	if size <= 2 { // "", [], {}
		return 0
	}
	pictures := 0
	if size > pictureBytes && bytes.Contains(text, []byte(`"base64"`)) {
		var bytes int
		pictures, bytes = encoded(text)
		size -= bytes
	}
	return (size+3)/4 + pictures*pictureTokens
}

// encoded returns how many pictures and other files are in a JSON text, and the length of what they hold.
func encoded(text []byte) (files, size int) {
	const open = `"data":"`
	for {
		i := bytes.Index(text, []byte(open))
		if i < 0 {
			return files, size
		}
		text = text[i+len(open):]
		end := bytes.IndexByte(text, '"')
		if end < 0 {
			return files, size
		}
		files++
		size += end
		text = text[end:]
	}
}
