package search

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"time"
)

// An Order is the order of the hits of a [Result].
type Order uint8

// The orders. The zero value is Newest.
const (
	Newest    Order = iota // the newest first
	Relevance              // the sessions with the best hits first, and their hits together: see [Hit.Score]
)

// A Group describes the hits of one session.
type Group struct {
	Project, SessionID string
	// Hits is the number of hits of the session in the result, and More the number of others.
	Hits, More int
}

// The parts of a score: see [Hit.Score].
const (
	agentWeight  = 0.75 // of what subagents said, against the conversation with the user
	lengthUnit   = 50   // words
	recencyUnit  = 7 * 24 * time.Hour
	maxDoubled   = 5 // more hits in a session than 2 to this power change nothing
	doubledBonus = 0.1
	// guessed is the least closeness of words whose text was not read yet.
	guessed = 1.3
)

// weight returns what a role counts in a score.
func (r Role) weight() float64 {
	switch r {
	case Title:
		return 3
	case Prompt:
		return 2
	case Answer:
		return 1.5
	default:
		return 1
	}
}

// score returns the score of a passage, without the closeness of the words in it.
func (p *location) score(agent bool, now int64) float64 {
	score := p.role.weight() / (1 + math.Log2(1+float64(p.words)/lengthUnit)/4)
	if agent {
		score *= agentWeight
	}
	return score * (1 + p.recent(now))
}

// A closeness measures how close a query's words are to each other in texts.
type closeness struct {
	query *Query
	words int // of the query
}

func newCloseness(q *Query) *closeness {
	c := &closeness{query: q}
	for _, p := range q.phrases {
		c.words += len(p.words)
	}
	return c
}

// one reports whether the query has only one word or phrase.
func (c *closeness) one() bool { return len(c.query.phrases) <= 1 }

// guess returns the closeness in a text that was not read, by its number of words.
func (c *closeness) guess(p *location) float64 {
	if c.one() {
		return c.of(c.words)
	}
	return max(guessed, c.of(int(p.words)))
}

// in returns the closeness in a text that matches.
func (c *closeness) in(t *tokenizer, text string) float64 {
	if c.one() {
		return c.of(c.words)
	}
	return c.of(c.query.window(t, text))
}

// of returns the closeness of the words in a window of so many words.
func (c *closeness) of(window int) float64 {
	return 1 + float64(c.words)/float64(max(window, c.words, 1))
}

// window returns the number of words of the shortest section of a text that has all words and
// phrases of the query. If they are in another order there, it is one more.
func (q *Query) window(t *tokenizer, text string) int {
	shortest := math.MaxInt
	var begun []attempt
	starts := slices.Repeat([]int{-1}, len(q.phrases)) // of the last match of each phrase, in words
	for at, end := 0, 0; ; at++ {
		if _, end = t.next(text, end); end == 0 {
			return shortest
		}
		for i := range q.phrases {
			begun = append(begun, attempt{phrase: i, start: at})
		}
		going := begun[:0]
		for _, a := range begun {
			p := &q.phrases[a.phrase]
			if p.fits(t.word, a.words) == none {
				continue
			}
			if a.words++; a.words < len(p.words) {
				going = append(going, a)
				continue
			}
			starts[a.phrase] = a.start
			if first := slices.Min(starts); first >= 0 {
				length := at + 1 - first
				if !slices.IsSorted(starts) {
					length++
				}
				shortest = min(shortest, length)
			}
		}
		begun = going
	}
}

// maxCompared is the number of hits whose words are compared by how close they are. These are the
// best ones by everything else.
const maxCompared = 256

// maxComparedTurns is the same for turns, whose order depends on the words that they have more than on
// how close these are.
const maxComparedTurns = 64

// A relevance finds the most relevant hits. Candidates are added first, and then taken.
type relevance struct {
	query  *Query
	near   *closeness
	now    int64
	exact  bool // all candidates are hits
	groups map[groupKey]*group
	turns  *turnRanking // of a query by Parse
	left   int          // the turns that newestTurns did not take
}

type groupKey struct{ project, session string }

// A group has the candidates of a session.
type group struct {
	groupKey
	count   int               // of passages that have the words, side by side or not
	matched int               // of these, without those that are known not to match
	factor  float64           // the bonus, once they are taken
	waiting queue[*candidate] // while they are added, the worst is first
	taken   []*candidate
}

