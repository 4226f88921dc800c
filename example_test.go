package clew_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

func ExampleQuery() {
	opts := &clew.Options{Transport: simulated("It reads mail.")} // without a transport, Claude Code is started
	for msg, err := range clew.Query(context.Background(), "What does this program do?", opts) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch m := msg.(type) {
		case *clew.AssistantMessage:
			fmt.Println(m.Content.Text())
		case *clew.ResultMessage:
			fmt.Println("turns:", m.NumTurns)
		}
	}
	// Output:
	// It reads mail.
	// turns: 1
}

// A sequence of prompts is sent as it comes, to one agent.
func ExampleQuery_sequence() {
	prompts := slices.Values([]*clew.UserMessage{
		clew.Text("Name a bird."),
		clew.Text("And a fish."),
	})
	opts := &clew.Options{Transport: simulated("The wren.", "The pike.")}
	for msg, err := range clew.Query(context.Background(), prompts, opts) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if result, ok := msg.(*clew.ResultMessage); ok {
			fmt.Println(result.Result)
		}
	}
	// Output:
	// The wren.
	// The pike.
}

func ExampleRun() {
	opts := &clew.Options{
		Tools:     []string{"Read", "Grep"},
		Limits:    clew.Limits{MaxTurns: 10},
		Transport: simulated("There are three."),
	}
	result, err := clew.Run(context.Background(), "How many tests fail?", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output: There are three.
}

// A session, or a pool, takes the place of options.
func ExampleRun_session() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated("The wren.", "In the hedge.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, prompt := range []string{"Name a bird.", "Where does it live?"} {
		result, err := clew.Run(ctx, prompt, s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Result)
	}
	// Output:
	// The wren.
	// In the hedge.
}

// A server that passes on other people's prompts restricts what the agent may do.
func ExampleOptions_server() {
	opts := &clew.Options{
		Tools:           []string{"Read", "Grep"},   // nil means all: files, commands, the network
		PermissionMode:  clew.PermissionModeDontAsk, // empty means auto mode, in which a model decides
		VerbatimPrompts: true,                       // without it "/compact" is a command, and "@file" a file
		Settings: clew.SettingsOptions{
			Sources: []clew.SettingSource{}, // nil means the user's and the directory's settings as well
		},
		Limits: clew.Limits{
			Budget:       &clew.Budget{LimitUSD: 20}, // for all runs with these options together
			MaxBudgetUSD: 0.5,                        // for each of them
		},
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run := *opts
		run.Transport = simulated("It is a library.")
		result, err := clew.Run(r.Context(), r.FormValue("prompt"), &run)
		switch {
		case errors.Is(err, clew.ErrBudgetSpent):
			http.Error(w, "come back tomorrow", http.StatusTooManyRequests)
		case err != nil:
			http.Error(w, "no answer", http.StatusBadGateway)
		default:
			_, _ = fmt.Fprintln(w, result.Result)
		}
	})
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/?prompt=/clear", nil))
	fmt.Println(answer.Code, answer.Body)
	// Output: 200 It is a library.
}

// Runs that share a budget stop when it is spent.
func ExampleBudget() {
	budget := &clew.Budget{LimitUSD: 0.02}
	for _, task := range []string{"Sum up the first report.", "And the second.", "And the third."} {
		opts := &clew.Options{Limits: clew.Limits{Budget: budget}, Transport: simulated("Done.")} // each answer costs one cent
		result, err := clew.Run(context.Background(), task, opts)
		if errors.Is(err, clew.ErrBudgetSpent) {
			fmt.Println(err)
			break
		} else if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Result)
	}
	// Output:
	// Done.
	// Done.
	// clew: the budget is spent: $0.0200 of $0.0200
}

func ExampleRunAs() {
	type city struct {
		Name   string `json:"name"`
		People int    `json:"people" jsonschema:"inhabitants, in whole numbers"`
	}
	opts := &clew.Options{Transport: simulated(`{"name":"Turku","people":206000}`)}
	answer, _, err := clew.RunAs[city](context.Background(), "Which city was the capital of Finland before Helsinki?", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Name, answer.People)
	// Output: Turku 206000
}

