package tools_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/tools"
)

// dot is a picture of one red pixel.
const dot = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
	"\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"

// What the model gets of a result.
func TestRealContent(t *testing.T) {
	t.Parallel()
	structured := tools.NewResult(tools.Text("hidden"), tools.Image("image/png", []byte(dot)))
	structured.StructuredContent = map[string]int{"n": 1}
	contents := map[string]struct {
		result *tools.Result
		want   string // a pattern for the result as the model gets it
	}{
		"text":  {tools.NewResult(tools.Text("a"), tools.Text("b")), `"text":"a"}.*"text":"b"}`},
		"image": {tools.NewResult(tools.Image("image/png", []byte(dot))), `"type":"image".*"media_type":"image/png"`},
		"audio": {tools.NewResult(tools.Audio("audio/wav", []byte("RIFF"))),
			`\[Audio from own\] Binary content \(audio/wav, 4 bytes\) saved to `},
		"link": {tools.NewResult(tools.Link("file:///x", "the x")), `\[Resource link: the x\] file:///x`},
		"text resource": {tools.NewResult(tools.TextResource("file:///x", "text/plain", "inside")),
			`\[Resource from own at file:///x\] inside`},
		"binary resource": {tools.NewResult(tools.BlobResource("file:///x", "application/zip", []byte("bytes"))),
			`\[Resource from own at file:///x\] Binary content \(application/zip, 5 bytes\) saved to `},
		"picture as a resource": {tools.NewResult(tools.BlobResource("file:///x.png", "image/png", []byte(dot))),
			`"type":"image"`},
		"structured": {structured, `"type":"image".*{\\"n\\":1}`},
		"nothing":    {tools.NewResult(), `completed with no output`},
		"failure":    {tools.Failure("not today"), `not today.*"is_error":true`},
	}
	get := tools.New("get", "", func(_ context.Context, in struct{ Kind string }) (*tools.Result, error) {
		return contents[in.Kind].result, nil
	})
	st := connect(t, tools.Server(get))
	for kind, content := range contents {
		got := st.use(t, "get", map[string]string{"Kind": kind}).Raw()
		if !regexp.MustCompile(`(?s)`+content.want).MatchString(got) || strings.Contains(got, "hidden") {
			t.Errorf("%s: the model gets %s", kind, got)
		}
	}
}

// A long result goes to a file, unless the tool asks for more room.
func TestRealLongResults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 20_000)
	write := func(context.Context, any) (string, error) { return long, nil }
	st := connect(t, tools.Server(tools.New("plain", "", write), tools.New("roomy", "", write).MaxResultChars(400_000)))
	if got := st.use(t, "plain", nil).Text(); strings.Contains(got, long) || !strings.Contains(got, "saved to") {
		t.Errorf("the model gets %d characters: %.200s", len(got), got)
	}
	if got := st.use(t, "roomy", nil).Text(); got != long {
		t.Errorf("the model gets %d characters: %.200s", len(got), got)
	}
}

// A server of the SDK has resources besides its tools, and passes its results on as they are. The agent does not ask
// for its prompts.
func TestRealMount(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, nil)
	server.AddResource(&mcp.Resource{URI: "book:one", Name: "one", MIMEType: "text/plain"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "book:one", Text: "Once upon a time"}}}, nil
		})
	server.AddPrompt(&mcp.Prompt{Name: "read", Description: "Reads a book"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return new(mcp.GetPromptResult), nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "lend"},
		func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, sum, error) {
			return nil, sum{in.B, in.A}, nil
		})
	st := connect(t, tools.Mount(server))
	wantText(t, st.use(t, "lend", sum{1, 2}), `{"a":2,"b":1}`, false)
	results := st.uses(t, clewtest.ToolUse("ReadMcpResourceTool", map[string]string{"server": "own", "uri": "book:one"}))
	wantText(t, results[0], "Once upon a time", false)
	results = st.uses(t, clewtest.ToolUse("ListMcpResourcesTool", map[string]string{"server": "own"}))
	wantText(t, results[0], "book:one", false)
	if st.record.asked("prompts/list") > 0 {
		t.Error("the agent uses prompts: let the documentation of package tools say so")
	}
}
