package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/recall"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/tools"
)

type mcpOptions struct {
	streams      Streams
	all, results bool
}

const mcpHelp = `Let an agent look up past sessions: an MCP server on stdin and stdout, for Claude Code and
other programs. It has three tools, and none of them changes anything:
  search    finds what was said about something
  read      reads the text around a search result
  sessions  lists sessions

To add it to Claude Code, with instructions for when to use it:
  claude plugin marketplace add clewdev/clew
  claude plugin install recall@clew
Or without these instructions:
  claude mcp add --scope user recall -- clew mcp

The tools look up the sessions of the current project, with those of other working
trees of its repository, and without the session that asks. They return what you typed,
and what the agent answered and called. Old sessions also have text that somebody else
wrote: pages, files, output of programs, messages of other agents. It could be written
to instruct the agent, so it is neither searched nor returned, unless you give
--results. Secrets are removed as with "clew export --redact", and so are terminal
escapes and invisible characters.

An answer comes from the index of "clew search", which is updated in the background. The
server ends when its input ends.`

func newMCP(s Streams) *cobra.Command {
	o := &mcpOptions{streams: s}
	cmd := &cobra.Command{
		Use: "mcp", Short: "Let an agent look up past sessions", Long: mcpHelp,
		Example: `  claude mcp add --scope user recall -- clew mcp
  claude mcp add --scope user recall -- clew mcp --all`,
		Args: clikit.AtMost(0), RunE: clikit.RunE(o.run),
	}
	clikit.AddOnOff(cmd, &o.all, "all", "let the agent look up all projects")
	clikit.AddOnOff(cmd, &o.results, "results", "let the agent look up results of tools, and other text that you did not write")
	return cmd
}

func (o *mcpOptions) run(ctx context.Context, _ []string) error {
	if clikit.IsTerminal(o.streams.In) {
		return clikit.UsageError("an agent runs this server; stdin is a terminal", `Run "clew mcp --help" to see how to add it to Claude Code.`)
	}
	index, err := view.IndexPath()
	if err != nil {
		return &clikit.Failure{Code: clikit.ExitInput, Err: errors.New(clikit.Printable(err.Error())), Hint: "Set HOME, or CLAUDE_CONFIG_DIR and XDG_CACHE_HOME."}
	}
	home, _ := os.UserHomeDir() // without one, there is no path to remove
	r := recall.New(recall.Options{
		Index: index, All: o.all, Results: o.results, Home: home, Dirs: askingDirs, Running: askingSessions,
	})
	defer r.Close()
	setGCPercent(recallGCPercent)
	about := &tools.ServeOptions{Name: "clew", Version: readBuild().Version}
	if err := tools.Serve(ctx, o.streams.In, o.streams.Out, about, o.tools(r)...); err != nil {
		if ctx.Err() != nil {
			return clikit.Stopped()
		}
		return clikit.OutputError(err)
	}
	return nil
}

// recallGCPercent is the garbage collection target percentage. Each agent session has such a
// server, so memory counts more than time.
const recallGCPercent = 25

// askingSessions returns the IDs of the sessions of the agent that started this server. It may have
// gone on to another session since, as after /clear.
func askingSessions(ctx context.Context) []string {
	list := []string{os.Getenv("CLAUDE_CODE_SESSION_ID")}
	running, _ := sessions.Running(ctx) // the ones that can be read
	for _, s := range running {
		if s.PID == os.Getppid() {
			list = append(list, s.ID)
		}
	}
	return list
}

// askingDirs returns the directory that the agent works in: Claude Code names it in the environment,
// and else it is the working directory. The roots of MCP are not asked for: they are deprecated.
func askingDirs(context.Context) []string {
	return []string{cmp.Or(os.Getenv("CLAUDE_PROJECT_DIR"), ".")}
}

