// Package clewtest tests programs that drive Claude Code: without network, key or cost, and with the same outcome every
// time. It has two stand-ins, for the two ends of the agent:
//
//   - A [Model] stands in for the API. The agent is the real one, and so are its tools, permissions, hooks and
//     transcripts; what the model says is scripted. Use it to see that a program and Claude Code work together.
//   - An [Agent] stands in for Claude Code itself. It plays a dialogue, needs no binary, and can do what a real agent
//     hardly ever does: exit in mid-answer, hang, write garbage. Use it for what a program does in such cases.
//
// Both work for any program, whatever it is written in and whether or not it uses other packages of this module: a
// model is reached through an environment, and a simulated agent can be a process.
//
// # The scripted model
//
// A model is a server on the loopback interface that ends with its test. Its rules look at the newest turn of the
// conversation, and say what it answers:
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
// The first rule that matches answers; [Rule.Once] and [Rule.Times] use a rule up, which makes a sequence of several
// rules for the same words. [Model.Reply] answers whatever is left, and without it a request that no rule matches
// fails the test and says what was asked. A rule can fail ([Rule.Fail]), cut the connection ([Rule.Cut]), never answer
// ([Rule.Hang]) and take its time ([Rule.Delay], [Rule.Pace]). [Model.Requests] has what the agent sent.
//
// [Model.Env] is the environment to start the program in. It keeps the settings, the credentials and the home of whoever
// runs the test away from the agent, and the agent away from the network. Start the program in an empty folder, too: the
// agent reads what CLAUDE.md says in the folders above its own.
//
// The agent repeats a request that failed for a reason that may pass, ten times and ever more slowly. Append
// CLAUDE_CODE_MAX_RETRIES to the environment where a test is about such a failure.
//
// # Requests in the background
//
// Claude Code also asks the model on its own behalf. Version 2.1.325, with the environment of a model, does so when its
// host wants a title for the session, when its host sets another model, and for the tool WebSearch. With other settings
// it looks whether the server is there, and whether a key works. A model answers all of that harmlessly: these requests
// neither match [Model.On], [Model.OnToolResult] and [Model.Reply] nor use them up, and they are logged and don't fail
// the test; see [Request.Background]. A [Model.When] rule can answer them otherwise.
//
// What belongs to the conversation goes by the rules, also where nobody typed it: the prompts of subagents, the turn
// that follows when one of them finishes in the background, and the summary for a compaction, whose prompt begins with
// "CRITICAL: Respond with TEXT ONLY".
//
// # The real agent
//
// [RealAgent] returns the path of the claude binary, version [AgentVersion], or skips the test with a sentence that says
// how to get it. In the repository of this module "make agent" installs it.
//
// # The simulated agent
//
// A [Scenario] is what an agent expects and says, read from a dialogue file with [ReadDialogue], or built:
//
//	func TestGreeting(t *testing.T) {
//		agent := clewtest.NewAgent(t, new(clewtest.Scenario).
//			Expect(`{"type":"user","message":{"content":"Hi"}}`).
//			Send(`{"type":"result","subtype":"success","result":"Hello"}`))
//
//		cmd := agent.Command(t.Context())
//		...
//	}
//
// [Agent.Command] is a process, the test binary itself in another role; [Agent.Path] and [Agent.Env] are for programs
// that start their agent on their own. [Agent.Conn] is a connection in memory, which also works within a bubble of
// testing/synctest. A host that says something else than the scenario expects fails the test, with the difference and
// the dialogue so far. A [Fault], made a step by [Scenario.Do], is something that an agent should not do.
package clewtest