func newGroup(key groupKey) *group {
	return &group{groupKey: key, waiting: queue[*candidate]{before: worstFirst}}
}

func newRelevance(q *Query, exact bool) *relevance {
	now := q.Now
	if now.IsZero() {
		now = time.Now()
	}
	r := &relevance{query: q, near: newCloseness(q), now: now.UnixMilli(), exact: exact, groups: map[groupKey]*group{}}
	if q.typed {
		r.turns = newTurnRanking(q, exact)
	}
	return r
}

func (r *relevance) group(project, session string) *group {
	key := groupKey{project, session}
	g := r.groups[key]
	if g == nil {
		g = newGroup(key)
		r.groups[key] = g
	}
	return g
}

// depth is the most candidates of a session that are taken if most of them are shown, or 0 for all.
// It is more, since the order of the best may change when their texts are compared.
func (r *relevance) depth(most int) int {
	if most <= 0 || r.query.Limit <= 0 {
		return max(r.query.Limit, 0)
	}
	return most + r.query.PerSession
}

// score gives a candidate a score by its location.
func (r *relevance) score(c *candidate) {
	c.base = r.base(c)
	c.score = c.base * r.near.guess(&c.location)
}

// base returns the score of a candidate by its location alone.
func (r *relevance) base(c *candidate) float64 {
	return c.location.score(c.file.AgentID != "" || c.location.agent != "", r.now)
}

// add adds a candidate with a score to a group, or one without to its turn. It makes a copy if it keeps
// the candidate.
func (r *relevance) add(g *group, c *candidate) {
	if r.turns != nil {
		r.turns.add(g, c)
		return
	}
	most := r.depth(r.query.Limit)
	switch list := g.waiting.list; {
	case !r.exact || most == 0:
		kept := *c
		g.waiting.list = append(g.waiting.list, &kept)
	case len(list) < most:
		kept := *c
		heap.Push(&g.waiting, &kept)
	case c.better(list[0]) < 0:
		*list[0] = *c
		heap.Fix(&g.waiting, 0)
	}
}

// take returns the groups with hits, the best first. It reads the best candidates only: read
// reports whether one is a hit, and sets its score by its text. If there are too few sessions for all
// hits that the query wants, it takes more of each.
func (r *relevance) take(read func(*candidate) bool) []*group {
	if r.turns != nil {
		r.turns.rank(r.now)
	}
	for _, g := range r.groups {
		g.factor, g.waiting.before = g.bonus(), bestFirst
		if r.turns != nil {
			g.factor = 1 // how many turns have some of the words says nothing
		}
		heap.Init(&g.waiting)
	}
	most := max(r.query.PerSession, 0)
	compared := r.takeMost(read, most, 0)
	for most > 0 && most < r.query.Limit && r.shown(most) < r.query.Limit {
		most++
		compared = r.takeMost(read, most, compared)
	}
	return r.sorted(most)
}

// takeMost takes candidates until they suffice, if most hits of a session are shown. It returns how
// many hits were compared.
func (r *relevance) takeMost(read func(*candidate) bool, most, compared int) int {
	depth := r.depth(most)
	done := func(g *group) bool { return g.waiting.Len() == 0 || depth > 0 && len(g.taken) >= depth }
	groups := queue[*group]{before: bestHead}
	for _, g := range r.groups {
		if !done(g) {
			groups.list = append(groups.list, g)
		}
	}
	heap.Init(&groups)
	shown := r.shown(most)
	for groups.Len() > 0 && !r.enough(compared, shown) {
		g := groups.list[0]
		if r.step(g, read) {
			if compared++; most == 0 || len(g.taken) <= most {
				shown++
			}
		}
		if done(g) {
			heap.Pop(&groups)
		} else {
			heap.Fix(&groups, 0)
		}
	}
	return compared
}

// step reads the best candidate of a group that waits, and reports whether it was taken.
func (r *relevance) step(g *group, read func(*candidate) bool) bool {
	c := heap.Pop(&g.waiting).(*candidate) //nolint:forcetypeassert // only candidates are pushed
	if !read(c) {
		g.matched--
		return false
	}
	g.taken = append(g.taken, c)
	return true
}

