package tools_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/tools"
)

// A tool gets the model's arguments, and the model reads every failure. The handshake was done
// before the agent was greeted, and the agent asks for none.
func TestRealTool(t *testing.T) {
	t.Parallel()
	breaks := tools.New("break", "", func(context.Context, any) (string, error) { panic("out of order") })
	fails := tools.New("fail", "", func(context.Context, any) (string, error) { return "", errors.New("no idea") })
	st := connect(t, tools.Server(adder("add"), breaks, fails))
	if diff := cmp.Diff(map[string]string{"own": "parked"}, st.Info().SDKMCPManifestsParked); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	wantText(t, st.use(t, "add", sum{1, 2}), "3", false)
	wantText(t, st.use(t, "add", map[string]any{"a": "one"}), "the input does not fit the schema", true)
	wantText(t, st.use(t, "break", nil), "panic in tool break: out of order", true)
	wantText(t, st.use(t, "fail", nil), "no idea", true)
	wantText(t, st.use(t, "add", sum{2, 2}), "4", false)
	for _, method := range []string{"initialize", "notifications/initialized", "tools/list"} {
		if n := st.record.asked(method); n != 0 {
			t.Errorf("the agent has sent %s %d times", method, n)
		}
	}
	if n := st.record.asked("tools/call"); n != 5 {
		t.Errorf("the agent has sent tools/call %d times", n)
	}
}

// An interrupt ends the context of the tool that runs, and the session continues.
func TestRealToolInterrupted(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan error, 1)
	wait := tools.New("wait", "", func(ctx context.Context, _ any) (string, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	})
	st := connect(t, tools.Server(wait, adder("add")))
	st.model.On("Wait").Reply(clewtest.ToolUse("mcp__own__wait", nil))
	go func() {
		<-begun
		if _, err := st.Interrupt(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}()
	var failure error
	for _, err := range st.Turn(t.Context(), clew.Text("Wait")) {
		failure = err
	}
	if result, ok := errors.AsType[*clew.ResultError](failure); !ok || !result.Interrupted() {
		t.Errorf("the turn ended with %v", failure)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the tool's context ended with %v", err)
	}
	wantText(t, st.use(t, "add", sum{2, 2}), "4", false)
}

// Tools that only read run at the same time, and the agent takes what they say of their progress.
func TestRealToolsAtOnce(t *testing.T) {
	t.Parallel()
	together := make(chan struct{})
	meet := tools.New("meet", "", func(ctx context.Context, _ any) (string, error) {
		tools.Progress(ctx, 1, 2, "waiting")
		select {
		case together <- struct{}{}:
		case <-together:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		tools.Progress(ctx, 2, 2, "met")
		return "met", nil
	}).ReadOnly()
	st := connect(t, tools.Server(meet))
	results := st.uses(t, clewtest.ToolUse("mcp__own__meet", nil), clewtest.ToolUse("mcp__own__meet", nil))
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	for _, result := range results {
		wantText(t, result, "met", false)
	}
}

// One server serves two sessions, and a tool that comes later reaches both.
func TestRealServerOfTwoSessions(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	if err := tools.Add(server, adder("add")); err != nil {
		t.Fatal(err)
	}
	mounted := tools.Mount(server)
	stages := []*stage{connect(t, mounted), connect(t, mounted)}
	for _, st := range stages {
		wantText(t, st.use(t, "add", sum{2, 2}), "4", false)
	}
	if err := tools.Add(server, adder("plus")); err != nil {
		t.Fatal(err)
	}
	for _, st := range stages {
		st.waitForTool(t, "plus")
		wantText(t, st.use(t, "plus", sum{2, 3}), "5", false)
	}
}

// waitForTool waits until the agent knows a tool of the server "own".
func (st *stage) waitForTool(t *testing.T, name string) {
	t.Helper()
	for t.Context().Err() == nil {
		servers, err := st.MCPStatus(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range servers[0].Tools {
			if tool.Name == name {
				return
			}
		}
	}
}

// The agent itself greets servers that come later, and uses a replacement server at once.
func TestRealServersSetLater(t *testing.T) {
	t.Parallel()
	st := connect(t, tools.Server(adder("add")))
	set := func(servers map[string]clew.MCPServer) {
		if _, err := st.SetMCPServers(t.Context(), servers); err != nil {
			t.Fatal(err)
		}
	}
	next := tools.Server(adder("plus"))
	set(map[string]clew.MCPServer{"own": next})
	st.waitForTool(t, "plus")
	wantText(t, st.use(t, "plus", sum{2, 3}), "5", false)
	set(map[string]clew.MCPServer{"own": next, "other": tools.Server(adder("add"))})
	results := st.uses(t, clewtest.ToolUse("mcp__other__add", sum{3, 3}))
	wantText(t, results[0], "6", false)
	wantText(t, st.use(t, "plus", sum{2, 5}), "7", false)
}

// A tool can replace the server that it belongs to.
func TestRealServerSetByItsTool(t *testing.T) {
	t.Parallel()
	var s *clew.Session
	upgrade := tools.New("upgrade", "", func(ctx context.Context, _ any) (string, error) {
		_, err := s.SetMCPServers(ctx, map[string]clew.MCPServer{"own": tools.Server(adder("plus"))})
		if err != nil {
			t.Error(err)
		}
		return "", err
	})
	st := connect(t, tools.Server(upgrade))
	s = st.Session
	st.use(t, "upgrade", nil)
	st.waitForTool(t, "plus")
	wantText(t, st.use(t, "plus", sum{2, 3}), "5", false)
}

// A tool that is always loaded is in the model's request from the start; others are found on
// request.
func TestRealAlwaysLoad(t *testing.T) {
	t.Parallel()
	st := connect(t, tools.Server(adder("here").AlwaysLoad(), adder("there").SearchHint("sums")))
	wantText(t, st.use(t, "here", sum{2, 2}), "4", false)
	var names []string
	for _, tool := range st.model.Requests()[0].Tools {
		if strings.HasPrefix(tool.Name, "mcp__own__") {
			names = append(names, tool.Name)
		}
	}
	if diff := cmp.Diff([]string{"mcp__own__here"}, names); diff != "" {
		t.Errorf("tools in the request (-want +got):\n%s", diff)
	}
}

// The agent has the name for a tool that the tool says.
func TestRealToolName(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"own", "my own.2-x_y"} {
		tool := adder("plus.one-x_y").AlwaysLoad()
		model := clewtest.NewModel(t).Reply("Done.")
		result, err := clew.Run(t.Context(), "Go", scene.Options(t, model, &clew.Options{
			MCPServers: map[string]clew.MCPServer{server: tools.Server(tool)},
		}))
		if err != nil {
			t.Fatalf("%v, %v", result, err)
		}
		var names []string
		for _, tool := range model.Requests()[0].Tools {
			names = append(names, tool.Name)
		}
		if !slices.Contains(names, tool.Name(server)) {
			t.Errorf("the agent does not know %s, but %q", tool.Name(server), names)
		}
	}
}

// dot is a picture of one red pixel.
const dot = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
	"\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"

// The parts of a result that the model gets.
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

// A server of the SDK has resources as well as tools, and passes its results on as they are. The
// agent does not ask for its prompts.
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
