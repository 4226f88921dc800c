package clewotel

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// tokens counts the tokens of one answer or of several. Input does not include cached ones.
type tokens struct{ input, cacheRead, cacheWrite, output int }

func (t tokens) allInput() int { return t.input + t.cacheRead + t.cacheWrite }

// minus returns the difference, which is not negative.
func (t tokens) minus(u tokens) tokens {
	return tokens{
		max(t.input-u.input, 0), max(t.cacheRead-u.cacheRead, 0), max(t.cacheWrite-u.cacheWrite, 0), max(t.output-u.output, 0),
	}
}

// fits reports whether the input of t is a part of u's.
func (t tokens) fits(u tokens) bool {
	return t.input <= u.input && t.cacheRead <= u.cacheRead && t.cacheWrite <= u.cacheWrite
}

func usageTokens(u *wire.Usage) tokens {
	if u == nil {
		return tokens{}
	}
	return tokens{u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens}
}

func modelTokens(u wire.ModelUsage) tokens {
	return tokens{u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens}
}

// A chat is an answer of a model.
type chat struct {
	agent   *agent
	id      string
	model   string
	span    trace.Span
	began   time.Time
	last    time.Time // when its newest frame came
	failure string
	finish  string
	parts   []part // its texts

	used      tokens // as its frames report it, and then as the result does
	exact     bool   // its output is known
	length    int    // of its content, to estimate the output
	estimated bool
	unseen    bool
}

// chatOf returns the answer with an ID, which starts unless it is the newest one of its agent.
func (s *session) chatOf(a *agent, id, model string) *chat {
	if a.chat != nil && a.chat.id == id {
		return a.chat
	}
	a.chats++
	a.chat = s.newChat(a, id, model, a.last)
	s.ledger.chats = append(s.ledger.chats, a.chat)
	return a.chat
}

func (s *session) newChat(a *agent, id, model string, began time.Time) *chat {
	c := &chat{agent: a, id: id, model: model, began: began, last: began, span: noSpan}
	if !a.recorded {
		return c
	}
	_, c.span = s.inner.Start(a.ctx, strings.TrimSpace(opChat+" "+model), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(began), trace.WithAttributes(s.common(opChat, keyRequestModel.String(model))...))
	return c
}

// cutChat marks an answer that has broken off before its first block, and is asked for again.
func (a *agent) cutChat(failure string) {
	if c := a.chat; c != nil && c.length == 0 && !c.exact {
		c.failure = cmp.Or(failure, errorOther)
	}
}

// see takes what a frame reports about the answer. Counts that it leaves out stay.
func (c *chat) see(u *wire.Usage, stop wire.StopReason) {
	c.finish = cmp.Or(string(stop), c.finish)
	if n := usageTokens(u); n != (tokens{}) {
		c.used = tokens{
			cmp.Or(n.input, c.used.input), cmp.Or(n.cacheRead, c.used.cacheRead),
			cmp.Or(n.cacheWrite, c.used.cacheWrite), cmp.Or(n.output, c.used.output),
		}
	}
}

// contentLength returns the length of the model's text.
func contentLength(content wire.Content) int {
	n := 0
	for _, block := range content {
		switch b := block.(type) {
		case *wire.TextBlock:
			n += len(b.Text)
		case *wire.ThinkingBlock:
			n += len(b.Thinking)
		case *wire.ToolUseBlock:
			n += len(b.Name) + len(b.Input)
		}
	}
	return n
}

// endChat ends the span of an answer whose tokens are final.
func (s *session) endChat(c *chat) {
	if c.used != (tokens{}) {
		s.recordTokens(c.agent.ctx, c.used, s.provider, c.model)
	}
	if h := s.telemetry.chats; !c.unseen && h.Enabled(c.agent.ctx) {
		recordDuration(c.agent.ctx, h, c.last.Sub(c.began), c.failure,
			keyOperation.String(opChat), keyProvider.String(s.provider), keyRequestModel.String(c.model))
	}
	if c.span.IsRecording() {
		c.span.SetAttributes(s.chatAttributes(c)...)
		setFailure(c.span, c.failure)
		c.span.End(trace.WithTimestamp(c.last))
	}
}

