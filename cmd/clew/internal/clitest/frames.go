package clitest

import (
	"fmt"
	"strings"
	"time"
)

// SessionID is the ID of the session in these frames.
const SessionID = "5e7b0a4c-1d2f-4e3a-8b9c-0d1e2f3a4b5c"

// Delta returns an event that is a frame by itself, with these members after its type.
func Delta(members string) string { return `{"type":"content_block_delta","index":0` + members + "}\n" }

// TextDelta returns an event with a piece of a text, in JSON without quotes.
func TextDelta(text string) string {
	return Delta(`,"delta":{"type":"text_delta","text":"` + text + `"}`)
}

// Framed returns an event in a separate frame.
func Framed(event string) string {
	return `{"type":"stream_event","event":` + strings.TrimSpace(event) + `,"session_id":"s","uuid":"e"}` + "\n"
}

// A Step is a message of an agent that works, and the time before it.
type Step struct {
	After time.Duration
	Frame string
}

// Turn is a turn with texts, tools, a failure, a subagent and a change, which the user is asked about.
var Turn = []Step{
	{time.Second, SaidFrame("", `{"type":"text","text":"I'll run the **tests** first:\n\n1. all of them\n2. then the one that fails, which takes longer than the others"}`)},
	{0, SaidFrame("", ToolBlock("t1", "Bash", `{"command":"go test -run TestUpload -count=20 ./upload","description":"Run the tests"}`))},
	{4100 * time.Millisecond, ReturnedFrame("", "t1", true, "--- FAIL: TestUpload (0.01s)\\n    dial tcp 127.0.0.1:9000: connection refused\\nFAIL\\nexit status 1\\n", "null")},
	{time.Second, SaidFrame("", ToolBlock("t2", "Agent", `{"description":"Find other races","subagent_type":"Explore","prompt":"Look."}`))},
	{time.Second, SaidFrame("t2", ToolBlock("t3", "Read", `{"file_path":"/repo/upload/client.go"}`))},
	{100 * time.Millisecond, ReturnedFrame("t2", "t3", false, "package upload", "null")},
	{time.Second, SaidFrame("t2", ToolBlock("t4", "Grep", `{"pattern":"go func","path":"/repo/upload"}`))},
	{200 * time.Millisecond, ReturnedFrame("t2", "t4", false, "", "null")},
	{time.Second, ReturnedFrame("", "t2", false, "There are none.", "null")},
	{time.Second, SaidFrame("", ToolBlock("t5", "Edit", Edit))},
	{61 * time.Second, ReturnedFrame("", "t5", false, "Updated.", `{"filePath":"/repo/upload/server.go","oldString":"x","newString":"y",`+
		`"structuredPatch":[{"oldStart":2,"oldLines":1,"newStart":2,"newLines":2,"lines":["-\tgo s.serve()","+\tln, err := net.Listen(\"tcp\", s.addr)","+\tgo s.serve(ln)"]}]}`)},
	{0, SaidFrame("", ToolBlock("t6", "Bash", `{"command":"rm -rf \u001b[2J /srv"}`)+","+ToolBlock("t7", "mcp__tracker__close_issue", `{"issue":17}`))},
	{300 * time.Millisecond, ReturnedFrame("", "t7", false, "closed", "null")},
	{time.Second, SaidFrame("", `{"type":"text","text":"Fixed: the listener is up before the first request."}`)},
	{0, `{"type":"result","subtype":"success","result":"Fixed: the listener is up before the first request.","duration_ms":73700,` +
		`"total_cost_usd":0.1234,"usage":{"input_tokens":1400,"cache_read_input_tokens":20000},"session_id":"` + SessionID + `","uuid":"r"}`},
}

// Edit is the input of the change in [Turn].
const Edit = `{"file_path":"/repo/upload/server.go","old_string":"\tgo s.serve()","new_string":"\tln, err := net.Listen(\"tcp\", s.addr)\n\tgo s.serve(ln)"}`

// EditedFile is the file that it changes.
const EditedFile = "func (s *Server) Start() error {\n\tgo s.serve()\n\treturn nil\n}\n"

// ToolBlock returns a tool call with this input, a JSON object.
func ToolBlock(id, name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
}

// SaidFrame returns a message from the model, or from the subagent that a call started.
func SaidFrame(parent, blocks string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"content":[%s]},"parent_tool_use_id":%q,"session_id":%q,"uuid":"a"}`,
		blocks, parent, SessionID)
}

// ReturnedFrame returns a call's result. Its text is in JSON, without quotes.
func ReturnedFrame(parent, id string, failed bool, text, structured string) string {
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"is_error":%t,"content":"%s"}]},`+
		`"parent_tool_use_id":%q,"tool_use_result":%s,"session_id":%q,"uuid":"u"}`, id, failed, text, parent, structured, SessionID)
}
