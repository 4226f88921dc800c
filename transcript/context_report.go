package transcript

import "math/bits"

// report returns what the entries so far tell. shown says which lines are part of the conversation now: a rewind takes
// lines away that were noted before. Nil means all of them.
func (c *contextAccount) report(shown func(line int) bool) ContextReport {
	r := contextReporter{account: c, shown: shown}
	r.begin()
	for _, record := range c.records {
		if r.shows(record) {
			r.take(record)
		}
	}
	r.endTurn()
	r.measureWindows()
	return r.ContextReport
}

// A filling is the tokens of each class, as estimated.
type filling [len(contextClasses)]int

// A contextReporter goes through the records once.
type contextReporter struct {
	ContextReport
	account *contextAccount
	shown   func(line int) bool

	// fixed is what each request holds, and added what came since the last compaction.
	fixed, added filling
	// recorded says that the definitions of tools are in the transcript. If they are not, unseen is what the first answer
	// took in beyond what is there, once measured is set.
	recorded, measured bool
	unseen             int
	// last is the last answer of the turn, if there is one yet.
	last    *ContextTurn
	atLast  filling
	tokens  int   // of the last answer
	waiting []int // compactions that don't tell what is left
}

func (r *contextReporter) shows(record contextRecord) bool {
	return r.shown == nil || r.shown(int(record.line))
}

// begin looks for the first system prompt and tools: they are written down after the first answer that they were sent
// for.
func (r *contextReporter) begin() {
	var seen [len(contextClasses)]bool
	for _, record := range r.account.records {
		if record.kind == contextReplaced && !seen[record.class] && r.shows(record) {
			seen[record.class] = true
			r.fixed[record.class] = int(record.value)
		}
	}
	r.recorded = seen[inTools]
}

func (r *contextReporter) take(record contextRecord) {
	switch record.kind {
	case contextAdded:
		r.added[record.class] += int(record.value)
	case contextReplaced:
		r.fixed[record.class] = int(record.value)
	case contextPrompt:
		r.endTurn()
	case contextAnswered:
		r.answer(int(record.line), r.account.calls[record.value])
	case contextCompacted:
		r.compact(r.account.compactions[record.value])
	}
}

func (r *contextReporter) answer(line int, call contextCall) {
	r.last = &ContextTurn{Line: line, Time: call.time, Model: call.model, Tokens: call.tokens}
	r.tokens = call.tokens
	for i := range r.added {
		r.atLast[i] = r.fixed[i] + r.added[i]
	}
	if !r.measured {
		r.measured = true
		r.unseen = max(call.tokens-r.atLast.sum(), 0)
	}
	for _, i := range r.waiting {
		r.Compactions[i].After = call.tokens
	}
	r.waiting = nil
}

func (r *contextReporter) endTurn() {
	if r.last == nil {
		return
	}
	unseen := r.unseen
	if r.recorded {
		unseen = 0
	}
	r.last.By = r.atLast.scale(r.last.Tokens, unseen)
	r.Turns = append(r.Turns, *r.last)
	r.last = nil
}

func (r *contextReporter) compact(c ContextCompaction) {
	if c.Before == 0 {
		c.Before = r.tokens
	}
	if c.After == 0 {
		r.waiting = append(r.waiting, len(r.Compactions))
	}
	r.Compactions = append(r.Compactions, c)
	if c.Micro {
		if c.After > 0 {
			r.added[inToolCalls] = max(r.added[inToolCalls]-max(c.Before-c.After, 0), 0)
		}
		return
	}
	r.endTurn()
	r.added = filling{}
}

// measureWindows fills in the windows: a model that took in more than it usually can has the larger one.
func (r *contextReporter) measureWindows() {
	windows := map[string]int{}
	for _, turn := range r.Turns {
		if _, ok := windows[turn.Model]; !ok {
			windows[turn.Model], _ = ContextWindow(turn.Model)
		}
		if turn.Tokens > usualWindow {
			windows[turn.Model] = largeWindow
		}
	}
	for i := range r.Turns {
		turn := &r.Turns[i]
		if turn.Window = windows[turn.Model]; turn.Window > 0 {
			turn.Percent = min(100*float64(turn.Tokens)/float64(turn.Window), 100)
		}
	}
}

func (f *filling) sum() int {
	sum := 0
	for _, tokens := range f {
		sum += tokens
	}
	return sum
}

// scale makes the estimates add up to total, with what the transcript does not show put to the system's.
func (f *filling) scale(total, unseen int) map[ContextClass]int {
	sum := f.sum()
	unseen = min(unseen, total)
	if sum == 0 {
		unseen = total
	}
	by := map[ContextClass]int{}
	rest := total - unseen
	before := 0 // rounding the running sum keeps the total exact
	for i, tokens := range f {
		until := before + tokens
		if share := portion(until, sum, rest) - portion(before, sum, rest); share > 0 {
			by[contextClasses[i]] = share
		}
		before = until
	}
	if unseen > 0 {
		by[ContextSystem] += unseen
	}
	return by
}

// portion returns part/whole of total, rounded down. The part is at most the whole.
func portion(part, whole, total int) int {
	if whole == 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(part), uint64(total))
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int(quotient)
}
