package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/version"
	"github.com/clewdev/clew/wire"
)

// An Unknown is something in an entry that this package does not know. As JSON it is
// {"kind":"attachment","name":"some_name"}.
type Unknown struct {
	// Kind is the kind of thing that is unknown, such as [UnknownAttachment] for a type of
	// attachments.
	Kind UnknownKind `json:"kind"`
	// Name is the unknown name, as the agent wrote it. It can be empty.
	Name string `json:"name"`
}

// An UnknownKind is a kind of thing that is unknown.
type UnknownKind string

// The kinds of unknown things.
const (
	// UnknownEntry is a type of entries.
	UnknownEntry UnknownKind = "entry"
	// UnknownSystem is a subtype of system entries.
	UnknownSystem UnknownKind = "system"
	// UnknownAttachment is a type of attachments.
	UnknownAttachment UnknownKind = "attachment"
	// UnknownProgress is a type of the data of progress entries.
	UnknownProgress UnknownKind = "progress"
	// UnknownBlock is a type of blocks in messages.
	UnknownBlock UnknownKind = "block"
	// UnknownField is a member of entries of the conversation's tree.
	UnknownField UnknownKind = "field"
)

// Drift counts what this package does not know, by version of the agent: how far the agent's format
// moved away from it. The zero value is ready. A copy shares its counts. Drift is for one goroutine
// at a time.
type Drift struct {
	found   map[driftKey]*Finding
	version string // of the last entry that has one
}

// A Finding is something unknown that entries of one version have.
type Finding struct {
	// Version is the version of the agent, such as "2.1.325", or "" if no entry had one yet.
	Version string `json:"version"`
	Unknown
	// Count is the number of times that it was found.
	Count int `json:"count"`
	// First is the position of the first entry that has it.
	First wire.Position `json:"first"`
}

type driftKey struct {
	version string
	Unknown
}

const (
	// maxFindings limits the memory for a file or a line that does not belong to a transcript.
	// Further names of a file are counted as otherNames.
	maxFindings = 1000
	maxNameLen  = 100
	otherNames  = "*"
)

// Findings returns what was found, by version, kind and name. Beyond 1,000 of them, the rest is
// counted under the name "*" of each kind. Long names are cut.
//
//	for _, f := range t.Drift.Findings() {
//		fmt.Println(f.Version, f.Kind, f.Name, f.Count, "first in line", f.First.Line)
//	}
func (d *Drift) Findings() []Finding {
	all := make([]Finding, 0, len(d.found))
	for _, f := range d.found {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(version.Compare(a.Version, b.Version), strings.Compare(a.Version, b.Version),
			strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name))
	})
	return all
}

// Merge adds what other found, in another transcript. Where both found the same, d's First wins.
func (d *Drift) Merge(other Drift) {
	for _, f := range other.Findings() {
		d.count(f)
	}
}

// Equal reports whether both found the same.
func (d Drift) Equal(other Drift) bool {
	return maps.EqualFunc(d.found, other.found, func(a, b *Finding) bool { return *a == *b })
}

// MarshalJSON writes the findings as a list.
func (d Drift) MarshalJSON() ([]byte, error) { return json.Marshal(d.Findings()) }

// note counts what is unknown of an entry. Entries without a version belong to the version of the
// entry before.
func (d *Drift) note(e *Entry) {
	if e.Version != "" {
		d.version = cutName(e.Version)
	}
	for _, u := range e.Unknown {
		u.Name = cutName(u.Name)
		d.count(Finding{Version: d.version, Unknown: u, Count: 1, First: e.Position})
	}
}

// count adds a finding to the one with the same version, kind and name. Beyond maxFindings
// different ones, it counts the rest under one name.
func (d *Drift) count(f Finding) {
	key := driftKey{f.Version, f.Unknown}
	if d.found[key] == nil && len(d.found) >= maxFindings {
		f.Version, f.Name = "", otherNames
		key = driftKey{f.Version, f.Unknown}
	}
	if known := d.found[key]; known != nil {
		known.Count += f.Count
		return
	}
	if d.found == nil {
		d.found = map[driftKey]*Finding{}
	}
	d.found[key] = &f
}

// cutName returns a name that shares no memory with a longer one.
func cutName(name string) string { return clip.Marked(name, maxNameLen) }

// The names below were found in transcripts of versions up to 2.1.325.

// knownType is for the types of entries.
func knownType(name string) bool {
	switch name {
	case "user", "assistant", "system", "attachment", "progress",
		"summary", "ai-title", "custom-title", "last-prompt", "tag", "task-summary",
		"agent-name", "agent-color", "agent-setting", "mode", "permission-mode",
		"pr-link", "worktree-state", "relocated", "queue-operation",
		"file-history-snapshot", "file-history-delta", "attribution-snapshot",
		"cost-state", "content-replacement", "fork-context-ref", "bridge-session", "continued-in", "speculation-accept",
		"marble-origami-commit", "marble-origami-snapshot", "marble-origami-reset",
		"isolation-latch", "atis-latch", "ended-by-model", "history-suppression", "observer-ref", "frame-link",
		"artifact-autoreact-ledger", "artifact-comment-monitor",
		"saved_hook_context", "turn_end", "checkpoint",
		"api-request", "api-request-shape", "api-request-blob", "tools-used":
		return true
	}
	return false
}

// knownSubtype is for entries of type system. The oldest ones have none.
func knownSubtype(name string) bool {
	switch name {
	case "", "compact_boundary", "microcompact_boundary", "turn_duration", "stop_hook_summary", "local_command",
		"api_error", "away_summary", "informational", "bridge_status", "scheduled_task_fire", "memory_saved",
		"permission_retry", "thinking", "model_refusal_fallback", "init":
		return true
	}
	return false
}

