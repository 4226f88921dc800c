package usage

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
)

// Usage counts the tokens of one answer of the model. The fields are copied from the member usage
// of a message. A count that the API did not report is 0.
type Usage struct {
	// InputTokens is the number of tokens of the prompt that were neither read from the cache nor
	// written to it, from input_tokens.
	InputTokens int
	// OutputTokens is the number of tokens that the model wrote, including thinking, from
	// output_tokens. In the first lines of an answer it may be lower than in the last.
	OutputTokens int
	// CacheReadTokens is the number of tokens of the prompt that were read from the cache, from
	// cache_read_input_tokens. They cost less than InputTokens.
	CacheReadTokens int
	// CacheCreationTokens is the number of tokens of the prompt that were written to the cache,
	// from cache_creation_input_tokens. They cost more than InputTokens.
	CacheCreationTokens int

	// CacheCreation5mTokens is the part of CacheCreationTokens that the cache keeps for five
	// minutes, as far as the agent reports it.
	CacheCreation5mTokens int
	// CacheCreation1hTokens is the part of CacheCreationTokens that the cache keeps for an hour, as
	// far as the agent reports it. It costs more than the other part.
	CacheCreation1hTokens int
	// ThinkingTokens is the part of OutputTokens that is thinking. Don't add it to them.
	ThinkingTokens int
	// WebSearches is the number of searches that ran at the API. Each has a price, see
	// [Price.WebSearch].
	WebSearches int
	// WebFetches is the number of pages that were fetched at the API. They cost nothing but tokens.
	WebFetches int
	// Fast reports whether the answer was given in fast mode. Its tokens cost
	// [Price.FastMultiplier] times as much.
	Fast bool
	// InferenceUS reports whether the answer was computed in the US only, as was asked for. That
	// costs more, see [Prices.USPercent].
	InferenceUS bool
	// ServiceTier is "standard", "priority", "batch" or another word, or "" if the API did not
	// report it. It does not change the cost that this package computes.
	ServiceTier string
}

// TotalTokens returns all tokens that went in and came out, cached or not. It is 0 for nil.
// ThinkingTokens and the parts by lifetime are included, since they are parts of other counts.
func (u *Usage) TotalTokens() int {
	if u == nil {
		return 0
	}
	return u.InputTokens + u.OutputTokens + u.CacheReadTokens + u.CacheCreationTokens
}

// ContextTokens returns how much of the model's context the call took: all that went in. It is 0
// for nil. For the share of a context that is full, see transcript.ContextWindow.
func (u *Usage) ContextTokens() int {
	if u == nil {
		return 0
	}
	return u.InputTokens + u.CacheReadTokens + u.CacheCreationTokens
}

// Decode reads a usage as the API writes it in the message of an answer: {"input_tokens": 3,
// "output_tokens": 5}. Counts that are missing or invalid are 0. It returns nil if data is not a
// JSON object.
func Decode(data []byte) *Usage {
	var r entrylex.Reader
	r.Reset(data)
	u := new(Usage)
	ok := r.ReadUsage((*entrylex.Usage)(u))
	if r.End(); !ok || r.Err() != nil {
		return nil
	}
	return u
}

// A CallDecoder reads of a line only what transcript.CallOf needs, many times as fast as the line
// can be decoded. The zero value is ready. It should be used for many lines: neighbours have much
// in common. It is for one goroutine at a time.
type CallDecoder struct{ scan callScanner }

// Decode returns what transcript.CallOf returns for the entry of the line. It returns false,
// without an error, for a line that is neither an answer with a usage nor a result with searches.
// It returns an error if the line is not a JSON object.
func (d *CallDecoder) Decode(line []byte) (Call, bool, error) {
	s := &d.scan
	s.Reset(line)
	s.begin()
	for key, ok := s.FirstKey(); ok; key, ok = s.NextKey() {
		s.member(key)
	}
	s.End()
	if err := s.Err(); err != nil {
		return Call{}, false, fmt.Errorf("usage: %w", err)
	}
	c, ok := s.result()
	return c, ok, nil
}