// chatAttributes returns what is known about an answer at its end.
func (s *session) chatAttributes(c *chat) []attribute.KeyValue {
	attrs := []attribute.KeyValue{keyResponseModel.String(c.model)}
	if c.id != "" {
		attrs = append(attrs, keyResponseID.String(c.id))
	}
	if c.finish != "" {
		attrs = append(attrs, keyFinishReasons.StringSlice([]string{c.finish}))
	}
	if c.used != (tokens{}) {
		written := keyCacheCreation
		if s.latest {
			written = keyCacheWrite
		}
		attrs = append(attrs, keyInputTokens.Int(c.used.allInput()), keyCacheRead.Int(c.used.cacheRead),
			written.Int(c.used.cacheWrite), keyOutputTokens.Int(c.used.output))
	}
	if c.estimated {
		attrs = append(attrs, keyEstimated.Bool(true))
	}
	if c.unseen {
		attrs = append(attrs, keyUnseen.Bool(true))
	}
	if len(c.parts) > 0 {
		attrs = append(attrs, message{"assistant", c.parts, finishReason(c)}.attribute(keyOutputTexts))
	}
	return attrs
}

// A ledger has the answers since the last result, and gives each its tokens when a result reports
// their number.
type ledger struct{ chats []*chat }

// flush ends all answers with the tokens that their frames reported, since no result will come.
func (l *ledger) flush(s *session) {
	for _, c := range l.chats {
		c.estimated = !c.exact && c.used.output > 0
		s.endChat(c)
	}
	l.chats = nil
}

