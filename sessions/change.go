package sessions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// Rename gives a session a title, which [Summary.CustomTitle] has from then on. Space around the
// title is removed. An empty title is an error.
//
// The title is an entry at the end of the transcript, as if the user had renamed the session in the
// agent. An agent with the session open may write its own title after it.
//
//	err := sessions.Rename(ctx, id, "Fix the login page", nil)
func Rename(ctx context.Context, id, title string, opts *Options) error {
	title = strings.TrimSpace(title)
	if title == "" {
		return errors.New("sessions: empty title")
	}
	s, key, err := opts.findToChange(ctx, id)
	if err != nil {
		return err
	}
	return s.store.Append(ctx, key, []wire.JSON{titleEntry(id, title)})
}

// Tag sets or replaces the tag of a session. An empty tag removes it. [ListOptions.Tag] finds the
// sessions with a tag.
//
// Invisible characters are removed from the tag: control and formatting characters, and undefined
// code points. It is an error if nothing else is left.
//
//	err := sessions.Tag(ctx, id, "billing", nil)
//
//	infos, err := sessions.List(ctx, &sessions.ListOptions{Tag: "billing"})
func Tag(ctx context.Context, id, tag string, opts *Options) error {
	seen := visibleText(tag)
	if seen == "" && tag != "" {
		return fmt.Errorf("sessions: tag %q has no visible characters", tag)
	}
	s, key, err := opts.findToChange(ctx, id)
	if err != nil {
		return err
	}
	return s.store.Append(ctx, key, []wire.JSON{textEntry("tag", "tag", seen, id)})
}

// titleEntry returns the entry that sets the title of a session.
func titleEntry(id, title string) wire.JSON {
	return textEntry("custom-title", "customTitle", title, id)
}

// textEntry returns an entry with one text. Its members have the order in which the agent writes
// them.
func textEntry(kind, name, text, id string) wire.JSON {
	entry := []byte(`{"type":"` + kind + `","` + name + `":`)
	entry = jsonlex.AppendQuote(entry, text)
	entry = append(entry, `,"sessionId":`...)
	entry = jsonlex.AppendQuote(entry, id)
	return wire.JSON(append(entry, '}'))
}

// visibleText returns the text without invisible characters, and with plain spaces.
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

// ForkOptions configure a fork. Nil and the zero value mean a whole session in the agent's own
// files.
type ForkOptions struct {
	// Store has the session, and gets the fork. Nil means the agent's own files.
	Store Store
	// Project is the path of the session's working directory, as in [Options]. Empty means any
	// project.
	Project string
	// ProjectName is the name of the project in the store, as in [Options]. If it is set, Project
	// is ignored.
	ProjectName string
	// UpTo is the UUID of the last message that the fork has, such as [RecordedMessage.UUID]. Empty
	// means the whole session.
	UpTo string
	// Title is the title of the fork. Empty means the title of the session, followed by " (fork)".
	Title string
}

// Fork copies the conversation of a session to a new session of the same project, and returns the
// ID of the new one. The session that is forked does not change. The new entries have new UUIDs,
// and each names the entry that it was copied from. Subagents are not copied.
//
//	id, err := sessions.Fork(ctx, old, &sessions.ForkOptions{UpTo: message.UUID})
//	if err != nil {
//		return err
//	}
//	s, err := clew.Connect(ctx, &clew.Options{Session: clew.SessionOptions{Resume: id}})
//
// Tool calls without a result are left out, since an agent could not continue from there. If there
// is no message with the UUID opts.UpTo, the error wraps [ErrNotFound].
func Fork(ctx context.Context, id string, opts *ForkOptions) (string, error) {
	if opts == nil {
		opts = new(ForkOptions)
	}
	where := &Options{Store: opts.Store, Project: opts.Project, ProjectName: opts.ProjectName}
	s, key, err := where.findToChange(ctx, id)
	if err != nil {
		return "", err
	}
	f := &fork{id: newid.UUID(), from: id, upTo: opts.UpTo, title: opts.Title}
	for entry, err := range s.store.Load(ctx, key) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return "", err
		}
		f.add(entry)
	}
	entries, err := f.entries(ctx)
	if err != nil {
		return "", err
	}
	return f.id, s.store.Append(ctx, wire.SessionKey{Project: key.Project, SessionID: f.id}, entries)
}