// EntryType returns the type of the entry that was decoded last, such as "assistant" or
// "cost-state", or "" if the line has none.
func (d *CallDecoder) EntryType() string { return d.scan.kind }

// A callScanner does the work of a CallDecoder. It holds what was read of a line so far.
type callScanner struct {
	entrylex.Reader

	kind     string
	own      scannedEntry
	progress scannedEntry // of a subagent, in an entry about its progress
	call     Call
}

// A scannedEntry has the fields of an entry that are read.
type scannedEntry struct {
	agent   string
	request string
	uuid    []byte
	time    time.Time
	message Call // read from the message
	used    bool // there is a usage
	content []byte
	result  []byte // of a tool
}

func (s *scannedEntry) reset() { *s = scannedEntry{uuid: s.uuid[:0]} }

// begin forgets the line before.
func (d *callScanner) begin() {
	d.kind, d.call = "", Call{}
	d.own.reset()
	d.progress.reset()
}

// result returns the call if there is one.
func (d *callScanner) result() (Call, bool) {
	c, e := d.call, &d.own
	switch d.kind {
	case "assistant":
		c.Time, c.RequestID, c.AgentID = e.time, e.request, e.agent
	case "user":
		c.Time, c.AgentID = e.time, e.agent
		return c.searched(e.result, e.content)
	case "progress":
		c.Time, c.AgentID = e.time, e.agent
		c.Sidechain, c.Forked = true, true
		e = &d.progress
		c.RequestID = e.request
		if !e.time.IsZero() {
			c.Time = e.time
		}
		if e.agent != "" {
			c.AgentID = e.agent
		}
	default:
		return Call{}, false
	}
	m := &e.message
	if !e.used || m.Model == entrylex.SyntheticModel {
		return Call{}, false
	}
	c.MessageID, c.Model, c.Usage = m.MessageID, m.Model, m.Usage
	if c.MessageID == "" {
		c.UUID = string(e.uuid)
	}
	return c, true
}

// searched returns the call with the searches of a result, whose call is in content. It returns
// false if the result reports none.
func (c Call) searched(result, content []byte) (Call, bool) {
	n := entrylex.Searches(result)
	if n == 0 {
		return Call{}, false
	}
	c.Usage.WebSearches, c.ToolUseID, c.CostUSD = n, entrylex.ResultID(content), 0
	return c, c.ToolUseID != ""
}

func (d *callScanner) member(key []byte) {
	switch string(key) {
	case entrylex.KeyType:
		d.kind = d.Word()
	case entrylex.KeySessionID:
		d.call.SessionID = d.Word()
	case entrylex.KeyIsSidechain:
		d.call.Sidechain = d.Flag()
	case entrylex.KeyAgentID:
		d.own.agent = d.Word()
	case entrylex.KeyData:
		d.progressMember()
	case entrylex.KeyForkedFrom:
		d.call.Forked = d.SkipObject() || d.call.Forked
	case entrylex.KeySessionKind:
		d.call.Forked = d.Word() == entrylex.BackgroundSession || d.call.Forked
	case entrylex.KeyCostUSD:
		d.call.CostUSD = d.Cost()
	case entrylex.KeyToolUseResult:
		d.own.result = d.Skip()
	default:
		d.entryMember(&d.own, key)
	}
}

// entryMember reads a member that entries inside of others have too.
func (d *callScanner) entryMember(e *scannedEntry, key []byte) {
	switch string(key) {
	case entrylex.KeyUUID:
		e.uuid = append(e.uuid[:0], d.StringBytes()...)
	case entrylex.KeyTimestamp:
		e.time = d.Time()
	case entrylex.KeyRequestID:
		e.request = d.Word()
	case entrylex.KeyMessage:
		d.messageOf(e)
	default:
		d.Skip()
	}
}