// settle gives the answers of the turn t, and of subagents, the tokens that its result reports. The
// usage of a result belongs to the session's own agent in this turn. The additional usage of all
// models, which is left, belongs to subagents, and to requests that no message showed. The answer
// of a running subagent that is not in these accounts waits for the next result.
func (l *ledger) settle(s *session, t *agent, m *wire.ResultMessage, left map[string]tokens) {
	models := m.ModelUsageSinceLastResult
	if models == nil {
		models = m.ModelUsage
	}
	var main, subs, later []*chat
	for _, c := range l.chats {
		if c.agent.isTurn {
			main = append(main, c)
		} else {
			subs = append(subs, c)
		}
	}
	done := l.share(s, main, usageTokens(m.Usage), t, cmp.Or(accountOf(models, s.model), s.model))
	for _, c := range done {
		take(left, accountOf(models, c.model), c.used)
	}
	unassigned, groups := maps.Clone(left), make(map[string][]*chat)
	for _, c := range subs {
		name := accountOf(models, c.model)
		switch budget, ok := unassigned[name]; {
		case ok && c.used.fits(budget):
			unassigned[name] = budget.minus(tokens{c.used.input, c.used.cacheRead, c.used.cacheWrite, 0})
			groups[name] = append(groups[name], c)
		case c.agent.ended: // the agent does not count it
			c.used = tokens{}
			done = append(done, c)
		default:
			later = append(later, c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		done = append(done, l.share(s, groups[name], left[name], l.unseenAgent(t, subs), name)...)
	}
	for _, c := range done {
		s.endChat(c)
	}
	l.chats = later
}

// unseenAgent returns the agent that requests belong to that no message has shown: the only
// subagent, or else the turn.
func (l *ledger) unseenAgent(t *agent, subs []*chat) *agent {
	if len(subs) == 0 || slices.ContainsFunc(subs, func(c *chat) bool { return c.agent != subs[0].agent }) {
		return t
	}
	return subs[0].agent
}

// take subtracts the tokens of an answer from the account with a name, and the excess from the
// others, so that no token is counted twice.
func take(left map[string]tokens, name string, used tokens) {
	for _, name := range append([]string{name}, slices.Sorted(maps.Keys(left))...) {
		if have, ok := left[name]; ok {
			left[name], used = have.minus(used), used.minus(have)
		}
	}
}

// prices know the names that a model has with different providers.
var prices = sync.OnceValue(usage.DefaultPrices)

// accountOf returns the name under which the accounts of a result have a model, or "" if they don't.
// An answer has the name of the API. The agent counts under the name that it was given, which may
// have a date or the mark [1m], or be the name of a cloud provider.
func accountOf(models map[string]wire.ModelUsage, model string) string {
	if _, ok := models[model]; ok {
		return model
	}
	plain := prices().Name(model)
	names := slices.Sorted(maps.Keys(models))
	for _, name := range names {
		if canonical := models[name].CanonicalModel; canonical != "" && (canonical == model || canonical == plain) ||
			prices().Name(name) == plain {
			return name
		}
	}
	if len(names) != 1 || isKnown(model) && isKnown(cmp.Or(models[names[0]].CanonicalModel, names[0])) {
		return ""
	}
	return names[0] // one of the two is an alias
}

func isKnown(model string) bool {
	_, ok := prices().Lookup(model)
	return ok
}

// totals are the accounts of a conversation at its last result, for agents that report only totals.
type totals struct {
	session string // the ID of the conversation
	cost    float64
	models  map[string]tokens
}

// since returns the usage of the models and its cost since the last result. Totals start again with
// another conversation, and may do so at any other time. A result without accounts, such as an
// error's, changes nothing.
func (t *totals) since(m *wire.ResultMessage) (used map[string]tokens, cost float64) {
	if t.models == nil || m.SessionID != t.session {
		*t = totals{session: m.SessionID, models: make(map[string]tokens)}
	}
	used = make(map[string]tokens)
	for name, u := range m.ModelUsage {
		now, before := modelTokens(u), t.models[name]
		if now == (tokens{}) {
			continue
		}
		used[name], t.models[name] = now, now
		if before.fits(now) {
			used[name] = now.minus(before)
		}
	}
	if cost = max(m.TotalCostUSD, 0); cost > 0 {
		before := t.cost
		t.cost = cost
		if cost >= before {
			cost -= before
		}
	}
	if m.ModelUsageSinceLastResult != nil {
		used, cost = make(map[string]tokens), 0
		for name, u := range m.ModelUsageSinceLastResult {
			used[name] = modelTokens(u)
			cost += u.CostUSD
		}
	}
	return used, max(cost, 0)
}

// share divides tokens among answers. The input of each is known. Output that is not known is
// divided by the length of the answers. The rest belongs to requests that no message showed: one
// more answer of an agent, of this model, gets it. It returns all answers.
func (l *ledger) share(s *session, chats []*chat, total tokens, unseen *agent, model string) []*chat {
	left := total
	var unknown []*chat
	for _, c := range chats {
		c.used = tokens{
			min(c.used.input, left.input), min(c.used.cacheRead, left.cacheRead),
			min(c.used.cacheWrite, left.cacheWrite), min(c.used.output, left.output),
		}
		if !c.exact {
			c.used.output = 0
			if c.failure == "" || c.used != (tokens{}) {
				unknown = append(unknown, c)
			}
		}
		left = left.minus(c.used)
	}
	if left.allInput() > 0 || left.output > 0 && len(unknown) == 0 {
		c := s.newChat(unseen, "", model, time.Now())
		c.used, c.unseen = tokens{left.input, left.cacheRead, left.cacheWrite, 0}, true
		c.length = meanLength(unknown)
		chats, unknown = append(chats, c), append(unknown, c)
	}
	divide(left.output, unknown)
	return chats
}

func meanLength(chats []*chat) int {
	sum := 0
	for _, c := range chats {
		sum += c.length
	}
	return sum / max(len(chats), 1)
}

// divide divides output tokens among answers by their length, so that the sum is exact.
func divide(output int, among []*chat) {
	estimated, weight := output > 0 && len(among) > 1, 0
	for _, c := range among {
		weight += c.length + 1
	}
	for _, c := range among {
		part := int(int64(output) * int64(c.length+1) / int64(weight))
		output, weight = output-part, weight-c.length-1
		c.used.output += part
		c.estimated = estimated
	}
}
