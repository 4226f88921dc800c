package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strings"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search/internal/sqlite"
)

// A lookup is one search in an index that is up to date.
type lookup struct {
	query     *Query
	pairs     []pair // of the query
	db        *sqlite.DB
	files     map[int64]*sessions.File
	reader    *reader
	tokenizer tokenizer
	fileCache fileCache
	states    map[int64]*state
	spills    *spillTable     // nil until it is needed
	unread    map[string]bool // by path
	faults    []error

	locations []location // buffers of each
	filters   []pairFilter
}

func newLookup(q *Query, db *sqlite.DB, files map[int64]*sessions.File) *lookup {
	return &lookup{
		query: q, pairs: q.pairs(), db: db, files: files, reader: newReader(), states: map[int64]*state{}, unread: map[string]bool{},
	}
}

// found are the passages of a segment that have all words.
type found struct {
	segment sqlite.Segment
	file    *sessions.File
	numbers []int
	masks   []masks     // the words that each has, for a query by Parse
	owner   *spillOwner // of a spill
}

func (l *lookup) search(ctx context.Context) (*Result, error) {
	if err := l.db.Read(ctx); err != nil {
		return nil, err
	}
	matched, err := l.match(ctx)
	if err != nil {
		return nil, err
	}
	if l.query.Order == Relevance || l.query.typed {
		return l.relevant(ctx, matched)
	}
	return l.newest(ctx, matched)
}