func (d *callScanner) messageOf(e *scannedEntry) {
	e.message, e.used = Call{}, false
	if d.Peek() != '{' {
		d.Skip()
		return
	}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "id":
			e.message.MessageID = d.Word()
		case "model":
			e.message.Model = d.Word()
		case "usage":
			e.message.Usage = Usage{}
			e.used = d.ReadUsage((*entrylex.Usage)(&e.message.Usage))
		case "content":
			e.content = d.Skip()
		default:
			d.Skip()
		}
	}
}

// progressMember reads the data of an entry about the progress of a subagent. It may hold an entry
// of that subagent.
func (d *callScanner) progressMember() {
	d.progress.reset()
	if d.Peek() != '{' {
		d.Skip()
		return
	}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch {
		case string(key) == entrylex.KeyAgentID:
			d.progress.agent = d.Word()
		case string(key) == entrylex.KeyMessage && d.Peek() == '{':
			d.innerEntry()
		default:
			d.Skip()
		}
	}
}

func (d *callScanner) innerEntry() {
	agent := d.progress.agent
	d.progress.reset()
	d.progress.agent = agent
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		d.entryMember(&d.progress, key)
	}
}

// A Tally counts each answer of the model once, however often it was written down. The agent writes
// one answer as several lines, which repeat its usage, the first of them often with a count that is
// not final; and it copies answers into the transcripts of forks and subagents. So a tally should
// get the lines of all transcripts before anything is added up.
//
// Its content does not depend on the order in which the lines came, nor on how they were spread
// over tallies that were merged. The zero value is ready. It is for one goroutine at a time.
type Tally struct {
	// answers are the best copies.
	answers map[answerKey]*Call
	// unnamed are calls with neither an ID nor a UUID: nothing distinguishes them.
	unnamed []Call
	// searches are the searches of tools, by the ID of the tool's call.
	searches map[string]*Call
}

// An answerKey identifies the copies of an answer. Those that may be copies of any answer with the
// ID have no request.
type answerKey struct{ id, request string }

// Add takes note of a call. Those with the same MessageID and RequestID are one answer, and so are
// those with the same MessageID where one has no RequestID or is a sidechain's, since a sidechain
// may repeat what was said before under its own RequestID. It prefers the copy in the main
// conversation, then the copy with the most tokens.
func (t *Tally) Add(c Call) {
	if c.ToolUseID != "" {
		t.addSearches(c)
		return
	}
	key := answerKey{c.MessageID, c.request()}
	switch {
	case c.MessageID == "" && c.UUID == "":
		t.unnamed = append(t.unnamed, c)
		return
	case c.MessageID == "":
		key.id = "\x00" + c.UUID // never that of a message
	}
	if t.answers == nil {
		t.answers = map[answerKey]*Call{}
	}
	if best := t.answers[key]; best == nil {
		t.answers[key] = &c
	} else if compareCopies(&c, best) < 0 {
		*best = c
	}
}

// addSearches takes note of the searches of a tool, once.
func (t *Tally) addSearches(c Call) {
	if t.searches == nil {
		t.searches = map[string]*Call{}
	}
	if best := t.searches[c.ToolUseID]; best == nil || compareCopies(&c, best) < 0 {
		t.searches[c.ToolUseID] = &c
	}
}

// AddLine takes note of the answer that a line of a transcript counts for, if it counts for one. It
// returns an error if the line is not a JSON object. For many lines, a [CallDecoder] and
// [Tally.Add] are faster.
func (t *Tally) AddLine(line []byte) error {
	var d CallDecoder
	c, ok, err := d.Decode(line)
	if ok {
		t.Add(c)
	}
	return err
}

// Merge adds all that o has. It leaves o as it is, and o may be nil.
func (t *Tally) Merge(o *Tally) {
	if o == nil {
		return
	}
	for _, c := range o.answers {
		t.Add(*c)
	}
	for _, c := range o.searches {
		t.Add(*c)
	}
	t.unnamed = append(t.unnamed, o.unnamed...)
}

