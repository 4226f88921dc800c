package search

import (
	"cmp"
	"container/heap"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/clewdev/clew/sessions"
)

// A turnKey names a turn. All of a subagent's own transcript is one.
type turnKey struct {
	file  *sessions.File
	agent string
	turn  int64
}

// A turn collects the passages of a turn that have words of a query.
type turn struct {
	key   turnKey
	group *group
	// texts are the passages with the most words, the best first: the turn's place, and more of them
	// if the query wants several.
	texts []*candidate
	// cover is the share of each word of the query that the turn has, and best the weight of that
	// share.
	cover, best []float32
	excluded    bool
	// others are passages with phrases that the turn must or must not have, for which its texts have to
	// be read.
	others []*candidate
	// read reports whether that was done.
	read bool
}

// A turnRanking ranks turns, for queries by Parse.
type turnRanking struct {
	query    *Query
	turns    map[turnKey]*turn
	last     *turn
	counts   []int // the passages that have each word
	parts    []int // the passages that only have a longer word
	floats   []float32
	required uint64 // the words and phrases that a turn must have
	excluded uint64
	verify   uint64 // those of them that only the texts can tell
	weights  []float64

	tokenizer tokenizer
	text      func(*candidate) (string, bool) // returns the text of a passage, if it can be read
}

// newTurnRanking returns a ranking of passages whose masks are right, if exact is true. Otherwise they
// may have phrases by mistake.
func newTurnRanking(q *Query, exact bool) *turnRanking {
	n := len(q.phrases)
	t := &turnRanking{query: q, turns: map[turnKey]*turn{}, counts: make([]int, n), parts: make([]int, n)}
	for i := range q.phrases {
		p, bit := &q.phrases[i], uint64(1)<<i
		switch {
		case p.excluded:
			t.excluded |= bit
		case p.required:
			t.required |= bit
		}
		if !exact && len(p.words) > 1 {
			t.verify |= bit & (t.excluded | t.required)
		}
	}
	return t
}

const (
	// The weights of other forms and of longer words, relative to the word itself.
	formFit = 0.9
	partFit = 0.4

	// The weights of passages, relative to prompts, answers and titles.
	thinkingFit = 0.7
	callFit     = 0.75
	outputFit   = 0.2
	agentFit    = 0.8

	// outputCover is the share of a word that a turn has if only an output has it.
	outputCover = 0.5

	// The weights of a word for a turn that lacks it: if the title has it, or another turn.
	titleFit   = 0.8
	sessionFit = 0.2

	// minCover is the part of the words of the best turn that another one has at least.
	minCover = 0.5
)

// fit returns the weight of a passage.
func (c *candidate) fit() float32 {
	fit := float32(1)
	switch p := &c.location; {
	case p.role == Thinking:
		fit = thinkingFit
	case p.role == Tool && p.output:
		fit = outputFit
	case p.role == Tool:
		fit = callFit
	}
	if c.file.AgentID != "" || c.location.agent != "" {
		fit *= agentFit
	}
	return fit
}

// covers returns the share of a word that a passage has. It decides which turns are hits at all.
func covers(t tier, p *location) float32 {
	cover := float32(1)
	if t == part {
		cover = partFit
	}
	if p.output {
		cover *= outputCover
	}
	return cover
}

var fits = [...]float32{none: 0, exact: 1, form: formFit, part: partFit}

// add adds a passage that has some of the words. It makes a copy if it keeps the candidate.
func (r *turnRanking) add(g *group, c *candidate) {
	t := r.turnOf(g, c)
	t.excluded = t.excluded || c.masks.exact&r.excluded&^r.verify != 0
	fit, value := c.fit(), float32(0)
	for mask := c.masks.any() &^ r.excluded; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		tier := c.masks.tier(i)
		if tier == part {
			r.parts[i]++
		} else {
			r.counts[i]++
		}
		t.cover[i] = max(t.cover[i], covers(tier, &c.location))
		t.best[i] = max(t.best[i], fits[tier]*fit)
		value += float32(r.query.phrases[i].weight) * fits[tier]
	}
	c.value = value * (0.6 + 0.4*fit)
	keep := c.value > 0 && (len(t.texts) < max(r.query.PerTurn, 1) || c.leads(t.texts[len(t.texts)-1]))
	found := c.masks.exact & r.verify
	verify := found != 0 && len(t.others) < maxOthers
	// Where too many texts would have to be read, the turn has the phrase that the filter has found.
	t.excluded = t.excluded || !verify && found&r.excluded != 0
	if !keep && !verify {
		return
	}
	kept := *c
	if verify {
		t.others = append(t.others, &kept)
	}
	if keep {
		at, _ := slices.BinarySearchFunc(t.texts, &kept, func(a, b *candidate) int {
			if a.leads(b) {
				return -1
			}
			return 1
		})
		t.texts = slices.Insert(t.texts, at, &kept)
		t.texts = t.texts[:min(len(t.texts), max(r.query.PerTurn, 1))]
	}
}