// enough reports whether the hits that were taken suffice for the result.
func (r *relevance) enough(compared, shown int) bool {
	most := maxCompared
	if r.turns != nil {
		most = maxComparedTurns
	}
	return r.query.Limit > 0 && shown >= r.query.Limit && (r.near.one() || compared >= most)
}

// shown returns how many hits that were taken are shown, if most of a session are.
func (r *relevance) shown(most int) (n int) {
	for _, g := range r.groups {
		if most > 0 {
			n += min(len(g.taken), most)
		} else {
			n += len(g.taken)
		}
	}
	return n
}

// sorted returns the groups with hits that were taken, in the order of their scores, and cuts them to
// the most hits of a session.
func (r *relevance) sorted(most int) []*group {
	var list []*group
	for _, g := range r.groups {
		if len(g.taken) == 0 {
			continue
		}
		for _, c := range g.taken {
			c.score *= g.factor
		}
		slices.SortFunc(g.taken, (*candidate).better)
		if most > 0 && len(g.taken) > most {
			g.taken = g.taken[:most]
		}
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *group) int { return a.taken[0].better(b.taken[0]) })
	return list
}

// bonus returns what the number of hits in a session counts in their scores.
func (g *group) bonus() float64 {
	return 1 + doubledBonus*min(math.Log2(float64(max(g.count, 1))), maxDoubled)
}

// hits takes the candidates and makes the result. read reports whether one is a hit, and sets its score
// by its text.
func (r *relevance) hits(read func(*candidate) bool, hit func(*candidate) (Hit, error)) (*Result, error) {
	if r.turns == nil || r.query.Order == Relevance {
		return r.result(r.take(read), hit)
	}
	result := new(Result)
	for _, c := range r.newestTurns(read) {
		h, err := hit(c)
		if err != nil {
			return nil, err
		}
		result.Hits = append(result.Hits, h)
	}
	result.More = r.left
	return result, nil
}

// result makes the hits and counts what is left.
func (r *relevance) result(groups []*group, hit func(*candidate) (Hit, error)) (*Result, error) {
	result := new(Result)
	all := 0
	for _, g := range r.groups {
		if all += g.matched; g.matched > 0 {
			result.MoreSessions++
		}
	}
	for _, g := range groups {
		n := len(g.taken)
		if limit := r.query.Limit; limit > 0 {
			n = min(n, limit-len(result.Hits))
		}
		if n == 0 {
			break
		}
		for _, c := range g.taken[:n] {
			h, err := hit(c)
			if err != nil {
				return nil, err
			}
			h.Score = c.score
			result.Hits = append(result.Hits, h)
		}
		result.Groups = append(result.Groups, Group{g.project, g.session, n, g.matched - n})
		result.MoreSessions--
	}
	result.More = all - len(result.Hits)
	return result, nil
}

// better is negative if c has a better score than other or, with the same score, is newer.
func (c *candidate) better(other *candidate) int {
	return cmp.Or(cmp.Compare(other.score, c.score), c.compare(other))
}

// A queue is a heap of candidates or groups. Its first element is the one before all others.
type queue[T any] struct {
	list   []T
	before func(a, b T) bool
}

func (q *queue[T]) Len() int           { return len(q.list) }
func (q *queue[T]) Less(i, j int) bool { return q.before(q.list[i], q.list[j]) }
func (q *queue[T]) Swap(i, j int)      { q.list[i], q.list[j] = q.list[j], q.list[i] }

// Push is for package heap.
func (q *queue[T]) Push(x any) {
	q.list = append(q.list, x.(T)) //nolint:forcetypeassert // nothing else is pushed
}

// Pop is for package heap.
func (q *queue[T]) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}

// bestFirst and worstFirst are orders of candidates.
func bestFirst(a, b *candidate) bool  { return a.better(b) < 0 }
func worstFirst(a, b *candidate) bool { return a.better(b) > 0 }

// bestHead is the order of groups by their best candidates that wait.
func bestHead(a, b *group) bool {
	x, y := a.waiting.list[0], b.waiting.list[0]
	return cmp.Or(cmp.Compare(y.score*b.factor, x.score*a.factor), x.compare(y)) < 0
}
