// Package clewotel makes spans and metrics of OpenTelemetry from the sessions of package clew, by
// the semantic conventions for generative AI.
//
//	opts = clewotel.Instrument(opts, nil) // to the global providers
//	for msg, err := range clew.Query(ctx, prompt, opts) { … }
//
// It works the same for Query, Run, Connect and pools. It imports only OpenTelemetry's API: the
// program brings the SDK and the exporters.
//
// # Spans
//
// Spans are made from the messages of the agent as they are read, whether or not the caller reads
// them:
//
//   - "clew.session" is a session, from Connect to its end. Its parent is the span in the context of
//     Connect. Reconnects are events of it.
//   - "invoke_agent NAME" is a turn, from its prompt to its result, or the life of a subagent. A turn
//     is a child of the span in its own context and is linked with the session, unless that span is
//     also the parent of the session: then the turn is a child of the session. The same holds for a
//     turn without a span. Turns that the agent starts by itself are children of the session. A
//     subagent is a child of the call that started it, at any depth, and may outlive it. The agent
//     reports the answers and calls of a subagent that another subagent started only if
//     [clew.Options.ForwardSubagentText] is set; otherwise its span has no children.
//   - "chat MODEL" is an answer of a model, a child of the agent that asked for it. It starts when
//     that agent had everything to ask: with the prompt, or the last result of a tool.
//   - "execute_tool TOOL" is a tool call, from the call to its result, a child of its agent.
//     Permissions and hooks are events of it, and those about no call are events of the turn or of
//     the session. Contexts of callbacks and of tools in package tools have this span, so that spans
//     made there are its children.
//
// API retries are events of the turn or the subagent, limits and compactions of the turn. In a turn
// that is not sampled, nothing is recorded but metrics.
//
// # Tokens and cost
//
// Tokens are on chat spans alone, and their sums equal the agent's own reports with its results
// ([wire.ResultMessage.ModelUsage]), to the token. To that end a chat span is exported with the
// result of its turn, with the time at which it ended.
//
//   - The agent reports how many tokens an answer has only if [clew.Options.IncludePartialMessages]
//     is set. Otherwise the output tokens of a result are divided among its answers by their length,
//     and these have the attribute clew.usage.estimated, unless there is just one.
//   - Some requests of the agent are in its accounts and not in its messages, such as the summary
//     of a compaction and the last answer of a subagent. One more chat span for each model, with the
//     attribute clew.unseen, has their tokens.
//   - Answers that the agent does not count, such as an interrupted one, have no tokens.
//
// The cost of a turn is the attribute clew.cost_usd of its outermost invoke_agent span alone, so
// that costs can be added up.
//
// # The agent's own spans
//
// The agent gets the span of its session as TRACEPARENT and TRACESTATE. With [Options.AgentExport] it exports its
// own spans as children of that span.
//
// A process has one TRACEPARENT, so it is the session's span and not a turn's. Subagents are found
// by parent_tool_use_id, which hooks don't have, and answers by message.id.
package clewotel
