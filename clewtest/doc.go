// Package clewtest tests programs that drive Claude Code, without network, key or cost, and with
// the same outcome every time. It can replace either side of the agent:
//
//   - A [Model] replaces the API. The agent is the real one, and so are its tools, permissions,
//     hooks and transcripts; only the answers of the model are scripted. Use it to test that a
//     program and Claude Code work together.
//   - An [Agent] replaces Claude Code itself. It plays a dialogue, needs no binary, and can do
//     things that a real agent hardly ever does: exit in the middle of an answer, hang, write
//     garbage. Use it to test how a program handles them.
//
// Both work for any program, in any language, and whether or not it uses other packages of this
// module: a program reaches a model through its environment, and a simulated agent can be a
// process.
//
// # The scripted model
//
// A model is a server on the loopback interface that ends with its test. Its rules match the newest
// turn of the conversation, and supply the model's answers:
//
//	func TestReview(t *testing.T) {
//		model := clewtest.NewModel(t)
//		model.On("spelled right").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "cat *.txt"}))
//		model.OnToolResult("No such file").Reply(clewtest.Text("There is nothing to read."))
//
//		cmd := exec.CommandContext(t.Context(), clewtest.RealAgent(t), "-p", "Is it spelled right?")
//		cmd.Env = model.Env()
//		cmd.Dir = t.TempDir()
//		...
//	}
//
// The first rule that matches answers. [Rule.Once] and [Rule.Times] limit how many requests a rule
// answers, so that several rules for the same words make a sequence. [Model.Reply] answers
// everything else. Without it, a request that no rule matches fails the test, and the failure
// quotes the request. A rule can also fail ([Rule.Fail]), cut the connection ([Rule.Cut]), never
// answer ([Rule.Hang]) and answer slowly ([Rule.Delay], [Rule.Pace]). [Model.Requests] returns what
// the agent sent.
//
// [Model.Env] is the environment to start the program in. It keeps the settings, the credentials
// and the home of the user who runs the test away from the agent, and the agent away from the
// network. Also start the program in an empty directory: the agent reads CLAUDE.md in all
// directories above its own.
//
// The agent repeats a request that failed for a reason that may pass, ten times and more and more
// slowly. Append a limit such as CLAUDE_CODE_MAX_RETRIES=2 to the environment if a test is about
// such a failure.
//
// # Requests in the background
//
// Claude Code also asks the model on its own behalf. Version 2.1.326, with the environment of a
// model, does so when its host asks for a title for the session, when its host sets another model,
// and for the tool WebSearch. With other settings it checks that the server is there, and that a
// key works. A model answers these requests harmlessly: they neither match [Model.On],
// [Model.OnToolResult] and [Model.Reply] nor count for their limits. They are logged and don't fail
// the test; see [Request.Background]. A [Model.When] rule can answer them differently.
//
// The rules apply to every request of the conversation, including requests that nobody typed: the
// prompts of subagents, the turn that follows when one of them finishes in the background, and the
// summary for a compaction, whose prompt starts with "CRITICAL: Respond with TEXT ONLY".
//
// # The real agent
//
// [RealAgent] returns the path of the claude binary, version [AgentVersion]. If it is not
// installed, RealAgent skips the test with a sentence that explains how to get it. In the
// repository of this module "make agent" installs it.
//
// # The simulated agent
//
// A [Scenario] lists the frames that an agent expects and sends. Read it from a dialogue file with
// [ReadDialogue], or build it:
//
//	func TestGreeting(t *testing.T) {
//		agent := clewtest.NewAgent(t, new(clewtest.Scenario).Initialize().Prompt("Hi").Answer("Hello"))
//
//		opts := &clew.Options{AgentPath: agent.Path(), Env: agent.Env()}
//		result, err := clew.Run(t.Context(), "Hi", opts)
//		if err != nil || result.Result != "Hello" {
//			t.Errorf("result %v, error %v", result, err)
//		}
//	}
//
// [Agent.Command] is a process: the test binary itself, which plays the agent instead of running
// tests. [Agent.Path] and [Agent.Env] are for programs that start their agent themselves.
// [Agent.Conn] is a connection in memory, which also works within a bubble of testing/synctest. A
// host that sends something else than the scenario expects fails the test, with the difference and
// the dialogue so far. A [Fault] is something that an agent should not do; [Scenario.Do] makes a
// step of it.
package clewtest