// Copies returns everything that the tally distinguishes, in no order: of each answer the best copy
// of each request, and the searches of tools. Another tally that gets all of it is equal to this one,
// so that a tally can be saved and added to later. Use [Tally.Calls] to count.
func (t *Tally) Copies() iter.Seq[Call] {
	return func(yield func(Call) bool) {
		for _, calls := range []iter.Seq[*Call]{maps.Values(t.answers), maps.Values(t.searches)} {
			for c := range calls {
				if !yield(*c) {
					return
				}
			}
		}
		for i := range t.unnamed {
			if !yield(t.unnamed[i]) {
				return
			}
		}
	}
}

// Calls returns each answer once, by time, then by ID. The list is new at each call. Pass it to
// [Cost] or [NewReport].
func (t *Tally) Calls() []Call {
	calls := t.calls()
	slices.SortFunc(calls, func(a, b Call) int {
		if order := cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.MessageID, b.MessageID)); order != 0 {
			return order
		}
		return cmp.Or(cmp.Compare(a.RequestID, b.RequestID), cmp.Compare(a.UUID, b.UUID), compareCopies(&a, &b))
	})
	return calls
}

// calls is Calls in any order. A call without a request competes with the best of the answers that
// it may be a copy of, and takes its place.
func (t *Tally) calls() []Call {
	calls := make([]Call, 0, len(t.unnamed)+len(t.answers))
	calls = append(calls, t.unnamed...)
	rivals := t.rivals()
	for key, c := range t.answers {
		rival := rivals[key.id]
		switch {
		case rival == nil || key.request != "" && rival != c:
			calls = append(calls, *c)
		case key.request == "" && compareCopies(c, rival) < 0:
			calls = append(calls, *c)
			calls[len(calls)-1].RequestID = rival.RequestID
		case key.request == "":
			calls = append(calls, *rival)
		}
	}
	if len(t.searches) > 0 {
		calls = t.withSearches(calls)
	}
	return calls
}

// withSearches adds the searches of tools to the answers that asked for them: the last ones before
// the results, in the same conversation. An answer that counts searches itself may have counted
// these, so the larger number is taken. Searches without an answer are a call.
func (t *Tally) withSearches(calls []Call) []Call {
	type conversation struct{ session, agent string }
	answers := map[conversation][]int{}
	for i := range calls {
		at := conversation{calls[i].SessionID, calls[i].AgentID}
		answers[at] = append(answers[at], i)
	}
	for _, list := range answers {
		slices.SortFunc(list, func(a, b int) int {
			return cmp.Or(calls[a].Time.Compare(calls[b].Time), cmp.Compare(calls[a].MessageID, calls[b].MessageID))
		})
	}
	found := map[int]int{} // searches, by the index of the answer
	for _, id := range slices.Sorted(maps.Keys(t.searches)) {
		c := t.searches[id]
		list := answers[conversation{c.SessionID, c.AgentID}]
		after := sort.Search(len(list), func(i int) bool { return calls[list[i]].Time.After(c.Time) })
		if after == 0 {
			calls = append(calls, *c)
			continue
		}
		found[list[after-1]] += c.Usage.WebSearches
	}
	for i, n := range found {
		calls[i].Usage.WebSearches = max(calls[i].Usage.WebSearches, n)
	}
	return calls
}

// rivals returns the best answer with a request for each ID of which there is a copy without.
func (t *Tally) rivals() map[string]*Call {
	best := map[string]*Call{}
	for key, c := range t.answers {
		if key.request == "" || t.answers[answerKey{id: key.id}] == nil {
			continue
		}
		if b := best[key.id]; b == nil || compareCopies(c, b) < 0 {
			best[key.id] = c
		}
	}
	return best
}

// Total returns the sum of all answers and how many there are. Both are 0 for an empty tally.
func (t *Tally) Total() (Sum, int) {
	var sum Sum
	calls := t.calls()
	for i := range calls {
		sum = sum.plus(sumOf(&calls[i].Usage), 1)
	}
	return sum, len(calls)
}

