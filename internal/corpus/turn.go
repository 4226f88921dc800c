package corpus

import "time"

// An agent is a subagent. The zero value stands for the main conversation.
type agent struct {
	id          string
	toolUse     string // the tool call that started it
	run         string
	kind        string
	description string
	tools       int
}

func (g *generator) startSession() {
	g.identify()
	if g.oneIn(3) {
		g.put(object{"type", "keep_alive"})
	}
	g.put(g.initializeAnswer())
}

// turn writes one turn: a prompt, many requests to the model with their tool
// calls, now and then a subagent, and the result.
func (g *generator) turn() {
	prompt := g.uuid()
	g.put(g.commandLifecycle(prompt, "queued"))
	g.put(g.commandLifecycle(prompt, "started"))
	g.put(g.init())
	g.put(g.prompt(prompt))
	for range g.between(11, 24) {
		g.request()
		g.incidents()
	}
	g.put(g.result())
	g.put(g.commandLifecycle(prompt, "completed"))
	g.results++
}

// incidents are the frames that come between requests.
func (g *generator) incidents() {
	if g.oneIn(9) {
		g.put(g.rateLimit())
	}
	if g.oneIn(18) {
		g.subagent()
	}
	if g.oneIn(14) {
		g.compact()
	}
	if g.oneIn(30) {
		g.put(object{"type", "keep_alive"})
	}
}

func (g *generator) subagent() {
	g.agent = agent{
		id:          "a" + g.uuid()[:8] + g.uuid()[:8],
		toolUse:     g.id("toolu_01"),
		run:         "0mwh" + g.uuid()[:5] + "-" + g.uuid()[:8],
		kind:        pick(g, []string{"general-purpose", "Explore", "Plan"}),
		description: title(g.word()) + " " + g.word(),
	}
	g.put(g.backgroundTasks())
	g.put(g.taskStarted())
	for range g.between(1, 4) {
		g.request()
		g.put(g.taskProgress())
	}
	g.put(g.taskUpdated())
	g.put(g.taskNotification())
	g.agent = agent{}
	g.put(g.backgroundTasks())
}

func (g *generator) compact() {
	g.put(g.status("compacting"))
	g.put(g.compactBoundary())
	g.put(g.summary())
}

// request writes one exchange with the model: its events, an assistant frame
// for each finished block, then the results of the tools that it called.
func (g *generator) request() {
	g.message = g.id("msg_01")
	g.now = g.now.Add(time.Duration(g.between(500, 20000)) * time.Millisecond)
	g.put(g.status("requesting"))
	g.put(g.messageStart())
	blocks := g.blocks()
	for i, b := range blocks {
		g.streamBlock(i, b)
	}
	g.put(g.streamEvent(g.messageDelta()))
	g.put(g.streamEvent(object{"type", "message_stop"}))
	for _, b := range blocks {
		if b.tool != "" {
			g.callTool(b)
		}
	}
}

func (g *generator) callTool(b block) {
	if g.oneIn(14) {
		g.put(g.canUseTool(b))
	}
	if g.oneIn(20) {
		g.put(g.hookCallback(b))
	}
	if g.oneIn(14) {
		g.put(g.toolProgress(b))
	}
	g.agent.tools++
	g.put(g.toolResult(b))
}

func (g *generator) streamBlock(index int, b block) {
	g.put(g.streamEvent(object{"type", "content_block_start", "index", index, "content_block", b.start}))
	g.streamDeltas(index, b)
	g.put(g.assistant(b.whole))
	g.put(g.streamEvent(object{"type", "content_block_stop", "index", index}))
}

func (g *generator) streamDeltas(index int, b block) {
	put := func(delta object) {
		g.put(g.streamEvent(object{"type", "content_block_delta", "index", index, "delta", delta}))
	}
	if b.delta == nil {
		return
	}
	for range g.between(10, 30) {
		put(b.delta(g))
	}
	if b.signature == "" {
		return
	}
	put(object{"type", "signature_delta", "signature", b.signature})
	if g.oneIn(3) {
		g.put(g.thinkingTokens())
	}
}