// Inputs for the tools. Descriptions are short: the model reads them in every session.
type (
	recallSearch struct {
		Query   string `json:"query" jsonschema:"a question, or words that the text may have"`
		Project string `json:"project,omitempty" jsonschema:"empty: all projects; .: this one; or a name"`
		Since   string `json:"since,omitempty" jsonschema:"a day such as 2026-11-01, or an age such as 7d"`
		In      string `json:"in,omitempty" jsonschema:"what to search; default said: prompts and answers"`
		Limit   int    `json:"limit,omitempty" jsonschema:"default 8, at most 20"`
	}
	recallRead struct {
		Ref       string `json:"ref" jsonschema:"from search or sessions"`
		Before    int    `json:"before,omitempty" jsonschema:"texts before it, default 0"`
		After     int    `json:"after,omitempty" jsonschema:"texts after it, default 4"`
		MaxTokens int    `json:"max_tokens,omitempty" jsonschema:"default 1500, at most 6000"`
		Results   bool   `json:"results,omitempty" jsonschema:"whole tool results, not their first lines"`
	}
	recallSessions struct {
		Project string `json:"project,omitempty" jsonschema:"empty: all projects; .: this one; or a name"`
		Since   string `json:"since,omitempty" jsonschema:"a day such as 2026-11-01, or an age such as 7d"`
		Limit   int    `json:"limit,omitempty" jsonschema:"default 10, at most 30"`
	}
)

// tools returns the tools of the server.
func (o *mcpOptions) tools(r *recall.Recall) []*tools.Tool {
	search := tools.New("search", "Search past sessions of this project for what the user and the agent said: decisions, causes, fixes, commands. "+
		"Returns the best excerpts with refs for read.",
		func(ctx context.Context, in recallSearch) (string, error) {
			since, err := recallTime(in.Since)
			if err != nil {
				return "", err
			}
			req := recall.SearchRequest{Query: in.Query, Project: o.project(in.Project), Since: since, In: in.In, Limit: in.Limit}
			return r.Search(ctx, req, func(done, total int64) {
				tools.Progress(ctx, float64(done), float64(total), "reading transcripts for the index")
			})
		})
	read := tools.New("read", "Read a past session at a ref: the whole text, and those after it.",
		func(ctx context.Context, in recallRead) (string, error) {
			return r.Read(ctx, recall.ReadRequest(in))
		})
	list := tools.New("sessions", "List past sessions, the newest first: first prompt, turns, changed files, cost.",
		func(ctx context.Context, in recallSessions) (string, error) {
			since, err := recallTime(in.Since)
			if err != nil {
				return "", err
			}
			return r.Sessions(ctx, recall.SessionsRequest{Project: o.project(in.Project), Since: since, Limit: in.Limit})
		})
	all := []*tools.Tool{search.SearchHint("memory history past earlier session recall remember"), read, list}
	for _, tool := range all {
		tool.ReadOnly().Destructive(false).Idempotent().OpenWorld(false).Refine(o.refine)
	}
	return all
}

// project returns the project of a request: with --all, all projects unless the request names one.
// Without --all, requests have no such field.
func (o *mcpOptions) project(name string) string {
	switch {
	case !o.all || name == ".":
		return ""
	case name == "":
		return recall.EveryProject
	}
	return name
}

// refine removes the features that the server was not started with from a tool's schema.
func (o *mcpOptions) refine(schema *jsonschema.Schema) {
	if !o.all {
		delete(schema.Properties, "project")
	}
	if !o.results {
		delete(schema.Properties, "results")
	}
	if in := schema.Properties["in"]; in != nil {
		in.Enum = []any{recall.InSaid, recall.InCalls}
		if o.results {
			in.Enum = append(in.Enum, recall.InResults)
		}
	}
}

// recallTime returns the time of a since, or the zero time for "".
func recallTime(text string) (time.Time, error) {
	at, err := clikit.ParseTime("since", strings.TrimSpace(text), time.Now(), false)
	if err != nil {
		return at, fmt.Errorf("since must be a day such as 2026-11-01 or yesterday, or an age such as 36h, 7d or 2w, not %s", clikit.Printable(text))
	}
	return at, nil
}