// leads reports whether a passage is better than another one of its turn.
func (c *candidate) leads(other *candidate) bool {
	if c.value != other.value {
		return c.value > other.value
	}
	return cmp.Or(cmp.Compare(other.role().weight(), c.role().weight()),
		cmp.Compare(c.location.words, other.location.words), c.compare(other)) < 0
}

// maxOthers is the most texts of a turn that are read for a phrase.
const maxOthers = 16

// confirmed reports whether the texts of a turn have the phrases that it must have, and none that it
// must not have. The text of the given passage, which may be nil, was read already and has these words.
func (r *turnRanking) confirmed(t *turn, passage *candidate, has masks) bool {
	if t.read || len(t.others) == 0 {
		return !t.excluded
	}
	t.read = true
	missing := r.verify & r.required
	for _, other := range t.others {
		if other.masks.exact&r.verify&(missing|r.excluded) == 0 || t.excluded {
			continue
		}
		in := has
		if other != passage {
			text, ok := r.text(other)
			if !ok {
				t.excluded = other.masks.exact&r.verify&r.excluded != 0
				continue
			}
			_, in = r.query.findAll(&r.tokenizer, text)
		}
		missing &^= in.exact
		t.excluded = in.exact&r.excluded != 0
	}
	t.excluded = t.excluded || missing != 0
	return !t.excluded
}

func (c *candidate) role() Role { return c.location.role }

// turnOf returns the turn of a passage.
func (r *turnRanking) turnOf(g *group, c *candidate) *turn {
	key := turnKey{c.file, c.location.agent, c.location.turn}
	if c.owner != nil {
		key.file = c.owner.file
	}
	if r.last != nil && r.last.key == key {
		return r.last
	}
	t := r.turns[key]
	if t == nil {
		t = &turn{key: key, group: g, cover: r.list(), best: r.list()}
		r.turns[key] = t
	}
	r.last = t
	return t
}

// list returns a list with a number for each word.
func (r *turnRanking) list() []float32 {
	n := len(r.query.phrases)
	if len(r.floats) < n {
		r.floats = make([]float32, 1024*n)
	}
	list := r.floats[:n:n]
	r.floats = r.floats[n:]
	return list
}

// weigh returns what each word counts: the fewer passages have it, the more. Nobody can lack a word
// that no passage has.
func (r *turnRanking) weigh() []float64 {
	list := make([]float64, len(r.counts))
	numbers := make([]int, len(r.counts))
	for i, n := range r.counts {
		if numbers[i] = n; n == 0 {
			numbers[i] = r.parts[i]
		}
	}
	most := slices.Max(numbers)
	for i, n := range numbers {
		if n > 0 && r.excluded&(1<<i) == 0 {
			list[i] = r.query.phrases[i].weight * math.Log2(2+float64(most)/float64(n))
		}
	}
	return list
}

// sum returns the part of the weights that a list of fits has.
func (r *turnRanking) sum(fit func(i int) float32) float64 {
	var sum, all float64
	for i, w := range r.weights {
		all += w
		sum += w * float64(fit(i))
	}
	return sum / max(all, math.SmallestNonzeroFloat64)
}

// wanted returns the turns that may be hits, and how many of the words each has.
func (r *turnRanking) wanted() (list []*turn, shares []float64) {
	r.weights = r.weigh()
	for _, t := range r.turns {
		if t.excluded || len(t.texts) == 0 || !t.has(r.required) {
			continue
		}
		list, shares = append(list, t), append(shares, r.sum(func(i int) float32 { return t.cover[i] }))
	}
	kept, most := 0, r.most(list, shares)
	for i, t := range list {
		if shares[i] > 0 && shares[i] >= minCover*most {
			list[kept], shares[kept] = t, shares[i]
			kept++
		}
	}
	return list[:kept], shares[:kept]
}

// most returns the share of the best turn. It sets the shares of better ones, whose texts it read and
// which are no hits, to 0.
func (r *turnRanking) most(list []*turn, shares []float64) float64 {
	for {
		best := 0
		for i, share := range shares {
			if share > shares[best] {
				best = i
			}
		}
		if len(list) == 0 || shares[best] == 0 || r.confirmed(list[best], nil, masks{}) {
			return append(shares, 0)[best]
		}
		shares[best] = 0
	}
}