// knownAttachment is for the types of attachments.
func knownAttachment(name string) bool {
	switch name {
	case "queued_command", "unknown_command_fallback", "file", "already_read_file", "edited_text_file",
		"compact_file_reference", "nested_memory", "instructions",
		"skill_listing", "dynamic_skill", "invoked_skills",
		"deferred_tools_delta", "mcp_instructions_delta", "agent_listing_delta", "command_permissions",
		"task_reminder", "task_status", "todo_reminder",
		"plan_mode", "plan_mode_exit", "auto_mode", "auto_mode_exit", "agent_mention",
		"date", "date_change", "diagnostics", "structured_output", "max_turns_reached", "goal_status",
		"hook_success", "hook_non_blocking_error", "hook_blocking_error", "hook_error_during_execution",
		"hook_cancelled", "hook_additional_context", "hook_system_message",
		"read_truncation_notice", "total_tokens_reminder", "companion_intro", "session_context", "credential_org",
		"prompt_snapshot", "environment", "model", "remote_session_change":
		return true
	}
	return false
}

// knownProgress is for the data of entries of type progress.
func knownProgress(name string) bool {
	switch name {
	case "bash_progress", "agent_progress", "hook_progress", "mcp_progress", "powershell_progress", "query_update",
		"search_results_received":
		return true
	}
	return false
}

// knownBlock is for the blocks of messages: package wire has types for the known ones.
func knownBlock(name string) bool {
	switch name {
	case "text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document", "server_tool_use",
		"web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result", "code_execution_tool_result",
		"bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result",
		"mcp_tool_use", "mcp_tool_result", "tool_reference", "container_upload", "search_result", "compaction",
		"fallback":
		return true
	}
	return false
}

// other passes over a member that entries don't hold, and notes it if this package does not even
// know it on an entry of the conversation's tree.
func (d *entryDecoder) other(key []byte) {
	switch string(key) {
	case "userType", "entrypoint", "slug", "promptSource", "effort", "perTurnEffort", "session_id", "agentColor",
		"origin", "madeBy",
		"isVisibleInTranscriptOnly", "toolUseID", "sourceToolAssistantUUID",
		"apiErrorStatus", "apiErrorType", "error", "failedResponseHadNoToolCall",
		"thinkingMetadata", "thinkingDurationMs", "thinkingDisplay", "todos", "imagePasteIds",
		"attributionAgent", "attributionSkill", "attributionMcpServer", "attributionMcpTool",
		"requestRef", "requestedModel", "promptCacheRequested", "toolInputStreamMs",
		"interruptedByShutdown", "isAbortedMidStream", "hookAdditionalContext",
		"turnOrigin", "turnPosition", "turnCompanion", "turnAttributionKey", "commandRun", "contextUsage", "source",
		"preventContinuation", "promptSubmitEnding", "serverClassifierRequest", "queueSkipAttachments", "holdsPersonsWords",
		"toolDenialKind", "toolEndsTurn", "mcpCallNotReadOnly",
		"rendered", "renderedRole", "renderedInHumanTurn", "renderedBesideToolResult",
		"level", "cause", "retryInMs", "retryAttempt", "maxRetries",
		"microcompactMetadata", "durationMs", "messageCount", "pendingBackgroundAgentCount",
		"hookCount", "hookInfos", "hookErrors", "preventedContinuation", "stopReason", "hasOutput",
		"url", "originalModel", "fallbackModel",
		"summarizedTurnPromptUuids", "queueSkipSlashCommands", "queueTranscriptOnly":
	default:
		d.noteField(key)
	}
	d.Skip()
}

// noteField notes the key that was read last. It shares the line's memory if it can.
func (d *entryDecoder) noteField(key []byte) {
	if len(d.fields) == maxFindings {
		return
	}
	if at := d.Pos() - len(key) - len(`":`); at >= 0 && bytes.Equal(d.line[at:at+len(key)], key) {
		key = d.line[at : at+len(key)]
	} else {
		key = bytes.Clone(key)
	}
	d.fields = append(d.fields, key)
}

// survey notes what this package does not know of the entry that was read. It runs after the whole
// line was read, since the type may be its last member.
func (d *entryDecoder) survey() {
	e := d.e
	switch e.Type {
	case "user", "assistant":
		for _, kind := range d.blocks {
			e.notes(UnknownBlock, kind, false)
		}
	case "system":
		e.notes(UnknownSystem, e.Subtype, knownSubtype(e.Subtype))
	case "attachment":
		e.notes(UnknownAttachment, e.AttachmentType, knownAttachment(e.AttachmentType))
	case "progress":
		e.notes(UnknownProgress, e.DataType, knownProgress(e.DataType))
	default:
		e.notes(UnknownEntry, e.Type, knownType(e.Type))
		return
	}
	for _, field := range d.fields {
		e.notes(UnknownField, string(field), false)
	}
}

// notes records a name, unless it is known. A line with very many unknown names is not worth their
// memory.
func (e *Entry) notes(kind UnknownKind, name string, known bool) {
	if !known && len(e.Unknown) < maxFindings {
		e.Unknown = append(e.Unknown, Unknown{kind, name})
	}
}

// clone returns a copy with its own findings.
func (d *Drift) clone() Drift {
	c := Drift{version: d.version}
	if d.found != nil {
		c.found = make(map[driftKey]*Finding, len(d.found))
		for key, f := range d.found {
			finding := *f
			c.found[key] = &finding
		}
	}
	return c
}
