package sessions

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// Rename gives a session a title, without the space around it. An empty one is an error.
func Rename(ctx context.Context, id, title string, opts *Options) error {
	title = strings.TrimSpace(title)
	if title == "" {
		return errors.New("sessions: the title of a session is empty")
	}
	s, key, err := opts.find(ctx, id)
	if err != nil {
		return err
	}
	return s.store.Append(ctx, key, []wire.JSON{titleEntry(id, title)})
}

// Tag gives a session a tag in place of the one that it has; "" takes that away. What can't be seen is removed from the
// tag: control and formatting characters, and those that Unicode does not define. One of which nothing is left is an
// error.
func Tag(ctx context.Context, id, tag string, opts *Options) error {
	seen := visibleText(tag)
	if seen == "" && tag != "" {
		return fmt.Errorf("sessions: the tag %q has nothing that can be seen", tag)
	}
	s, key, err := opts.find(ctx, id)
	if err != nil {
		return err
	}
	return s.store.Append(ctx, key, []wire.JSON{textEntry("tag", "tag", seen, id)})
}

func titleEntry(id, title string) wire.JSON {
	return textEntry("custom-title", "customTitle", title, id)
}

// textEntry returns an entry with one text. The order of its members is the agent's.
func textEntry(kind, name, text, id string) wire.JSON {
	entry := []byte(`{"type":"` + kind + `","` + name + `":`)
	entry = jsonlex.AppendQuote(entry, text)
	entry = append(entry, `,"sessionId":`...)
	entry = jsonlex.AppendQuote(entry, id)
	return wire.JSON(append(entry, '}'))
}

func visibleText(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text))
}

// ForkOptions say what to fork, and how. Nil and the zero value mean all of a session in the agent's own folder.
type ForkOptions struct {
	// Store, Project and ProjectName are those of [Options].
	Store       Store
	Project     string
	ProjectName string
	// UpTo is the UUID of the last message that the fork has. Empty means all.
	UpTo string
	// Title is that of the fork. Empty means that of the session, marked as a fork.
	Title string
}

// Fork copies the conversation of a session into a new session of the same project, and returns its ID. Its entries
// have new UUIDs, and say where they come from. Subagents are not copied. Calls of tools that have no result up to the
// cut are left out, since an agent could not go on from there.
func Fork(ctx context.Context, id string, opts *ForkOptions) (string, error) {
	if opts == nil {
		opts = new(ForkOptions)
	}
	where := &Options{Store: opts.Store, Project: opts.Project, ProjectName: opts.ProjectName}
	s, key, err := where.find(ctx, id)
	if err != nil {
		return "", err
	}
	f := &fork{id: newUUID(), from: id, upTo: opts.UpTo, title: opts.Title}
	for entry, err := range s.store.Load(ctx, key) {
		if err != nil {
			return "", err
		}
		f.add(entry)
	}
	entries, err := f.entries()
	if err != nil {
		return "", err
	}
	return f.id, s.store.Append(ctx, wire.SessionKey{Project: key.Project, SessionID: f.id}, entries)
}

// newUUID returns a random one.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A fork is a session in the making.
type fork struct {
	id, from, upTo, title string

	summary      Summary
	nodes        []forkNode
	complete     bool // the last entry was read
	replacements []json.RawMessage
}

// A forkNode is an entry of the session that is forked, with all of its members.
type forkNode struct {
	node
	members map[string]json.RawMessage
	dropped bool // out
}

// read takes the next entry of the session.
func (f *fork) add(entry wire.JSON) {
	f.summary.Add(entry)
	h, ok := readHead([]byte(entry))
	if !ok {
		return
	}
	if h.kind == "content-replacement" {
		f.addReplacements(entry)
	}
	if f.complete || !h.chained() || h.sidechain {
		return
	}
	n := forkNode{node: node{head: h, calls: readCalls(h.message)}, dropped: h.kind == "progress"}
	if entry.Decode(&n.members) != nil {
		return
	}
	f.nodes = append(f.nodes, n)
	f.complete = h.uuid == f.upTo
}

