package clewotel

import (
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// scope is the name of the tracer and of the meter.
const scope = "github.com/clewdev/clew/clewotel"

// Operations, which span names start with.
const (
	opSession = "clew.session"
	opInvoke  = "invoke_agent"
	opChat    = "chat"
	opTool    = "execute_tool"
)

// Attributes of the conventions for generative AI. OpenTelemetry's Go modules have had none of them
// since semconv 1.42, and their names still change.
const (
	keyOperation     = attribute.Key("gen_ai.operation.name")
	keyProvider      = attribute.Key("gen_ai.provider.name")
	keyConversation  = attribute.Key("gen_ai.conversation.id")
	keyAgentName     = attribute.Key("gen_ai.agent.name")
	keyAgentID       = attribute.Key("gen_ai.agent.id")
	keyRequestModel  = attribute.Key("gen_ai.request.model")
	keyResponseModel = attribute.Key("gen_ai.response.model")
	keyResponseID    = attribute.Key("gen_ai.response.id")
	keyFinishReasons = attribute.Key("gen_ai.response.finish_reasons")
	keyToolName      = attribute.Key("gen_ai.tool.name")
	keyToolCallID    = attribute.Key("gen_ai.tool.call.id")
	keyToolType      = attribute.Key("gen_ai.tool.type")
	keyTokenType     = attribute.Key("gen_ai.token.type")
	keyTokenModality = attribute.Key("gen_ai.token.modality")
	keyInputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	keyOutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheRead     = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyCacheCreation = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	keyCacheWrite    = attribute.Key("gen_ai.usage.cache_write.input_tokens") // the newer name
	keyInputTexts    = attribute.Key("gen_ai.input.messages")
	keyOutputTexts   = attribute.Key("gen_ai.output.messages")
	keyToolArguments = attribute.Key("gen_ai.tool.call.arguments")
	keyToolResult    = attribute.Key("gen_ai.tool.call.result")
	keyErrorType     = attribute.Key("error.type")
)

// Clew's own attributes.
const (
	keyAgentVersion = attribute.Key("clew.agent.version")   // of the agent binary
	keyCost         = attribute.Key("clew.cost_usd")        // of a turn, the agent's estimate
	keyEstimated    = attribute.Key("clew.usage.estimated") // the output tokens are estimated
	keyUnseen       = attribute.Key("clew.unseen")          // a chat that no message has shown
	keySelfStarted  = attribute.Key("clew.self_started")    // a turn without a prompt
	keyBackground   = attribute.Key("clew.background")      // a subagent in the background
	keyPoolState    = attribute.Key("clew.pool.state")
	keyPoolName     = attribute.Key("clew.pool.name")
)

// Events, and their attributes.
const (
	eventAsked       = "clew.asked"
	eventAnswered    = "clew.answered"
	eventRetry       = "clew.retry"
	eventRateLimit   = "clew.rate_limit"
	eventCompaction  = "clew.compaction"
	eventReconnected = "clew.reconnected"

	keyRequest    = attribute.Key("clew.request")  // the kind of the agent's request
	keyMethod     = attribute.Key("clew.method")   // the event of a hook
	keyDecision   = attribute.Key("clew.decision") // "allow" or "deny"
	keyAttempt    = attribute.Key("clew.attempt")
	keyAttempts   = attribute.Key("clew.attempts")
	keyStatusCode = attribute.Key("http.response.status_code")
	keyDelay      = attribute.Key("clew.delay_ms")
	keyDowntime   = attribute.Key("clew.downtime_ms")
	keyLimit      = attribute.Key("clew.limit")
	keyStatus     = attribute.Key("clew.status")
	keyTrigger    = attribute.Key("clew.trigger")
	keyPreTokens  = attribute.Key("clew.tokens_before")
	keyPostTokens = attribute.Key("clew.tokens_after")
	keyLost       = attribute.Key("clew.lost_prompts")
)

// Metrics.
const (
	metricChatDuration   = "gen_ai.client.operation.duration"
	metricAgentDuration  = "gen_ai.invoke_agent.duration"
	metricToolDuration   = "gen_ai.execute_tool.duration"
	metricInferenceCalls = "gen_ai.invoke_agent.inference_calls"
	metricToolCalls      = "gen_ai.invoke_agent.tool_calls"
	metricTokens         = "gen_ai.client.token.usage" // the older one; those below are the newer ones
	metricInput          = "gen_ai.client.inference.usage.input_tokens"
	metricOutput         = "gen_ai.client.inference.usage.output_tokens"
	metricCacheRead      = "gen_ai.client.inference.usage.cache_read.input_tokens"
	metricCacheWrite     = "gen_ai.client.inference.usage.cache_write.input_tokens"
	metricCost           = "clew.cost"
	metricPoolAgents     = "clew.pool.agents"
	metricPoolWaiting    = "clew.pool.waiting"
)

// Values of error.type. Others come from the agent: the subtype of a result, and the types of errors
// of the API.
const (
	errorTool        = "tool_error"
	errorInterrupted = "interrupted"
	errorCanceled    = "canceled"
	errorLost        = "agent_lost"
	errorEnded       = "agent_ended"
	errorTask        = "task_failed"
	errorOther       = "_OTHER"
)

// A Semconv selects the names for tokens, as long as the conventions have two sets of them.
type Semconv string

// The sets of names.
const (
	// SemconvFromEnv is SemconvLatest if the variable OTEL_SEMCONV_STABILITY_OPT_IN has the word
	// gen_ai_latest_experimental, and otherwise SemconvHistogram.
	SemconvFromEnv Semconv = ""
	// SemconvHistogram has the metric gen_ai.client.token.usage, which is what dashboards know, and
	// the attribute gen_ai.usage.cache_creation.input_tokens.
	SemconvHistogram Semconv = "histogram"
	// SemconvLatest has the counters gen_ai.client.inference.usage.* in place of it, and the
	// attribute gen_ai.usage.cache_write.input_tokens.
	SemconvLatest Semconv = "latest"
)

// latest reports whether the newer names are used.
func (s Semconv) latest() bool {
	if s != SemconvFromEnv {
		return s == SemconvLatest
	}
	words := strings.Split(os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN"), ",")
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.TrimSpace(word) == "gen_ai_latest_experimental"
	})
}