// A fork is a new session that is being made from another. All entries are read before the first is
// written, since whether an entry is copied depends on later ones: a tool call may have no result.
type fork struct {
	id, from, upTo, title string

	summary      Summary
	nodes        []forkNode
	complete     bool // the message UpTo was read
	replacements []json.RawMessage
}

// A forkNode is an entry of the session that is forked, with all of its members.
type forkNode struct {
	node
	members map[string]json.RawMessage
	dropped bool // not copied
}

// add reads the next entry of the session.
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

// addReplacements keeps what the agent has put in place of long results.
func (f *fork) addReplacements(entry wire.JSON) {
	var value struct {
		SessionID    string
		Replacements []json.RawMessage
	}
	if entry.Decode(&value) == nil && value.SessionID == f.from {
		f.replacements = append(f.replacements, value.Replacements...)
	}
}

// entries returns the entries of the fork.
func (f *fork) entries(ctx context.Context) ([]wire.JSON, error) {
	if f.upTo != "" && !f.complete {
		return nil, &notFoundError{what: fmt.Sprintf("message %q of session %s", f.upTo, f.from)}
	}
	if err := f.dropUnanswered(ctx); err != nil {
		return nil, err
	}
	ids := f.newIDs()
	nodes := slices.DeleteFunc(slices.Clone(f.nodes), func(n forkNode) bool { return n.dropped })
	if !slices.ContainsFunc(nodes, func(n forkNode) bool { return n.isMessage() }) {
		return nil, fmt.Errorf("sessions: session %s has no messages to fork", f.from)
	}
	nodes[len(nodes)-1].members["timestamp"] = quoted(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	var entries []wire.JSON
	for _, n := range nodes {
		entry, err := f.entry(n, ids)
		if err = cmp.Or(err, ctx.Err()); err != nil {
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

// newTitle returns the title of the fork.
func (f *fork) newTitle() string {
	if f.title != "" {
		return f.title
	}
	return cmp.Or(f.summary.CustomTitle, f.summary.AITitle, f.summary.FirstPrompt, "Forked session") + " (fork)"
}

// dropUnanswered drops tool calls without a result, and results without a call. Dropping an entry
// may leave others without a call or a result, which are dropped in turn. Each entry is dropped
// once, so the work grows with the number of calls and results.
func (f *fork) dropUnanswered(ctx context.Context) error {
	made, answered := newCallUsers(), newCallUsers()
	for i := range f.nodes {
		if n := &f.nodes[i]; !n.dropped {
			made.add(n.calls.made, i)
			answered.add(n.calls.results, i)
		}
	}
	var lost []int // entries to drop
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.dropped && (answered.lacks(n.calls.made) || made.lacks(n.calls.results)) {
			lost = append(lost, i)
		}
	}
	for len(lost) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := &f.nodes[lost[len(lost)-1]]
		lost = lost[:len(lost)-1]
		if n.dropped {
			continue
		}
		n.dropped = true
		for _, id := range made.remove(n.calls.made) {
			lost = append(lost, answered.nodes[id]...)
		}
		for _, id := range answered.remove(n.calls.results) {
			lost = append(lost, made.nodes[id]...)
		}
	}
	return nil
}

// callUsers are the entries that make some calls, or have their results, by the ID of the call.
type callUsers struct {
	nodes map[string][]int // indexes of fork.nodes
	left  map[string]int   // how many of them were not dropped
}

// newCallUsers returns a value without calls.
func newCallUsers() callUsers { return callUsers{nodes: map[string][]int{}, left: map[string]int{}} }

// add records that a node has the calls ids.
func (u callUsers) add(ids []string, node int) {
	for _, id := range ids {
		u.nodes[id] = append(u.nodes[id], node)
		u.left[id]++
	}
}

// remove records that a node with the calls ids was dropped, and returns the IDs that no other node
// has.
func (u callUsers) remove(ids []string) []string {
	var gone []string
	for _, id := range ids {
		if u.left[id]--; u.left[id] == 0 {
			gone = append(gone, id)
		}
	}
	return gone
}

// lacks reports whether any of the calls ids is in no node.
func (u callUsers) lacks(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return u.left[id] == 0 })
}