// A Call is one answer of the model, with its usage. transcript.CallOf and a [CallDecoder] make it
// from a line.
type Call struct {
	// MessageID is the ID that the API gave to the answer, such as "msg_01B…". All lines of an
	// answer have the same. It is "" if the line has none.
	MessageID string
	// RequestID is the ID of the request, such as "req_011C…". Some gateways give none: then it is
	// "".
	RequestID string
	// UUID is the UUID of the entry where MessageID is empty, and empty otherwise.
	UUID string
	// ToolUseID is set for searches that a tool reports instead of an answer: it is the ID of the
	// tool's call, and Usage has nothing but the searches. A [Tally] adds them to the answer that
	// made the call. It is "" for an answer.
	ToolUseID string
	// Model is the model that answered, as the transcript names it, such as "claude-opus-5-5" or
	// "us.anthropic.claude-sonnet-4-5-20250929-v1:0". [Prices.Name] returns the usual name.
	Model string
	// Time is the time of the line, or the zero time if it has none. In a [Tally] it is the time of
	// the last line that has the final count.
	Time time.Time
	// Usage counts the tokens of the whole answer, as this line has them.
	Usage Usage
	// Sidechain reports whether a subagent was answered.
	Sidechain bool
	// Forked reports whether the line may be a copy: it is in a fork of another session, or reports
	// the progress of a subagent, whose own transcript also has it.
	Forked bool

	// SessionID is the ID of the session that has the line. For a subagent it is the ID of the
	// session that started it.
	SessionID string
	// AgentID is the ID of the subagent that was answered, or "" for the main conversation.
	AgentID string
	// Project is the name of the directory of the transcript, such as "-home-me-code". The line
	// itself does not have it: sessions.ScanUsage fills it in. Otherwise it is "".
	Project string

	// CostUSD is the cost of the answer in dollars, where an older agent wrote it down, and 0
	// otherwise. [Prices.Cost] then uses it in place of the table.
	CostUSD float64
}

// request returns the RequestID if it identifies an answer, and "" if the call may be a copy of
// any.
func (c *Call) request() string {
	if c.Sidechain {
		return ""
	}
	return c.RequestID
}

// compareCopies returns less than 0 if a is the better copy of an answer. The order is total: two
// copies that are equal in it are the same.
func compareCopies(a, b *Call) int {
	return cmp.Or(
		compareBools(a.Sidechain, b.Sidechain),
		cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens()),
		compareBools(b.Usage.Fast, a.Usage.Fast),
		compareBools(a.Forked, b.Forked),
		cmp.Compare(a.Project, b.Project),
		cmp.Compare(a.SessionID, b.SessionID),
		cmp.Compare(a.AgentID, b.AgentID),
		b.Time.Compare(a.Time),
		cmp.Compare(a.RequestID, b.RequestID),
		cmp.Compare(a.Model, b.Model),
		cmp.Compare(b.CostUSD, a.CostUSD),
		compareUsage(&a.Usage, &b.Usage),
	)
}

// compareUsage puts the one with more details first.
func compareUsage(a, b *Usage) int {
	return cmp.Or(
		cmp.Compare(b.OutputTokens, a.OutputTokens),
		cmp.Compare(b.InputTokens, a.InputTokens),
		cmp.Compare(b.CacheCreationTokens, a.CacheCreationTokens),
		cmp.Compare(b.CacheCreation5mTokens, a.CacheCreation5mTokens),
		cmp.Compare(b.CacheCreation1hTokens, a.CacheCreation1hTokens),
		cmp.Compare(b.ThinkingTokens, a.ThinkingTokens),
		cmp.Compare(b.WebSearches, a.WebSearches),
		cmp.Compare(b.WebFetches, a.WebFetches),
		compareBools(b.InferenceUS, a.InferenceUS),
		cmp.Compare(b.ServiceTier, a.ServiceTier),
	)
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