// has reports whether a turn has words and phrases, as far as the index knows.
func (t *turn) has(mask uint64) bool {
	for ; mask != 0; mask &= mask - 1 {
		if t.cover[bits.TrailingZeros64(mask)] == 0 {
			return false
		}
	}
	return true
}

// rank gives the turns their scores without the closeness of the words, and adds them to their groups.
func (r *turnRanking) rank(now int64) {
	list, shares := r.wanted()
	titles, anywhere := map[*group][]float32{}, map[*group][]float32{}
	for _, t := range r.turns {
		of := anywhere
		if len(t.texts) > 0 && t.texts[0].role() == Title {
			of = titles
		}
		if of[t.group] == nil {
			of[t.group] = r.list()
		}
		for i, fit := range t.best {
			of[t.group][i] = max(of[t.group][i], fit)
		}
	}
	for n, t := range list {
		title, session := titles[t.group], anywhere[t.group]
		fit := r.sum(func(i int) float32 {
			best := t.best[i]
			if title != nil {
				best = max(best, titleFit*title[i])
			}
			if session != nil {
				best = max(best, sessionFit*session[i])
			}
			return best
		})
		for _, c := range t.texts {
			c.turn, c.share = t, shares[n]
			alone := r.sum(func(i int) float32 { return fits[c.masks.tier(i)] })
			c.base = math.Pow(fit, fitExponent) * (1 + alone) * c.location.turnScore(now)
			c.base *= float64(c.value / t.texts[0].value)
			c.score = c.base * guessed
		}
		t.group.matched += len(t.texts)
		t.group.waiting.list = append(t.group.waiting.list, t.texts...)
	}
}

// fitExponent makes turns with more of the words come before others, nearly always.
const fitExponent = 3

// turnScore returns what the place of a turn's best passage counts.
func (p *location) turnScore(now int64) float64 {
	score := 1 / (1 + math.Log2(1+float64(p.words)/lengthUnit)/16)
	switch p.role {
	case Title:
		score *= 1.3
	case Prompt:
		score *= 1.2
	case Answer:
		score *= 1.1
	default:
	}
	return score * (1 + p.recent(now)*maxRecent)
}

// maxRecent is the extra weight of a passage of this moment, relative to an old one.
const maxRecent = 0.15

// recent returns how new a passage is, from 0 to 1: after a week it is a half.
func (p *location) recent(now int64) float64 {
	if p.time == 0 {
		return 0
	}
	age := max(0, time.Duration(now-p.time)*time.Millisecond)
	return 1 / (1 + float64(age)/float64(recencyUnit))
}

// readTurn records the matches in the text of a turn's best passage, and sets the score by their
// closeness. It returns false if the turn is no hit.
func (r *relevance) readTurn(t *tokenizer, c *candidate, text string) bool {
	spans, has := r.query.findAll(t, text)
	if has.any() == 0 || !c.take(text, spans) || !r.turns.confirmed(c.turn, c, has) {
		return false
	}
	near := &Query{typed: true}
	for i, p := range r.query.phrases {
		if has.any()&(1<<i) != 0 && p.weight == 1 && !p.excluded {
			near.phrases = append(near.phrases, p)
		}
	}
	c.score = c.base
	if len(near.phrases) > 0 {
		c.score *= newCloseness(near).in(t, text)
	}
	return true
}

// allCover is the part of the words of the best turn that those with all words have at least: a word
// may be in an output.
const allCover = 0.8

// newestTurns returns the turns with all words, the newest first.
func (r *relevance) newestTurns(read func(*candidate) bool) []*candidate {
	list, shares := r.turns.wanted()
	most := 0.0
	for _, share := range shares {
		most = max(most, share)
	}
	waiting := queue[*candidate]{before: func(a, b *candidate) bool { return a.compare(b) < 0 }}
	for i, t := range list {
		if shares[i] >= most*allCover {
			for _, c := range t.texts {
				c.turn, c.share = t, shares[i]
			}
			waiting.list = append(waiting.list, t.texts...)
		}
	}
	heap.Init(&waiting)
	var taken []*candidate
	for waiting.Len() > 0 && (r.query.Limit <= 0 || len(taken) < r.query.Limit) {
		c := heap.Pop(&waiting).(*candidate) //nolint:forcetypeassert // only candidates are pushed
		if read(c) {
			c.score = 0
			taken = append(taken, c)
		}
	}
	r.left = waiting.Len()
	slices.SortStableFunc(taken, func(a, b *candidate) int { return cmp.Compare(b.location.time, a.location.time) })
	return taken
}