// addReplacements notes what the agent has put in place of long results.
func (f *fork) addReplacements(entry wire.JSON) {
	var value struct {
		SessionID    string
		Replacements []json.RawMessage
	}
	if entry.Decode(&value) == nil && value.SessionID == f.from {
		f.replacements = append(f.replacements, value.Replacements...)
	}
}

// entries returns those of the fork.
func (f *fork) entries() ([]wire.JSON, error) {
	if f.upTo != "" && !f.complete {
		return nil, &notFoundError{what: fmt.Sprintf("message %q of session %s", f.upTo, f.from)}
	}
	f.dropUnanswered()
	ids := f.newIDs()
	nodes := slices.DeleteFunc(slices.Clone(f.nodes), func(n forkNode) bool { return n.dropped })
	if !slices.ContainsFunc(nodes, func(n forkNode) bool { return n.spoken() }) {
		return nil, fmt.Errorf("sessions: session %s has no messages to fork", f.from)
	}
	nodes[len(nodes)-1].members["timestamp"] = quoted(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	var entries []wire.JSON
	for _, n := range nodes {
		entry, err := f.entry(n, ids)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	if len(f.replacements) > 0 {
		entry, err := encode(map[string]any{
			"type": "content-replacement", "sessionId": f.id, "replacements": f.replacements,
		})
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return append(entries, titleEntry(f.id, f.newTitle())), nil
}

func (f *fork) newTitle() string {
	if f.title != "" {
		return f.title
	}
	return cmp.Or(f.summary.CustomTitle, f.summary.AITitle, f.summary.FirstPrompt, "Forked session") + " (fork)"
}

// leaveUnanswered leaves out calls of tools without a result, and results without a call, until none is left.
func (f *fork) dropUnanswered() {
	for left := true; left; {
		made, answered := map[string]bool{}, map[string]bool{}
		for _, n := range f.nodes {
			if !n.dropped {
				addAll(made, n.calls.made)
				addAll(answered, n.calls.results)
			}
		}
		left = false
		for i := range f.nodes {
			n := &f.nodes[i]
			if !n.dropped && (lacks(answered, n.calls.made) || lacks(made, n.calls.results)) {
				n.dropped, left = true, true
			}
		}
	}
}

func addAll(set map[string]bool, ids []string) {
	for _, id := range ids {
		set[id] = true
	}
}

func lacks(set map[string]bool, ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return !set[id] })
}

// newIDs returns the new UUID for each old one. For an entry that is left out that is the one of its parent, or "".
func (f *fork) newIDs() map[string]string {
	ids := map[string]string{}
	for _, n := range f.nodes {
		if n.dropped {
			ids[n.uuid] = ids[n.parent]
			continue
		}
		ids[n.uuid] = newUUID()
	}
	return ids
}

// entry returns an entry of the fork.
func (f *fork) entry(n forkNode, ids map[string]string) (wire.JSON, error) {
	m := n.members
	m["uuid"], m["sessionId"], m["isSidechain"] = quoted(ids[n.uuid]), quoted(f.id), json.RawMessage("false")
	m["parentUuid"] = quotedOrNull(ids[n.parent])
	if old, ok := m["logicalParentUuid"]; ok {
		m["logicalParentUuid"] = quotedOrNull(ids[unquoted(old)])
	}
	for _, name := range uuidMembers {
		if old, ok := m[name]; ok {
			m[name] = replaceUUIDs(old, ids)
		}
	}
	origin, err := encode(map[string]string{"sessionId": f.from, "messageUuid": n.uuid})
	if err != nil {
		return "", err
	}
	m["forkedFrom"] = json.RawMessage(origin)
	for _, name := range []string{"teamName", "agentName", "slug", "sourceToolAssistantUUID"} {
		delete(m, name)
	}
	return encode(m)
}

// namingMembers are those that name other entries by their UUIDs, somewhere in them.
var uuidMembers = []string{"compactMetadata", "supersedesUuids", "retractedMessageUuids", "refusedUserMessageUuid"}

// renamed returns a value with new UUIDs in place of old ones.
func replaceUUIDs(value json.RawMessage, ids map[string]string) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return value
	}
	text, err := encode(replaceUUIDsIn(v, ids))
	if err != nil {
		return value
	}
	return json.RawMessage(text)
}