// addAll adds ids to a set.
func addAll(set map[string]bool, ids []string) {
	for _, id := range ids {
		set[id] = true
	}
}

// newIDs returns the new UUID for each old one. A dropped entry gets its parent's, so that its
// children stay connected, or "".
func (f *fork) newIDs() map[string]string {
	ids := map[string]string{}
	for _, n := range f.nodes {
		if n.dropped {
			ids[n.uuid] = ids[n.parent]
			continue
		}
		ids[n.uuid] = newid.UUID()
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

// uuidMembers are the members of an entry that may contain UUIDs of other entries.
var uuidMembers = []string{
	entrylex.KeyCompactMetadata, entrylex.KeySupersedesUUIDs, entrylex.KeyRetractedMessageUUIDs,
	entrylex.KeyRefusedUserMessageUUID,
}

// replaceUUIDs returns a value with the new UUIDs instead of the old ones.
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

// replaceUUIDsIn replaces UUIDs in a decoded JSON value, at any depth.
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

// quoted returns a text as a JSON string.
func quoted(text string) json.RawMessage {
	value, _ := json.Marshal(text) // a string always encodes
	return value
}

// quotedOrNull returns a text as a JSON string, or null if it is empty. The agent writes null for
// the parent of a first entry.
func quotedOrNull(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("null")
	}
	return quoted(text)
}

// encode returns v as JSON, without escaping characters for HTML.
func encode(v any) (wire.JSON, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("sessions: %w", err)
	}
	return wire.JSON(bytes.TrimSpace(b.Bytes())), nil
}

// originals returns the entries of a transcript to copy, each UUID once: a file may have
// duplicates, which a store does not keep. It sets sidecar to the entry for the metadata file, and
// calls skipped for lines that are not entries.
func (i *importer) originals(
	ctx context.Context, key wire.SessionKey, sidecar *wire.JSON, skipped func(SkippedLine),
) iter.Seq2[wire.JSON, error] {
	entries := i.from.Load(ctx, key)
	if folder, ok := i.from.(*Folder); ok {
		entries = folder.load(ctx, key, skipped)
	}
	return withoutRepeats(withoutSidecar(key, entries, sidecar))
}

// withoutSidecar returns the entries, except for the entries that stand for the metadata file of a
// subagent. It sets last to the last of these.
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

// withoutRepeats returns the entries without repeated UUIDs.
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

// copies counts the entries of a transcript that a store already has, by content. UUIDs are not
// enough, since many entries have none. Nor is the order: there may be other entries between them,
// such as a title, and the agent does not mirror everything that it writes to its file.
type copies map[entryHash]int

// add counts an entry once more.
func (c copies) add(entry wire.JSON) { c[hashEntry(entry)]++ }

// take reports whether there is a copy of an entry, and uses it up.
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

// An entryHash is equal for equal entries: those with the same UUID, and those without a UUID that
// have the same content.
type entryHash struct {
	uuid bool
	hash uuidHash
}

// hashEntry returns the hash by which entries are compared.
func hashEntry(entry wire.JSON) entryHash {
	if uuid, _ := EntryUUID(entry); uuid != "" {
		return entryHash{uuid: true, hash: hashUUID(uuid)}
	}
	return entryHash{hash: hashUUID(canonical(entry))}
}

// canonical returns an entry with sorted members and without space, or unchanged if it can't be
// decoded.
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