// The turns of a session, and the runs of a pool, are answered in the form of the schema that the
// agent was started with.
func ExampleRunAs_session() {
	type city struct {
		Name string `json:"name"`
	}
	schema, err := clew.SchemaFor[city]()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{
		OutputSchema: schema,
		Transport:    simulated(`{"name":"Turku"}`, `{"name":"Helsinki"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, prompt := range []string{"The old capital of Finland?", "And now?"} {
		answer, _, err := clew.RunAs[city](ctx, prompt, s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answer.Name)
	}
	// Output:
	// Turku
	// Helsinki
}

// A function adds constraints that a Go type can't express: here the values of a field.
func ExampleSchemaFor() {
	type ticket struct {
		Title    string `json:"title" jsonschema:"a few words"`
		Priority string `json:"priority"`
	}
	schema, err := clew.SchemaFor[ticket](func(schema *jsonschema.Schema) {
		schema.Properties["priority"].Enum = []any{"low", "high"}
	})
	if err != nil {
		log.Fatal(err)
	}
	opts := &clew.Options{
		OutputSchema: schema,
		Transport:    simulated(`{"title":"The lights are out","priority":"high"}`),
	}
	answer, _, err := clew.RunAs[ticket](context.Background(), "It is dark in here.", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Priority, answer.Title)
	// Output: high The lights are out
}

func ExampleConnect() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated("The wren.", "In the hedge.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, prompt := range []string{"Name a bird.", "Where does it live?"} {
		for msg, err := range s.Turn(ctx, clew.Text(prompt)) {
			if err != nil {
				fmt.Println(err)
				return
			}
			if m, ok := msg.(*clew.AssistantMessage); ok {
				fmt.Println(m.Content.Text())
			}
		}
	}
	// Output:
	// The wren.
	// In the hedge.
}

// Prompts can be sent while an answer is awaited. The result names the prompt it answers.
func ExampleSession_Send() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated("The wren.", "The pike.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	var ids []string
	for _, prompt := range []string{"Name a bird.", "Name a fish."} {
		id, err := s.Send(ctx, clew.Text(prompt))
		if err != nil {
			fmt.Println(err)
			return
		}
		ids = append(ids, id)
	}
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		result, ok := msg.(*clew.ResultMessage)
		if !ok {
			continue
		}
		n := slices.Index(ids, result.UserMessageUUID) + 1
		fmt.Printf("answer %d: %s\n", n, result.Result)
		if n == len(ids) {
			return
		}
	}
	// Output:
	// answer 1: The wren.
	// answer 2: The pike.
}

// A turn that fails is a result first and an error second, and the session lives on.
func ExampleResultError() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated("error: the model is overloaded", "The wren.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for range 2 {
		for msg, err := range s.Turn(ctx, clew.Text("Name a bird.")) {
			if failed, ok := errors.AsType[*clew.ResultError](err); ok {
				fmt.Println("failed:", failed.Text())
			}
			if m, ok := msg.(*clew.AssistantMessage); ok {
				fmt.Println(m.Content.Text())
			}
		}
	}
	// Output:
	// failed: the model is overloaded
	// The wren.
}

// Options are checked before anything starts.
func ExampleOptionsError() {
	_, err := clew.Connect(context.Background(), &clew.Options{Session: clew.SessionOptions{Continue: true, Resume: "5f2c"}})
	if wrong, ok := errors.AsType[*clew.OptionsError](err); ok {
		fmt.Println(wrong.Option)
	}
	// Output: Session.Continue
}

// The agent runs on another machine: ssh is started in its place, and starts it there.
func ExampleProcessTransport() {
	_ = &clew.Options{Transport: &clew.ProcessTransport{Wrap: func(launch *clew.Launch) error {
		command := "claude"
		for _, arg := range launch.Args {
			command += " '" + strings.ReplaceAll(arg, "'", `'\''`) + "'" // a shell reads it there
		}
		launch.Path, launch.Args = "/usr/bin/ssh", []string{"build.example.com", command}
		return nil
	}}}
}

// A server keeps two agents ready. Each caller gets one at once, and no caller sees the
// conversation of another.
func ExampleNewPool() {
	ctx := context.Background()
	opts := &clew.Options{Transport: simulated("The wren.")}
	pool, err := clew.NewPool(ctx, opts, &clew.PoolOptions{Warm: 2, MaxAgents: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	for range 3 {
		result, err := clew.Run(ctx, "Name a bird.", pool)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Result)
	}
	fmt.Println("callers:", pool.Stats().Served)
	// Output:
	// The wren.
	// The wren.
	// The wren.
	// callers: 3
}

// A conversation of several turns takes an agent of the pool until its session is closed.
func ExamplePool_Connect() {
	ctx := context.Background()
	pool, err := clew.NewPool(ctx, &clew.Options{Transport: simulated("The wren.", "In the hedge.")}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	s, err := pool.Connect(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, prompt := range []string{"Name a bird.", "Where does it live?"} {
		for msg, err := range s.Turn(ctx, clew.Text(prompt)) {
			if err != nil {
				fmt.Println(err)
				return
			}
			if result, ok := msg.(*clew.ResultMessage); ok {
				fmt.Println(result.Result)
			}
		}
	}
	// Output:
	// The wren.
	// In the hedge.
}

// The agent dies at the second prompt. The session continues with another one, and the program
// decides about the prompt that was lost.
func ExampleReconnectOptions() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{
		Reconnect: &clew.ReconnectOptions{MaxAttempts: 3},
		Transport: simulated("The wren."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, prompt := range []string{"Name a bird.", "Name another.", "Name another, please."} {
		for msg, err := range s.Turn(ctx, clew.Text(prompt)) {
			if _, lost := errors.AsType[*clew.LostError](err); lost {
				fmt.Println("lost:", prompt)
			}
			if result, ok := msg.(*clew.ResultMessage); ok {
				fmt.Println(result.Result)
			}
		}
	}
	// Output:
	// The wren.
	// lost: Name another.
	// The wren.
}

// The session is copied to a store, from which another machine can resume it.
func ExampleOptions_store() {
	ctx := context.Background()
	store := sessions.NewMemory() // see also sessions.Folder and the packages below sessions
	opts := &clew.Options{Store: clew.StoreOptions{Store: store}, Transport: simulated("saves The wren.")}
	if _, err := clew.Run(ctx, "Name a bird.", opts); err != nil {
		fmt.Println(err)
		return
	}
	key := wire.SessionKey{Project: "-home-dev-shop", SessionID: "5f2c"}
	for entry, err := range store.Load(ctx, key) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(entry)
	}
	// Output: {"type":"assistant","uuid":"e1","message":{"content":"The wren."}}
}

// A transport is asked for each agent, and gets the command line that Claude Code would have. This
// one prints it and uses another transport.
func ExampleTransport() {
	agents := simulated("The wren.")
	printing := clew.TransportFunc(func(ctx context.Context, launch *clew.Launch) (clew.Connection, error) {
		fmt.Println("start an agent in", launch.Dir, "with", launch.Args[len(launch.Args)-1])
		return agents.Connect(ctx, launch)
	})
	opts := &clew.Options{Dir: "/srv/shop", Limits: clew.Limits{MaxTurns: 3}, Transport: printing}
	result, err := clew.Run(context.Background(), "Name a bird.", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output:
	// start an agent in /srv/shop with --max-turns=3
	// The wren.
}

// The turn that is interrupted ends with a failure marked as an interruption.
func ExampleSession_Interrupt() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated(countsOn)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for msg, err := range s.Turn(ctx, clew.Text("Count to a million.")) {
		if failed, ok := errors.AsType[*clew.ResultError](err); ok {
			fmt.Println("interrupted:", failed.Interrupted())
		}
		if _, ok := msg.(*clew.AssistantMessage); ok {
			if _, err := s.Interrupt(ctx, nil); err != nil {
				fmt.Println(err)
			}
		}
	}
	// Output: interrupted: true
}

// Package screens has the contents of the agent's own screens, such as the use of the context
// window.
func Example_contextWindow() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	window, err := screens.Context(ctx, s, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d of %d tokens\n", window.TotalTokens, window.MaxTokens)
	// Output: 18000 of 200000 tokens
}

// A copy of an earlier session continues where the original ended.
func ExampleOptions_resume() {
	opts := &clew.Options{Session: clew.SessionOptions{Resume: "0d4e6c1c-5f3b-4a52-9f3e-2f3ad4c1b7aa", Fork: true}}
	_, flags, _ := strings.Cut(opts.CommandLine(), "--input-format=stream-json ")
	fmt.Println(flags)
	// Output: --resume=0d4e6c1c-5f3b-4a52-9f3e-2f3ad4c1b7aa --fork-session
}

// The dialogue is recorded, for a test that plays it again without an agent.
func ExampleOptions_record() {
	var dialogue strings.Builder
	opts := &clew.Options{Debug: clew.DebugOptions{Record: &dialogue}, Transport: simulated("The wren.")}
	if _, err := clew.Run(context.Background(), "Name a bird.", opts); err != nil {
		fmt.Println(err)
		return
	}
	sent, received := strings.Count(dialogue.String(), "\n> "), strings.Count(dialogue.String(), "\n< ")
	fmt.Println(sent, "frames to the agent,", received, "from it")
	// Output: 2 frames to the agent, 3 from it
}

// An agent that falls silent in the middle of a turn is given up.
func ExampleOptions_watchdog() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Limits: clew.Limits{IdleTimeout: 20 * time.Millisecond}, Transport: simulated(hangs)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, err := range s.Turn(ctx, clew.Text("Name a bird.")) {
		if errors.Is(err, clew.ErrIdle) {
			fmt.Println("no word for too long")
		}
	}
	// Output: no word for too long
}

// Print the newest session of this machine, with its cost.
func Example_readBack() {
	ctx := context.Background()
	list, err := sessions.List(ctx, &sessions.ListOptions{Limit: 1})
	if err != nil || len(list) == 0 {
		log.Fatal("no session: ", err)
	}
	t, err := sessions.Read(ctx, list[0].ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, chunk := range t.Chunks {
		fmt.Println(chunk.Type, transcript.Truncate(chunk.Text, 80))
	}
	costs := usage.Cost(t.Calls(), usage.DefaultPrices())
	fmt.Println(transcript.Truncate(list[0].Title(), 80), costs.Total)
}

// Show a text of several lines without what a terminal would obey.
func Example_escape() {
	chunk := transcript.Chunk{Text: "One\x1b[2J\n\tTwo"}
	shown := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return '\uFFFD'
	}, chunk.Text)
	fmt.Println(shown)
	// Output:
	// One�[2J
	// 	Two
}

// A hook keeps the agent from deleting things, in every permission mode.
func ExampleOptions_hooks() {
	guard := func(_ context.Context, in hook.Input) (*hook.Output, error) {
		use, ok := in.(*hook.PreToolUseInput)
		if !ok || !strings.Contains(string(use.ToolInput), "rm -") {
			return nil, nil
		}
		return &hook.Output{Specific: &hook.PreToolUseOutput{
			Decision: permission.BehaviorDeny,
			Reason:   "Nothing is deleted here.",
		}}, nil
	}
	result, err := clew.Run(context.Background(), "Tidy up.", &clew.Options{
		Hooks: map[hook.Event][]hook.Matcher{
			hook.PreToolUse: {{
				Matcher:   "Bash",
				Hooks:     []hook.Func{guard},
				OnFailure: hook.FailureBlock,
			}},
		},
		Transport: simulated(asksToDelete),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output: answer: deny, Nothing is deleted here.
}