// newest returns the newest hits.
func (l *lookup) newest(ctx context.Context, matched []found) (*Result, error) {
	q := l.query
	all := !q.Since.IsZero() || !q.Until.IsZero() // the time of each passage must be checked
	best := ranking{limit: q.Limit}
	rest := 0
	for i := range matched {
		m := &matched[i]
		if last := best.last(); !all && last != nil && m.segment.Newest < last.location.time {
			rest += len(m.numbers)
			continue
		}
		content, err := l.content(ctx, m.segment.ID)
		if err != nil {
			return nil, err
		}
		err = l.each(ctx, m, content, func(c *candidate) {
			if !best.wants(c) {
				best.total++
			} else if kept := *c; l.check(&kept) {
				best.add(&kept)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	more := rest + best.total - len(best.list)
	result := &Result{More: more, AtMost: more > 0 && !q.exact(), Unread: l.faults}
	var turns turnCounter
	for _, c := range best.sorted() {
		h, err := l.hit(ctx, c, &turns)
		if err != nil {
			return nil, err
		}
		result.Hits = append(result.Hits, h)
	}
	return result, ctx.Err()
}

// relevant returns the most relevant hits.
func (l *lookup) relevant(ctx context.Context, matched []found) (*Result, error) {
	best := newRelevance(l.query, l.query.exact())
	if best.turns != nil {
		best.turns.text = l.text
	}
	if err := l.collect(ctx, matched, best); err != nil {
		return nil, err
	}
	texts := &indexedTexts{ctx: ctx, lookup: l, best: best, filters: map[int64][]pairFilter{}}
	var turns turnCounter
	result, err := best.hits(texts.read, func(c *candidate) (Hit, error) { return l.hit(ctx, c, &turns) })
	if err = cmp.Or(texts.err, err); err != nil {
		return nil, err
	}
	result.AtMost, result.Unread = result.More > 0 && !l.query.exact(), l.faults
	return result, ctx.Err()
}

// indexedTexts reads the texts of candidates from the transcripts, and their filters from the index.
type indexedTexts struct {
	ctx     context.Context
	lookup  *lookup
	best    *relevance
	filters map[int64][]pairFilter // by segment
	err     error
}

// mayMatch reports whether the filter of a text has the pairs of the query.
func (t *indexedTexts) mayMatch(c *candidate) bool {
	if len(t.lookup.pairs) == 0 {
		return true
	}
	filters, ok := t.filters[c.segment]
	if !ok {
		var data []byte
		if data, t.err = t.lookup.db.Filters(t.ctx, c.segment); t.err == nil {
			filters, t.err = decodeFilters(nil, data)
		}
		t.filters[c.segment] = filters
	}
	if t.err == nil && c.number >= len(filters) {
		t.err = errDamaged
	}
	return t.err == nil && filters[c.number].mayHave(t.lookup.pairs)
}

// read reports whether a candidate is a hit, and sets its score by its text.
func (t *indexedTexts) read(c *candidate) bool {
	if t.err != nil || t.ctx.Err() != nil || !t.mayMatch(c) {
		return false
	}
	text, ok := t.lookup.text(c)
	if t.best.turns != nil {
		return ok && t.best.readTurn(&t.lookup.tokenizer, c, text)
	}
	if ok = ok && c.take(text, t.lookup.query.find(&t.lookup.tokenizer, text)); ok {
		c.score = c.base * t.best.near.in(&t.lookup.tokenizer, text)
	}
	return ok
}

// collect adds the candidates of segments.
func (l *lookup) collect(ctx context.Context, matched []found, best *relevance) error {
	segments := make(map[int64]*found, len(matched))
	ids := make([]int64, len(matched))
	groups := make(map[int64]*group, len(matched))
	for i := range matched {
		m := &matched[i]
		session, err := l.session(ctx, m) // not between the rows of a query
		if err != nil {
			return err
		}
		ids[i] = m.segment.ID
		segments[ids[i]], groups[ids[i]] = m, best.group(m.file.Project, session)
	}
	return l.db.Contents(ctx, sqlite.Locations, ids, func(id int64, locations []byte) error {
		g := groups[id]
		return l.each(ctx, segments[id], &content{locations: locations}, func(c *candidate) {
			g.count++
			if best.turns == nil {
				g.matched++
				best.score(c)
			}
			best.add(g, c)
		})
	})
}

// session returns the session of a file.
func (l *lookup) session(ctx context.Context, m *found) (string, error) {
	if m.file.SessionID != "" {
		return m.file.SessionID, nil
	}
	s, err := l.state(ctx, m.segment.File)
	if err != nil {
		return "", err
	}
	return s.Session, nil
}

// last returns the last candidate of a full ranking, or nil.
func (r *ranking) last() *candidate {
	if r.limit <= 0 || len(r.list) < r.limit {
		return nil
	}
	return r.list[0]
}

// match returns the segments that have passages with all words, the newest first.
func (l *lookup) match(ctx context.Context) ([]found, error) {
	segments, err := l.db.Segments(ctx)
	if err != nil {
		return nil, err
	}
	if l.query.typed {
		return l.matchTyped(ctx, segments)
	}
	numbers := map[int64][]int{}
	err = l.db.Match(ctx, l.query.table(), l.query.expression(), func(id int64, list []int) { numbers[id] = append(numbers[id], list...) })
	if err != nil {
		return nil, err
	}
	return l.wanted(ctx, segments, numbers)
}

// matchTyped is like match for a query by Parse, and finds out which of the words each passage has, and
// in which form.
func (l *lookup) matchTyped(ctx context.Context, segments map[int64]sqlite.Segment) ([]found, error) {
	forms, parts, err := l.longerWords(ctx)
	if err != nil {
		return nil, err
	}
	has := map[int64][]masks{}
	match := func(terms []string, add func(*masks)) error {
		if len(terms) == 0 {
			return nil
		}
		return l.db.Match(ctx, l.query.table(), l.query.narrowed(terms), func(id int64, numbers []int) {
			list := has[id]
			if n := slices.Max(numbers) + 1 - len(list); n > 0 {
				list = append(list, make([]masks, n)...)
				has[id] = list
			}
			for _, number := range numbers {
				add(&list[number])
			}
		})
	}
	for i := range l.query.phrases {
		bit := uint64(1) << i
		err := errors.Join(
			match(l.query.phrases[i].expressions(), func(m *masks) { m.exact |= bit }),
			match(anyWord(forms[i]), func(m *masks) { m.form |= bit }),
			match(anyWord(parts[i]), func(m *masks) { m.part |= bit }))
		if err != nil {
			return nil, err
		}
	}
	if err := l.pair(ctx, has); err != nil {
		return nil, err
	}
	numbers := map[int64][]int{}
	for id, list := range has {
		for number, m := range list {
			if m.any() != 0 {
				numbers[id] = append(numbers[id], number)
			}
		}
		has[id] = slices.DeleteFunc(list, func(m masks) bool { return m.any() == 0 })
	}
	list, err := l.wanted(ctx, segments, numbers)
	for i := range list {
		list[i].masks = has[list[i].segment.ID]
	}
	return list, err
}

// pair removes the phrases from masks whose words are not side by side, by the filters of passages.
func (l *lookup) pair(ctx context.Context, has map[int64][]masks) error {
	pairs := make([][]pair, len(l.query.phrases))
	var phrases uint64
	for i := range l.query.phrases {
		if pairs[i] = l.query.phrases[i].pairs(nil); len(pairs[i]) > 0 {
			phrases |= 1 << i
		}
	}
	var ids []int64
	for id, list := range has {
		if slices.ContainsFunc(list, func(m masks) bool { return m.exact&phrases != 0 }) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return l.db.Contents(ctx, sqlite.Filters, ids, func(id int64, data []byte) (err error) {
		if l.filters, err = decodeFilters(l.filters[:0], data); err != nil {
			return err
		}
		list := has[id]
		if len(l.filters) < len(list) {
			return errDamaged
		}
		for n := range list {
			for mask := list[n].exact & phrases; mask != 0; mask &= mask - 1 {
				if i := bits.TrailingZeros64(mask); !l.filters[n].mayHave(pairs[i]) {
					list[n].exact &^= 1 << i
				}
			}
		}
		return nil
	})
}

// anyWord returns the expression for any of the words, or nil for none.
func anyWord(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	return []string{`("` + strings.Join(words, `" OR "`) + `")`}
}

// longerWords returns the other forms of each word of the query, and the words that it is a part of.
func (l *lookup) longerWords(ctx context.Context) (forms, parts [][]string, err error) {
	phrases := l.query.phrases
	forms, parts = make([][]string, len(phrases)), make([][]string, len(phrases))
	err = l.db.Vocabulary(ctx, func(key, words string) {
		for i := range phrases {
			p := &phrases[i]
			switch {
			case !p.loose:
			case p.key == key:
				for word := range strings.FieldsSeq(words) {
					switch p.fits([]byte(word), 0) {
					case form:
						forms[i] = append(forms[i], word)
					case part:
						parts[i] = append(parts[i], word)
					default:
					}
				}
			case p.letters >= minPart && strings.Contains(words, p.words[0]):
				for word := range strings.FieldsSeq(words) {
					if isPart(p.letters, p.words[0], word) {
						parts[i] = append(parts[i], word)
					}
				}
			}
		}
	})
	return forms, parts, err
}

// wanted returns the segments that may have hits, the newest first, with the numbers of their
// passages.
func (l *lookup) wanted(ctx context.Context, segments map[int64]sqlite.Segment, numbers map[int64][]int) ([]found, error) {
	var list []found
	for id, numbers := range numbers {
		segment, ok := segments[id]
		if !ok {
			return nil, fmt.Errorf("%w: segment %d is missing", sqlite.ErrDamaged, id)
		}
		m := found{segment: segment, file: l.files[segment.File], numbers: numbers}
		wanted, err := l.wants(ctx, &m)
		if err != nil {
			return nil, err
		}
		if wanted {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.segment.Newest, a.segment.Newest), cmp.Compare(a.segment.ID, b.segment.ID))
	})
	return list, nil
}

// wants reports whether a segment may have hits. It looks up the call of a spill.
func (l *lookup) wants(ctx context.Context, m *found) (bool, error) {
	q := l.query
	if m.file == nil || !q.wantsFile(m.file) {
		return false, nil
	}
	if m.file.Spill {
		if err := l.readSpills(ctx); err != nil {
			return false, err
		}
		if m.owner = l.spills.of(m.file); m.owner.linked() {
			m.segment.Newest = m.owner.Time
		}
	}
	if !q.Since.IsZero() && m.segment.Newest < q.Since.UnixMilli() {
		return false, nil
	}
	if q.Sessions == nil || m.file.SessionID != "" {
		return true, nil
	}
	session, err := l.session(ctx, m)
	return q.Sessions[session], err
}

// readSpills reads which calls have spills.
func (l *lookup) readSpills(ctx context.Context) error {
	if l.spills != nil {
		return nil
	}
	l.spills = new(spillTable)
	stored, err := l.db.Spills(ctx)
	if err != nil {
		return err
	}
	for id, f := range l.files {
		if f.Spill {
			continue
		}
		calls, err := decodeSpills(stored[id])
		if err != nil {
			return err
		}
		session := f.SessionID
		if session == "" && len(calls) > 0 {
			s, err := l.state(ctx, id)
			if err != nil {
				return err
			}
			session = s.Session
		}
		l.spills.add(&spillOwner{file: f, id: id}, session, calls)
	}
	return nil
}

// A content has the encoded locations of a segment and, if they are needed, its filters.
type content struct {
	locations, filters []byte
	filtered           bool
}

// content reads what a search for the newest hits needs of a segment.
func (l *lookup) content(ctx context.Context, segment int64) (*content, error) {
	c := &content{filtered: len(l.pairs) > 0}
	var err error
	if c.locations, err = l.db.Locations(ctx, segment); err == nil && c.filtered {
		c.filters, err = l.db.Filters(ctx, segment)
	}
	return c, err
}

// each calls visit with the passages of a segment that may be hits, the last first. The candidate is
// valid until visit returns.
func (l *lookup) each(ctx context.Context, m *found, data *content, visit func(*candidate)) error {
	locations, err := decodeLocations(l.locations[:0], data.locations)
	if err != nil {
		return err
	}
	filters, err := decodeFilters(l.filters[:0], data.filters)
	if err != nil {
		return err
	}
	l.locations, l.filters = locations, filters
	c := &candidate{file: m.file, id: m.segment.File, owner: m.owner}
	for i, n := range slices.Backward(m.numbers) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n >= len(locations) || data.filtered && n >= len(filters) {
			return errDamaged
		}
		if data.filtered && !filters[n].mayHave(l.pairs) {
			continue
		}
		c.location, c.segment, c.number = locations[n], m.segment.ID, n
		if m.masks != nil {
			c.masks = m.masks[i]
		}
		m.owner.locate(&c.location)
		if l.query.wantsLocation(&c.location) {
			visit(c)
		}
	}
	return nil
}

// check reads the passage, and reports whether it matches the query.
func (l *lookup) check(c *candidate) bool {
	text, ok := l.text(c)
	return ok && c.take(text, l.query.find(&l.tokenizer, text))
}

// text reads the passage. It returns false if that is not possible.
func (l *lookup) text(c *candidate) (string, bool) {
	file, err := l.fileCache.open(c.file.Path)
	if err != nil {
		l.missed(c.file.Path, err)
		return "", false
	}
	return l.reader.text(file, &c.location, c.file.Spill)
}

// missed records that a file can't be read. A file that no longer exists has no passages, which is
// not an error.
func (l *lookup) missed(path string, err error) {
	if !errors.Is(err, os.ErrNotExist) && !l.unread[path] {
		l.unread[path] = true
		l.faults = append(l.faults, err)
	}
}

func (l *lookup) state(ctx context.Context, file int64) (*state, error) {
	if s, ok := l.states[file]; ok {
		return s, nil
	}
	data, _, err := l.db.State(ctx, file)
	if err != nil {
		return nil, err
	}
	s := new(state)
	if json.Unmarshal(data, s) != nil {
		return nil, errDamaged
	}
	l.states[file] = s
	return s, nil
}

// hit returns the hit of a candidate with matches.
func (l *lookup) hit(ctx context.Context, c *candidate, turns *turnCounter) (h Hit, err error) {
	id := c.id
	if c.owner != nil {
		id = c.owner.id
	}
	if c.state, err = l.state(ctx, id); err != nil {
		return h, err
	}
	return c.hit(ctx, turns), nil
}