func replaceUUIDsIn(v any, ids map[string]string) any {
	switch v := v.(type) {
	case string:
		return cmp.Or(ids[v], v)
	case []any:
		for i := range v {
			v[i] = replaceUUIDsIn(v[i], ids)
		}
	case map[string]any:
		for name := range v {
			v[name] = replaceUUIDsIn(v[name], ids)
		}
	}
	return v
}

func quoted(text string) json.RawMessage {
	value, _ := json.Marshal(text) // a string always encodes
	return value
}

func quotedOrNull(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("null")
	}
	return quoted(text)
}

// encode returns v as JSON without the escapes for pages.
func encode(v any) (wire.JSON, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("sessions: %w", err)
	}
	return wire.JSON(bytes.TrimSpace(b.Bytes())), nil
}

// originals returns the entries of a transcript to copy, once each: a file may have some twice, which a store does not
// keep. It notes what stands for the file beside the transcript, and calls skipped for lines that are not entries.
func (i *importer) originals(
	ctx context.Context, key wire.SessionKey, sidecar *wire.JSON, skipped func(SkippedLine),
) iter.Seq2[wire.JSON, error] {
	entries := i.from.Load(ctx, key)
	if folder, ok := i.from.(*Folder); ok {
		entries = folder.load(ctx, key, skipped)
	}
	return withoutRepeats(withoutSidecar(key, entries, sidecar))
}

// withoutSidecar returns the entries but those that stand for the file beside a subagent's transcript. It notes the
// last of them.
func withoutSidecar(
	key wire.SessionKey, entries iter.Seq2[wire.JSON, error], last *wire.JSON,
) iter.Seq2[wire.JSON, error] {
	if key.Subpath == "" {
		return entries
	}
	return func(yield func(wire.JSON, error) bool) {
		for entry, err := range entries {
			if _, ok := sessionfile.Sidecar(entry); ok && err == nil {
				*last = entry
				continue
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// once returns the entries but those whose UUID came before.
func withoutRepeats(entries iter.Seq2[wire.JSON, error]) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		seen := map[uuidHash]bool{}
		for entry, err := range entries {
			uuid, _ := EntryUUID(entry)
			hash := hashUUID(uuid)
			if uuid != "" && seen[hash] {
				continue
			}
			seen[hash] = true
			if !yield(entry, err) {
				return
			}
		}
	}
}

// copies counts the entries that a store has of a transcript already, by what they say. UUIDs alone would not tell: many
// entries have none. Their order does not tell either: between them there may be others, such as a title, and the agent
// does not mirror all that it writes to its file.
type copies map[entryHash]int

func (c copies) add(entry wire.JSON) { c[hashEntry(entry)]++ }

// take reports whether there is a copy of an entry, which then stands for no other one.
func (c copies) take(entry wire.JSON) bool {
	if len(c) == 0 {
		return false
	}
	hash := hashEntry(entry)
	if c[hash] == 0 {
		return false
	}
	c[hash]--
	return true
}

// An entryHash is the same for entries that are: those with the same UUID, and those without one that say the same.
type entryHash struct {
	uuid bool
	hash uuidHash
}

func hashEntry(entry wire.JSON) entryHash {
	if uuid, _ := EntryUUID(entry); uuid != "" {
		return entryHash{uuid: true, hash: hashUUID(uuid)}
	}
	return entryHash{hash: hashUUID(canonical(entry))}
}

// canonical returns an entry with its members in order and without space, or as it is if it can't be decoded.
func canonical(entry wire.JSON) string {
	var value any
	if entry.Decode(&value) != nil {
		return string(entry)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return string(entry)
	}
	return string(text)
}
